/* port_owner.c - from a port to its process, by what /proc shows.
 *
 * A socket that listens or is connected is in /proc/net/tcp with its inode, and its process has
 * that inode among its descriptors. A port that another run only holds for its job is in no such
 * table (before Linux 6.8 nothing shows it): there each muster's run directory is asked, which is
 * one of its descriptors too.
 *
 * Only called when a port is refused, so it may look at everything.
 */
#include "engine/local/port_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/proc_net.h"
#include "plan/plan.h"

/* --- sockets ------------------------------------------------------------------------------------
 */

/* Whoever listens counts before whoever is merely connected, and anyone before a closed connection
 * that the kernel still remembers. */
static bool find_socket(unsigned port, struct tcp_line *ret)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    bool found = false;

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct tcp_line one;

        if (io_read_file(AT_FDCWD, tables[i], PROC_NET_BYTES, &sb, NULL) < 0)
            continue;
        for (const char *p = sb.buf; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            if (!proc_tcp_line(p, &one) || one.local.port != port)
                continue;
            if (!found || one.state == SOCKET_LISTEN || ret->state == SOCKET_TIME_WAIT)
                *ret = one;
            found = true;
            if (one.state == SOCKET_LISTEN)
                return true;
        }
    }
    return found;
}

bool port_is_closing(unsigned port)
{
    struct tcp_line at;

    return find_socket(port, &at) && at.state == SOCKET_TIME_WAIT;
}

/* --- processes ----------------------------------------------------------------------------------
 */

/* The name of a process as /proc gives it; it may be anything. */
static bool has_comm(int proc_fd, const char *comm)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!comm)
        return true;
    return io_read_file(proc_fd, "comm", 256, &sb, NULL) == 0 &&
           strcspn(sb.buf, "\n") == strlen(comm) && strncmp(sb.buf, comm, strlen(comm)) == 0;
}

static bool look_at_process(int proc_fd, bool (*look)(int, const char *, void *), void *ctx)
{
    int fds = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fds < 0 ? NULL : fdopendir(fds);
    struct dirent *ent;
    bool found = false;

    if (!dir) {
        if (fds >= 0)
            (void)close(fds);
        return false; /* ended, or not ours to see */
    }
    while (!found && (ent = readdir(dir)))
        found = ent->d_name[0] != '.' && look(dirfd(dir), ent->d_name, ctx);
    (void)closedir(dir);
    return found;
}

/* Calls look(directory /proc/PID/fd, name of the descriptor) for every one that we may see, of
 * processes with that name (NULL: of all), until it returns true. The pid then, else 0. */
static uint32_t find_descriptor(const char *comm,
                                bool (*look)(int fds, const char *name, void *ctx), void *ctx)
{
    DIR *proc = opendir("/proc");
    struct dirent *ent;
    uint32_t found = 0;

    while (proc && !found && (ent = readdir(proc))) {
        uint32_t pid;

        if (num_u32(ent->d_name, &pid) < 0 || (pid_t)pid == getpid())
            continue;
        auto_close int fd = openat(dirfd(proc), ent->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && has_comm(fd, comm) && look_at_process(fd, look, ctx))
            found = pid;
    }
    if (proc)
        (void)closedir(proc);
    return found;
}

static bool is_socket(int fds, const char *name, void *ctx)
{
    const unsigned long *inode = ctx;
    char link[64], want[64];
    ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);

    if (n < 0)
        return false;
    link[n] = '\0';
    (void)snprintf(want, sizeof(want), "socket:[%lu]", *inode);
    return strcmp(link, want) == 0;
}

/* --- runs ---------------------------------------------------------------------------------------
 */

struct lease_search {
    unsigned port;
    struct strbuf run_id;
};

/* Is the number among the "ports" of a peers file? We wrote it: compact, no space. */
static bool peers_have_port(const char *text, unsigned port)
{
    static const char key[] = "\"ports\":{";
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", port);
    while ((text = strstr(text, key))) {
        const char *end = strchr(text, '}');

        text += sizeof(key) - 1;
        for (const char *p = text; end && (p = strstr(p, number)) && p < end; p++)
            if (strchr(":[,", p[-1]) && strchr(",]}", p[strlen(number)]))
                return true;
    }
    return false;
}

/* Is this descriptor the run directory of a run that holds the port? */
static bool is_run_with_port(int fds, const char *name, void *ctx)
{
    struct lease_search *ls = ctx;
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char scratch[PATH_MAX];
    auto_close int dir = openat(fds, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

    if (dir < 0 || io_read_file(dir, PLAN_PEERS, LIMIT_FRAME_BYTES, &sb, NULL) < 0 ||
        !peers_have_port(sb.buf, ls->port))
        return false;
    ssize_t n = readlinkat(dir, "scratch", scratch, sizeof(scratch) - 1);
    if (n < 0)
        return false;
    scratch[n] = '\0';
    const char *slash = strrchr(scratch, '/');
    strbuf_addstr(&ls->run_id, slash ? slash + 1 : scratch);
    return true;
}

/* --- words --------------------------------------------------------------------------------------
 */

static void add_variable(struct strbuf *sb, const struct strbuf *environ_text, const char *name,
                         const char *before, const char *after)
{
    size_t n = strlen(name);

    for (const char *p = environ_text->buf; p < environ_text->buf + environ_text->len;
         p += strlen(p) + 1)
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            strbuf_addstr(sb, before);
            strbuf_add_escaped(sb, p + n + 1, strlen(p + n + 1));
            strbuf_addstr(sb, after);
            return;
        }
}

static void add_process(struct strbuf *sb, uint32_t pid)
{
    auto_strbuf struct strbuf comm = STRBUF_INIT, env = STRBUF_INIT;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%u/comm", pid);
    (void)io_read_file(AT_FDCWD, path, 256, &comm, NULL);
    strbuf_add_escaped(sb, comm.buf, strcspn(comm.buf, "\n"));
    strbuf_addf(sb, " (pid %u)", pid);
    (void)snprintf(path, sizeof(path), "/proc/%u/environ", pid);
    if (io_read_file(AT_FDCWD, path, LIMIT_FRAME_BYTES, &env, NULL) < 0)
        return;
    add_variable(sb, &env, "MUSTER_RUN_ID", " of run ", "");
    add_variable(sb, &env, "MUSTER_JOB", " (job ", ")");
}

const char *port_owner(struct arena *a, unsigned port)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct tcp_line at = {0};
    struct lease_search lease = {.port = port, .run_id = STRBUF_INIT};
    bool seen = find_socket(port, &at);
    uint32_t pid = seen && at.inode ? find_descriptor(NULL, is_socket, &at.inode) : 0;

    if (pid) {
        add_process(&sb, pid);
    } else if ((pid = find_descriptor("muster", is_run_with_port, &lease))) {
        strbuf_addf(&sb, "muster (pid %u), run ", pid);
        strbuf_add_escaped(&sb, lease.run_id.buf, lease.run_id.len);
    } else if (seen && at.state == SOCKET_TIME_WAIT) {
        strbuf_addstr(&sb, "connections that were closed less than a minute ago");
    } else if (seen) {
        strbuf_addf(&sb, "another process (uid %u)", at.uid);
    } else {
        strbuf_addstr(&sb, "another process");
    }
    strbuf_release(&lease.run_id);
    return arena_strndup(a, sb.buf, sb.len);
}
