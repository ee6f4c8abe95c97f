/* forward.c - see forward.h. */
#include "shim/forward.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "shim/packet.h"

/* Reads a process's command line: words, each with its NUL. Empty if it cannot be read. */
static void read_cmdline(pid_t pid, struct strbuf *sb)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    (void)io_read_file(AT_FDCWD, path, LIMIT_PACKET_BYTES, sb, NULL);
}

/* mpirun's options that want to see the ranks' output. */
static bool wants_output(const char *word)
{
    return word[0] == '-' && (strstr(word, "output-filename") || strstr(word, "-xml"));
}

bool forward_wanted(int sock, pid_t mpirun)
{
    auto_strbuf struct strbuf cmdline = STRBUF_INIT;
    const char *launcher_stdout = getenv("MUSTER_STDOUT");
    char path[64], target[64];
    ssize_t n;
    uid_t uid;

    snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)mpirun);
    n = readlink(path, target, sizeof(target) - 1);
    /* The supervisor is no mpirun, and its stdout is now and then somebody's. */
    if (n < 0 || !launcher_stdout || mpirun == packet_peer(sock, &uid))
        return true;
    target[n] = '\0';
    if (strcmp(target, launcher_stdout) != 0)
        return true;
    read_cmdline(mpirun, &cmdline);
    for (const char *w = cmdline.buf; w < cmdline.buf + cmdline.len; w += strlen(w) + 1) {
        if (wants_output(w))
            return true;
    }
    return false;
}

const char *forward_option(pid_t pid, const char *name)
{
    static char value[LIMIT_LAUNCH_ID + 1];
    auto_strbuf struct strbuf cmdline = STRBUF_INIT;
    bool found = false;

    read_cmdline(pid, &cmdline);
    value[0] = '\0';
    for (const char *w = cmdline.buf; w < cmdline.buf + cmdline.len; w += strlen(w) + 1) {
        if (found) {
            snprintf(value, sizeof(value), "%s", w);
            break;
        }
        found = strcmp(w, name) == 0;
    }
    return value;
}
