/* procs.c - see procs.h. */
#include "base/procs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"

pid_t proc_parent(pid_t pid)
{
    auto_strbuf struct strbuf stat = STRBUF_INIT;
    char path[64];
    const char *p;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (io_read_file(AT_FDCWD, path, 4096, &stat, NULL) < 0)
        return 0;
    p = strrchr(stat.buf, ')'); /* "PID (NAME) STATE PPID …"; a name may hold anything */
    return p && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

int proc_environ(pid_t pid, struct strbuf *ret)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    return io_read_file(AT_FDCWD, path, LIMIT_FRAME_BYTES, ret, NULL);
}

const char *environ_value(const struct strbuf *words, const char *name)
{
    size_t n = strlen(name);

    for (const char *w = words->buf; w < words->buf + words->len; w += strlen(w) + 1) {
        if (strncmp(w, name, n) == 0 && w[n] == '=')
            return w + n + 1;
    }
    return NULL;
}

bool proc_is_own(pid_t pid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &st) == 0 && st.st_uid == geteuid();
}

void procs_each(void (*fn)(pid_t pid, void *ctx), void *ctx)
{
    DIR *proc = opendir("/proc");
    struct dirent *ent;

    if (!proc)
        return;
    while ((ent = readdir(proc))) {
        uint32_t pid;

        if (num_u32(ent->d_name, &pid) == 0)
            fn((pid_t)pid, ctx);
    }
    (void)closedir(proc);
}

/* --- the sweep -------------------------------------------------------------------------------- */

struct sweep {
    const char *run_id;
    bool found;
};

/* The descriptor first, then the look: what is killed is what was looked at. A process that is dead
 * or dying already has no environment. */
static void sweep_one(pid_t pid, void *ctx)
{
    struct sweep *s = ctx;
    auto_strbuf struct strbuf words = STRBUF_INIT;
    auto_close int fd = pid == getpid() || !proc_is_own(pid) ? -1 : pidfd_open(pid, 0);
    const char *id;

    if (fd < 0 || proc_environ(pid, &words) < 0)
        return;
    id = environ_value(&words, "MUSTER_RUN_ID");
    if (id && strcmp(id, s->run_id) == 0 && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0)
        s->found = true;
}

void procs_sweep(const char *run_id)
{
    struct sweep s = {.run_id = run_id, .found = true};

    for (int i = 0; s.found && i < LIMIT_SWEEPS; i++) {
        s.found = false;
        procs_each(sweep_one, &s);
    }
}
