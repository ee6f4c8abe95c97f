/* forward.c - see forward.h. */
#include "shim/forward.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* Is it the supervisor that reads this pipe? */
static bool supervisor_reads(int sock, ino_t inode)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_OUTPUT_ASK);
    struct packet p;
    char buf[64];

    wire_put_i64(&frame, (int64_t)inode);
    wire_frame_end(&frame, begin);
    return packet_send(sock, &frame, NULL, 0) == 0 &&
           packet_receive(sock, buf, sizeof(buf), &p) == 0 && p.type == WIRE_OUTPUT_IS &&
           wire_get_u32(&p.body) == 1;
}

bool forward_wanted(int sock, pid_t mpirun)
{
    auto_strbuf struct strbuf cmdline = STRBUF_INIT;
    struct stat out;
    char path[64];
    uid_t uid;

    snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)mpirun);
    /* The supervisor is no mpirun, and its stdout is now and then somebody's. */
    if (stat(path, &out) < 0 || !S_ISFIFO(out.st_mode) || mpirun == packet_peer(sock, &uid) ||
        !supervisor_reads(sock, out.st_ino))
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
