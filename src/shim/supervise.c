/* supervise.c - the supervisor's loop: one event per turn, then what there is to say goes to
 * muster.
 *
 * It ends in one of two ways, which differ only in whether anybody is told: muster asks for the
 * end, or the connection to muster is gone (then the job ends at once, unless it waits: master.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/feed.h"
#include "shim/group.h"
#include "shim/overlay.h"
#include "shim/pod.h"
#include "shim/roles.h"
#include "shim/server.h"
#include "shim/shim.h"

enum { GOODBYE_MS = 5000 }; /* how long muster is given to read the last frames */

/* --- what the parts need ---------------------------------------------------------------------- */

static int watch_for(struct shim *s, int op, int fd, struct watch *w, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = w};

    return epoll_ctl(s->epoll_fd, op, fd, &ev) < 0 ? -errno : 0;
}

int shim_watch(struct shim *s, int fd, struct watch *w)
{
    return watch_for(s, EPOLL_CTL_ADD, fd, w, EPOLLIN);
}

int shim_pause(struct shim *s, int fd, struct watch *w, bool pause)
{
    return watch_for(s, EPOLL_CTL_MOD, fd, w, pause ? 0 : EPOLLIN);
}

/* Without it (no memory for the set) the end is seen all the same, only its order may not be. */
void shim_watch_end(struct shim *s, int pidfd, pid_t pid)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)pid};

    (void)epoll_ctl(s->ends_fd, EPOLL_CTL_ADD, pidfd, &ev);
}

void child_add(struct shim *s, struct child *c)
{
    struct child **bucket = &s->children[c->pid % SHIM_BUCKETS];

    c->next = *bucket;
    *bucket = c;
}

struct child *child_find(const struct shim *s, pid_t pid)
{
    struct child *c = s->children[pid % SHIM_BUCKETS];

    while (c && c->pid != pid)
        c = c->next;
    return c;
}

struct child *child_take(struct shim *s, pid_t pid)
{
    struct child **p = &s->children[pid % SHIM_BUCKETS], *c;

    while (*p && (*p)->pid != pid)
        p = &(*p)->next;
    c = *p;
    if (c)
        *p = c->next;
    return c;
}

void shim_record(struct shim *s, ns_t at, const char *replica, const char *process, int status)
{
    bool signaled = WIFSIGNALED(status);
    const char *how = status == -1 ? "unknown" : signaled ? "signal" : "exit";
    int code = status == -1 ? 0 : signaled ? WTERMSIG(status) : WEXITSTATUS(status);
    char time[CLOCK_TEXT], line[512];
    int n = snprintf(line, sizeof(line), "%s\t%s\t%s\t%s\t%d\n", clock_rfc3339(at, time), replica,
                     process, how, code);

    if (n > 0 && (size_t)n < sizeof(line))
        (void)io_write_all(s->exits_fd, line, (size_t)n);
}

size_t report_begin(struct shim *s, enum wire_type type)
{
    if (type == WIRE_EXITED || type == WIRE_RANK_EXITED)
        feed_logs(s);
    return wire_frame_begin(&s->link.out, type);
}

void report_end(struct shim *s, size_t frame)
{
    const struct strbuf *out = &s->link.out;
    enum wire_type type = 0;
    struct wire_reader body;

    wire_frame_end(&s->link.out, frame);
    if (s->waits_for_master)
        history_add(&s->history, out->buf + frame, out->len - frame);
    (void)wire_frame_next(out->buf + frame, out->len - frame, &type, &body);
    feed_hold(s, frame, type == WIRE_EXITED || type == WIRE_RANK_EXITED);
}

void shim_note(struct shim *s, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    size_t frame;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    frame = wire_frame_begin(&s->link.out, WIRE_NOTE);
    wire_put_str(&s->link.out, text.buf);
    wire_frame_end(&s->link.out, frame);
}

/* --- endings ---------------------------------------------------------------------------------- */

static void reap_one(struct shim *s, pid_t pid, int status, const struct rusage *ru)
{
    struct child *c;

    ranks_daemon_ended(s, pid, status);
    c = child_take(s, pid);
    if (c) /* else an orphan: it was somebody else's child and nobody asks for it */
        c->ended(s, c, status, (int64_t)ru->ru_maxrss * 1024);
}

/* wait4(-1) gives children in the order of their start. Who failed first is asked in the order of
 * their end, and that is how an epoll set lists their descriptors. */
static void reap_main_processes(struct shim *s)
{
    struct epoll_event ends[64];
    struct rusage ru;
    int status, n;
    bool any;

    /* One that somebody traces has ended for its descriptor, and not for wait4() until the tracer
     * lets go: then SIGCHLD comes. It must not be asked again and again until then. */
    do {
        any = false;
        n = epoll_wait(s->ends_fd, ends, ARRAY_SIZE(ends), 0);
        for (int i = 0; i < n; i++) {
            pid_t pid = (pid_t)ends[i].data.u64;

            if (wait4(pid, &status, WNOHANG, &ru) == pid) {
                reap_one(s, pid, status, &ru);
                any = true;
            }
        }
    } while (any);
}

static void reap(struct shim *s)
{
    struct rusage ru;
    int status;
    pid_t pid;

    /* What ranks said before their mpirun ended is sent before its end is. Hydra does not wait for
     * ranks that it has killed: they need a moment to say so. */
    server_catch_up(s);
    if (s->ranks && epoll_wait(s->ends_fd, &(struct epoll_event){0}, 1, 0) > 0)
        server_await_ranks(s);
    ranks_check_mpiruns(s);
    reap_main_processes(s);
    while ((pid = wait4(-1, &status, WNOHANG, &ru)) > 0)
        reap_one(s, pid, status, &ru);
    replicas_purge_leftovers(s);
}

static void signal_ready(struct shim *s, struct watch *w)
{
    struct signalfd_siginfo si;

    (void)w;
    if (read(s->signal_fd, &si, sizeof(si)) == sizeof(si) && si.ssi_signo == SIGTERM)
        pod_terminate(s);
    reap(s); /* children's signals do not queue: it is one */
}

static void reap_all(struct shim *s)
{
    struct rusage ru;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, 0, &ru)) > 0)
        reap_one(s, pid, status, &ru);
}

/* Without namespaces a process may have become another user's (sudo): it cannot be killed, and not
 * be waited for either. */
static void reap_most(struct shim *s)
{
    static const struct timespec moment = {.tv_nsec = 50 * NS_PER_MS};
    ns_t deadline = clock_mono() + LIMIT_KILL_WAIT_MS * NS_PER_MS;
    struct rusage ru;
    sigset_t chld;
    int status;
    pid_t pid;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    while ((pid = wait4(-1, &status, WNOHANG, &ru)) >= 0) {
        if (pid > 0) {
            reap_one(s, pid, status, &ru);
        } else if (clock_mono() > deadline) {
            shim_note(s, "a process of the job could not be killed; it may belong to another user");
            return;
        } else if (sigtimedwait(&chld, NULL, &moment) < 0) {
            replicas_kill_all(s);
        }
    }
}

/* The end of everything: nothing can start any more, what is there dies, and all is reaped. */
static void end_all(struct shim *s)
{
    replicas_kill_all(s);
    server_catch_up(s);
    if (s->level == LEVEL_NONE)
        reap_most(s);
    else
        reap_all(s);
    server_close(s);
    master_close(s);
    outputs_close(s);
    feed_finish(s, GOODBYE_MS);
    groups_remove(s);
}

/* --- muster ----------------------------------------------------------------------------------- */

static void link_ready(struct shim *s, struct watch *w)
{
    enum wire_type type = 0;
    struct wire_reader body;
    long n = 0;

    (void)w;
    if (link_fill(&s->link) < 0) {
        master_lost(s, "muster is gone");
        return;
    }
    while (!s->over && s->link.fd >= 0 && (n = link_next(&s->link, &type, &body)) > 0) {
        if (request_handle(s, type, &body) < 0 && !s->over)
            n = -EPROTO;
        if (n < 0)
            break;
    }
    if (n < 0)
        master_lost(s, "muster sent an invalid message");
}

/* Sends what there is; when muster does not read, asks to be told when it does. */
static void flush(struct shim *s)
{
    bool wants_out;

    /* Nobody is there, or has not said ATTACH yet: reports are kept elsewhere (history.h), the rest
     * is not missed. */
    if (s->link.fd < 0 || (s->is_set_up && !s->greeted)) {
        strbuf_release(&s->link.out);
        server_pause(s, false);
        return;
    }
    if (link_flush(&s->link) < 0) {
        master_lost(s, "muster is gone");
        return;
    }
    wants_out = link_pending(&s->link);
    if (wants_out != s->link_wants_out) {
        (void)watch_for(s, EPOLL_CTL_MOD, s->link.fd, &s->link_watch,
                        EPOLLIN | (wants_out ? EPOLLOUT : 0));
        s->link_wants_out = wants_out;
    }
    server_pause(s, link_is_full(&s->link));
}

static void loop(struct shim *s)
{
    while (!s->over) {
        struct epoll_event ev;
        struct watch *w;

        if (epoll_wait(s->epoll_fd, &ev, 1, -1) <= 0)
            continue; /* EINTR */
        w = ev.data.ptr;
        w->ready(s, w);
        if (s->pod)
            pod_look(s);
        if (!s->over)
            flush(s);
    }
}

static void say_bye(struct shim *s)
{
    wire_frame_end(&s->link.out, wire_frame_begin(&s->link.out, WIRE_BYE));
    (void)link_flush_wait(&s->link, GOODBYE_MS);
}

bool level_of(const char *name, enum level *ret)
{
    static const char *const names[] = {
        [LEVEL_NAMES] = "names", [LEVEL_NETWORK] = "network", [LEVEL_NONE] = "none"};

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum level)i;
            return true;
        }
    }
    return false;
}

int supervise(struct shim *s)
{
    s->link_watch.ready = link_ready;
    s->signal_watch.ready = signal_ready;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->ends_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0 || s->ends_fd < 0 || shim_watch(s, s->signal_fd, &s->signal_watch) < 0)
        return 1;
    if (s->pod ? pod_begin(s) < 0 : shim_watch(s, s->link.fd, &s->link_watch) < 0)
        return 1;
    loop(s);
    end_all(s);
    overlay_remove(s);
    if (s->exit_code == 0) {
        say_bye(s);
    } else {
        (void)link_flush_wait(&s->link, GOODBYE_MS);
        if (s->scratch_dir) /* muster would have done it */
            (void)io_remove_tree(AT_FDCWD, s->scratch_dir, NULL);
    }
    return s->exit_code ? s->exit_code : pod_exit_code(s);
}

int supervise_main(int argc, char **argv)
{
    static struct shim s;

    (void)argc;
    if (!level_of(argv[1], &s.level) || (getpid() != 1 && s.level != LEVEL_NONE) ||
        fcntl(WIRE_FD, F_GETFD) < 0) {
        static const char text[] =
            "muster-shim: this is started by muster only, in a pid namespace\n";

        (void)io_write_all(STDERR_FILENO, text, sizeof(text) - 1);
        return 2;
    }
    setup_process(&s);
    link_init(&s.link, WIRE_FD);
    return supervise(&s);
}
