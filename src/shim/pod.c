/* pod.c - see pod.h. */
#include "shim/pod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/strvec.h"
#include "shim/roles.h"

#define SCRATCH "scratch" /* packet_connect_run() looks there, too */
enum {
    FEED_MS = 50,             /* ranks write to their logs themselves: these are looked at */
    SHOW_MS = 1000,           /* for a container's log to take output that nobody else reads */
    ENDED_BY_TERM = 128 + 15, /* a pod that was deleted must not look like one that succeeded */
};

/* --- what processes get ----------------------------------------------------------------------- */

static bool is_set(const char *const *env, const char *entry)
{
    size_t n = (size_t)(strchrnul(entry, '=') - entry) + 1;

    for (; *env; env++)
        if (strncmp(*env, entry, n) == 0)
            return true;
    return false;
}

static bool is_path_first(const char *entry)
{
    return strncmp(entry, WIRE_PATH_FIRST "=", sizeof(WIRE_PATH_FIRST)) == 0;
}

/* The run's own programs come first. */
static char *path_entry(const struct shim *s, const char *const *env)
{
    const char *path = getenv("PATH"), *first = "";

    for (; *env; env++) {
        if (strncmp(*env, "PATH=", 5) == 0)
            path = *env + 5;
        if (is_path_first(*env))
            first = strchr(*env, '=') + 1;
    }
    return xasprintf("PATH=%s/bin:%s%s%s", s->scratch_dir, first, *first ? ":" : "",
                     path && *path ? path
                                   : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
                                     "/sbin:/bin");
}

void pod_adapt(struct shim *s, const char **cwd, const char ***env)
{
    static char *path, *run_dir;
    const char **old = *env, **v;
    size_t n = 0, have = 0;

    if (!**cwd)
        *cwd = s->pod->home;
    while (old[n])
        n++;
    while (environ[have])
        have++;
    free(path);
    path = path_entry(s, old);
    if (!run_dir)
        run_dir = xasprintf("MUSTER_RUN_DIR=%s", s->run_dir);
    v = xcalloc(n + have + 3, sizeof(*v));
    n = 0;
    v[n++] = path;
    v[n++] = run_dir;
    for (size_t i = 0; old[i]; i++)
        if (!is_set(v, old[i]) && !is_path_first(old[i]))
            v[n++] = old[i];
    for (size_t i = 0; environ[i]; i++)
        if (!is_set(v, environ[i]))
            v[n++] = environ[i];
    free(old);
    *env = v;
}

/* At "$(": adds its value, or the text itself; how long that is. */
static size_t add_value(struct strbuf *sb, const char *text, const char *const *env)
{
    const char *end = strchr(text, ')');
    size_t n = end ? (size_t)(end - text) - 2 : 0;

    if (!end) {
        strbuf_addstr(sb, "$(");
        return 2;
    }
    for (; *env; env++)
        if (strncmp(*env, text + 2, n) == 0 && (*env)[n] == '=') {
            strbuf_addstr(sb, *env + n + 1);
            return n + 3;
        }
    strbuf_add(sb, text, n + 3);
    return n + 3;
}

void pod_expand(const char **argv, const char *const *env)
{
    static struct strvec kept = STRVEC_INIT;

    strvec_release(&kept);
    kept = (struct strvec)STRVEC_INIT;
    for (; *argv; argv++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        for (const char *c = *argv; *c;) {
            if (c[0] == '$' && c[1] == '(') {
                c += add_value(&sb, c, env);
                continue;
            }
            strbuf_addch(&sb, *c);
            c += c[0] == '$' && c[1] == '$' ? 2 : 1;
        }
        strvec_push(&kept, sb.buf);
        *argv = kept.v[kept.n - 1];
    }
}

/* Every message is late, so the latest time is the best. That of SETUP had to wait for the process
 * that brings it. */
int pod_clock(struct shim *s, struct wire_reader *r)
{
    ns_t run = wire_get_i64(r);

    if (!wire_done(r) || !s->pod)
        return -EPROTO;
    if (run > clock_run())
        clock_run_set_now(run);
    return 0;
}

void pod_show(struct shim *s, const char *data, size_t n)
{
    ssize_t done;

    if (!s->pod)
        return;
    /* non-blocking: the logs have all of it. Where nobody reads these, a reader that is slow is
     * waited for, but not for ever. */
    while ((done = write(s->pod->stdout_fd, data, n)) != (ssize_t)n && s->pod->unread) {
        struct pollfd p = {.fd = s->pod->stdout_fd, .events = POLLOUT};

        if (done > 0) {
            data += done;
            n -= (size_t)done;
        } else if (done < 0 && errno != EAGAIN && errno != EINTR) {
            return;
        }
        if (poll(&p, 1, SHOW_MS) == 0)
            return;
    }
}

/* --- its end ---------------------------------------------------------------------------------- */

/* The first failure counts: others may have been stopped because of it. A process that is started
 * again counts by its last end. */
void pod_note_end(struct shim *s, uint32_t process, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    if (!s->pod || ((code == 0 || s->pod->failed) && s->pod->failed_process != process))
        return;
    s->pod->failed_process = process;
    s->pod->failed = code;
}

int pod_exit_code(const struct shim *s)
{
    return s->pod && s->pod->unread ? s->pod->failed : 0;
}

static bool has_main(const struct shim *s)
{
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (s->replicas[i].n_main > 0)
            return true;
    return false;
}

void pod_terminate(struct shim *s)
{
    if (!s->pod)
        return;
    s->pod->ending = true;
    if (s->is_set_up)
        signal_everything(s, SIGTERM);
}

void pod_look(struct shim *s)
{
    if (!s->pod->ending || has_main(s))
        return;
    s->over = true;
    s->exit_code = ENDED_BY_TERM;
}

/* --- its beginning ---------------------------------------------------------------------------- */

static void feed_due(struct shim *s, struct watch *w)
{
    uint64_t ticks;

    (void)w;
    (void)!read(s->pod->timer_fd, &ticks, sizeof(ticks));
    (void)feed_logs(s);
}

static int begin_feed(struct shim *s)
{
    static struct watch watch = {.ready = feed_due};
    static const struct timespec period = {.tv_nsec = FEED_MS * NS_PER_MS};

    s->pod->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->pod->timer_fd < 0 ||
        timerfd_settime(s->pod->timer_fd, 0, &(struct itimerspec){period, period}, NULL) < 0)
        return -errno;
    return shim_watch(s, s->pod->timer_fd, &watch);
}

int pod_begin(struct shim *s)
{
    struct err e;

    s->scratch_dir = xasprintf("%s/" SCRATCH, s->pod->run_dir);
    if (io_mkdir_p(s->scratch_dir, 0700, &e) < 0)
        goto failed;
    s->scratch_fd = open(s->scratch_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->scratch_fd < 0) {
        (void)err_sys(&e, -errno, "cannot open %s", s->scratch_dir);
        goto failed;
    }
    s->waits_for_master = true;
    if (master_listen(s, &e) < 0)
        goto failed;
    if (begin_feed(s) < 0) {
        (void)err_sys(&e, -errno, "cannot create a timer");
        goto failed;
    }
    return 0;
failed:
    dprintf(s->pod->stdout_fd, "muster-shim: %s\n", e.text);
    return e.code;
}

int pod_main(int argc, char **argv)
{
    static struct shim s = {.level = LEVEL_NONE, .link.fd = -1};
    static struct pod pod = {.file_fd = -1, .feed.held = STRBUF_INIT};
    static char home[PATH_MAX];

    if (argc != 2 || argv[1][0] != '/') {
        static const char text[] = "usage: muster-shim pod RUN_DIR\n";
        (void)io_write_all(STDERR_FILENO, text, sizeof(text) - 1);
        return 2;
    }
    pod.run_dir = argv[1];
    pod.home = getcwd(home, sizeof(home)) ? home : "/";
    pod.stdout_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, WIRE_FD);
    (void)io_set_nonblock(pod.stdout_fd);
    s.pod = &pod;
    setup_process(&s);
    return supervise(&s);
}

/* --- the way in ------------------------------------------------------------------------------- */

static int connect_to(const char *run_dir)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" SCRATCH "/" WIRE_MASTER_SOCKET,
                   run_dir);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
        return fd;
    dprintf(STDERR_FILENO, "muster-shim: no supervisor at %s: %s\n", addr.sun_path,
            strerror(errno));
    return -1;
}

/* False when that direction has ended. */
static bool copy(int from, int to)
{
    static char chunk[32 * 1024];
    ssize_t n = read(from, chunk, sizeof(chunk));

    if (n < 0 && errno == EINTR)
        return true;
    return n > 0 && io_write_all(to, chunk, (size_t)n) == 0;
}

int connect_main(int argc, char **argv)
{
    int fd = argc == 2 ? connect_to(argv[1]) : -1;

    if (fd < 0)
        return 1;
    for (;;) {
        struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return 1;
        if ((p[0].revents && !copy(STDIN_FILENO, fd)) || (p[1].revents && !copy(fd, STDOUT_FILENO)))
            return 0;
    }
}
