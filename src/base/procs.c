/* procs.c - see procs.h. */
#include "base/procs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

/* What follows the name in "PID (NAME) STATE PPID …"; a name may hold anything. "" if it is gone.
 */
static const char *after_name(pid_t pid, struct strbuf *stat)
{
    char path[64];
    const char *p;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (pid <= 0 || io_read_file(AT_FDCWD, path, 4096, stat, NULL) < 0)
        return "";
    p = strrchr(stat->buf, ')');
    return p && strlen(p) > 4 ? p + 2 : "";
}

pid_t proc_parent(pid_t pid)
{
    auto_strbuf struct strbuf stat = STRBUF_INIT;
    const char *p = after_name(pid, &stat);

    return *p ? (pid_t)strtol(p + 2, NULL, 10) : 0;
}

char proc_state(pid_t pid)
{
    auto_strbuf struct strbuf stat = STRBUF_INIT;

    return *after_name(pid, &stat);
}

/* The 22nd field, and the state, which comes first here, is the third. */
unsigned long long proc_start_time(pid_t pid)
{
    auto_strbuf struct strbuf stat = STRBUF_INIT;
    const char *p = after_name(pid, &stat);

    for (int field = 3; *p && field < 22; field++)
        p = strchrnul(p, ' ') + (strchr(p, ' ') != NULL);
    return *p ? strtoull(p, NULL, 10) : 0;
}

bool proc_signal_set(pid_t pid, const char *set, int sig)
{
    auto_strbuf struct strbuf status = STRBUF_INIT;
    char path[64], key[32];
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    snprintf(key, sizeof(key), "\n%s:", set);
    if (io_read_file(AT_FDCWD, path, 16384, &status, NULL) < 0 || !(line = strstr(status.buf, key)))
        return false;
    return strtoull(line + strlen(key), NULL, 16) & (UINT64_C(1) << (sig - 1));
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

/* --- killing ---------------------------------------------------------------------------------- */

struct hunt {
    bool (*is_prey)(pid_t pid, void *ctx);
    void *ctx;
    pid_t except;
    pid_t *killed;
    size_t n, cap;
};

static bool was_killed(const struct hunt *h, pid_t pid)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->killed[i] == pid)
            return true;
    }
    return false;
}

/* The descriptor first, then the look: what is killed is what was looked at. */
static void kill_if_prey(pid_t pid, void *ctx)
{
    struct hunt *h = ctx;
    bool spared = pid == getpid() || pid == h->except || was_killed(h, pid);
    auto_close int fd = spared ? -1 : pidfd_open(pid, 0);

    if (fd < 0 || !h->is_prey(pid, h->ctx) || pidfd_send_signal(fd, SIGKILL, NULL, 0) < 0)
        return;
    GROW(h->killed, h->n, h->cap);
    h->killed[h->n++] = pid;
}

void procs_hunt(bool (*is_prey)(pid_t pid, void *ctx), void *ctx, pid_t except)
{
    struct hunt h = {.is_prey = is_prey, .ctx = ctx, .except = except};
    size_t before;

    do {
        before = h.n;
        procs_each(kill_if_prey, &h);
    } while (h.n > before);
    free(h.killed);
}

static bool is_below(pid_t pid, void *ctx)
{
    pid_t root = *(const pid_t *)ctx;

    for (int i = 0; i < LIMIT_ANCESTORS && pid > 1; i++) {
        pid = proc_parent(pid);
        if (pid == root)
            return true;
    }
    return false;
}

void procs_kill_below(pid_t root)
{
    procs_hunt(is_below, &root, root);
}

/* A process that is dead or dying already has no environment. */
static bool has_mark(pid_t pid, void *ctx)
{
    auto_strbuf struct strbuf words = STRBUF_INIT;
    const char *id;

    if (!proc_is_own(pid) || proc_environ(pid, &words) < 0)
        return false;
    id = environ_value(&words, "MUSTER_RUN_ID");
    return id && strcmp(id, ctx) == 0;
}

void procs_sweep(const char *run_id)
{
    auto_free char *id = xstrdup(run_id);

    procs_hunt(has_mark, id, 0);
}
