/* rank.c - the rank wrapper: stands between orted (or hydra_pmi_proxy) and one MPI rank.
 *
 * mpirun tells how the job ended; the wrapper tells the supervisor how each rank did, and gives
 * each a log of its own. To mpirun it behaves as the rank itself: the same process group, so that a
 * signal for the group reaches the rank once (the wrapper blocks them all; see stop_notice.h), the
 * same stdin, and the same end, by signal if it was one. Both orted 4.1 and hydra_pmi_proxy signal
 * the group, never the pid alone. Descriptors that were meant for the rank stay open here: Hydra
 * kills everything when its PMI socket closes, and that must not come before we have told how the
 * rank ended.
 *
 * Outside a run, or without a rank in the environment, it simply becomes the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/shebang.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/num.h"
#include "shim/daemon.h"
#include "shim/forward.h"
#include "shim/logfile.h"
#include "shim/packet.h"
#include "shim/pipe_in.h"
#include "shim/program.h"
#include "shim/roles.h"
#include "shim/stop_notice.h"

enum { ACK_SECONDS = 5, UNLOGGED_WAIT_MS = 1000 };

struct stream {
    int from; /* -1: it has ended, or there is none */
    int to;   /* where it is forwarded to, or -1 */
};

struct wrapper {
    uint32_t rank, size;
    char launch[LIMIT_LAUNCH_ID + 1], origin[LIMIT_LAUNCH_ID + 1];
    bool forward, hydra;
    int sock, pid_fd;
    int exec_fd; /* gets the error if the rank could not be executed; or -1 */
    struct stop_notice told;
    struct logfile log;
    char log_name[LIMIT_NAME + 64];
    int64_t untold; /* bytes that the log did not take and nobody knows of yet */
    bool stuck;     /* the supervisor has not taken them for a while */
    int64_t program;
    pid_t pid;
    struct stream streams[2];
    sigset_t mask; /* the rank's */
};

static char chunk[64 * 1024];

/* --- who we are ------------------------------------------------------------------------------- */

static bool env_u32(const char *name, uint32_t *ret)
{
    const char *text = getenv(name);

    return text && num_u32(text, ret) == 0;
}

static bool find_rank(struct wrapper *w)
{
    if (env_u32("OMPI_COMM_WORLD_RANK", &w->rank) && env_u32("OMPI_COMM_WORLD_SIZE", &w->size))
        return true;
    w->hydra = env_u32("PMI_RANK", &w->rank) && env_u32("PMI_SIZE", &w->size);
    return w->hydra;
}

/* What differs between two calls of mpirun and is the same for all ranks of one. Hydra has no such
 * thing in the environment: there it is where its proxies, our parents, report to. */
static void find_launch(struct wrapper *w)
{
    const char *id = getenv("PMIX_NAMESPACE"), *mark = getenv("MUSTER_LAUNCH");

    if (!id)
        id = forward_option(getppid(), "--control-port");
    snprintf(w->launch, sizeof(w->launch), "%s", id);
    if (mark) /* of the agent that has started our daemon */
        snprintf(w->origin, sizeof(w->origin), "%s", mark);
    else
        mpirun_origin(getppid(), w->origin);
    (void)unsetenv("MUSTER_LAUNCH"); /* an mpirun of the rank's own is another launch */
}

/* Between mpiexec.hydra and us there is always a proxy; its parent is mpiexec if it runs beside it.
 */
static pid_t find_mpirun(void)
{
    pid_t parent = getppid();
    auto_strbuf struct strbuf stat = STRBUF_INIT;
    char path[64], *p;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)parent);
    if (io_read_file(AT_FDCWD, path, 4096, &stat, NULL) < 0 ||
        !strstr(stat.buf, "(hydra_pmi_proxy)"))
        return parent;
    p = strrchr(stat.buf, ')'); /* ") S PPID …" */
    return p && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : parent;
}

static void find_forward(struct wrapper *w)
{
    const char *mark = getenv("MUSTER_FORWARD"); /* what the agent that started orted found out */

    w->forward = mark ? strcmp(mark, "1") == 0 : forward_wanted(w->sock, find_mpirun());
}

/* --- talking to the supervisor ---------------------------------------------------------------- */

static int send_hello(const struct wrapper *w)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_HELLO);

    wire_put_u32(&frame, w->rank);
    wire_put_u32(&frame, w->size);
    wire_put_u32(&frame, w->forward);
    wire_put_u32(&frame, (uint32_t)w->told.launcher);
    wire_put_str(&frame, w->launch);
    wire_put_str(&frame, w->origin);
    wire_put_i64(&frame, w->program);
    wire_frame_end(&frame, begin);
    return packet_send(w->sock, &frame, NULL, 0);
}

/* Says who we are; takes the log and what the environment is to hold. The strings stay in chunk
 * until setenv() has copied them. */
static int introduce(struct wrapper *w)
{
    auto_free const char **env = NULL;
    struct packet p;
    int r = send_hello(w);

    if (r == 0)
        r = packet_receive(w->sock, chunk, sizeof(chunk), &p);
    if (r < 0)
        return r;
    env = wire_get_strs(&p.body);
    for (const char **v = env; *v; v++) {
        const char *eq = strchr(*v, '=');
        auto_free char *name = eq ? strndup(*v, (size_t)(eq - *v)) : NULL;

        if (name)
            (void)setenv(name, eq + 1, 1);
    }
    snprintf(w->log_name, sizeof(w->log_name), "%s", wire_get_str(&p.body));
    w->log.name = w->log_name;
    w->log.error = (int)wire_get_u32(&p.body);
    clock_run_set_base(wire_get_i64(&p.body));
    if (p.fds[0] >= 0)
        logfile_begin(&w->log, TAKE_FD(p.fds[0]), TAKE_FD(p.fds[1]));
    packet_close(&p);
    return p.type == WIRE_RANK_WELCOME ? 0 : -EPROTO;
}

/* What the log did not take. The supervisor always reads on, so it is waited for; if it does not,
 * the rank comes first, and what there is no room for is only counted. */
static void tell_unlogged(struct wrapper *w, bool is_err, const char *data, size_t n)
{
    struct pollfd pfd = {.fd = w->sock, .events = POLLOUT};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_UNLOGGED);

    wire_put_u32(&frame, (uint32_t)w->log.error);
    wire_put_u32(&frame, is_err);
    wire_put_i64(&frame, w->untold);
    wire_put_bytes(&frame, data, n);
    wire_frame_end(&frame, begin);
    for (;;) {
        if (send(w->sock, frame.buf, frame.len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
            w->untold = 0;
            w->stuck = false;
            return;
        }
        if (errno != EAGAIN || w->stuck)
            return;
        w->stuck = poll(&pfd, 1, UNLOGGED_WAIT_MS) <= 0;
    }
}

/* Said by the rank's own process, before it executes the program: that may kill us at once. */
static void tell_runs(const struct wrapper *w)
{
    pid_t pid = getpid();
    auto_close int pid_fd = pidfd_open(pid, 0);
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_RUNS);

    wire_put_u32(&frame, (uint32_t)pid);
    wire_frame_end(&frame, begin);
    (void)packet_send(w->sock, &frame, &pid_fd, 1);
}

/* At once: SIGKILL may follow. */
static void tell_told(const struct wrapper *w)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_TOLD);

    wire_put_i64(&frame, w->told.at);
    wire_frame_end(&frame, begin);
    (void)send(w->sock, frame.buf, frame.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Waits, within reason, until the supervisor has it: when orted sees our end, muster knows why. */
static void tell_exit(const struct wrapper *w, const char *program, int status, int64_t max_rss)
{
    int error = 0;

    struct timeval limit = {.tv_sec = ACK_SECONDS};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_EXIT);
    struct packet p;

    wire_put_u32(&frame, (uint32_t)status);
    wire_put_i64(&frame, clock_run());
    wire_put_i64(&frame, max_rss);
    wire_put_i64(&frame, w->told.at);
    if (w->exec_fd < 0 || read(w->exec_fd, &error, sizeof(error)) != sizeof(error))
        error = 0;
    wire_put_u32(&frame, (uint32_t)-error);
    wire_put_str(&frame, error ? program : "");
    wire_frame_end(&frame, begin);
    (void)setsockopt(w->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (packet_send(w->sock, &frame, NULL, 0) == 0 &&
        packet_receive(w->sock, chunk, sizeof(chunk), &p) == 0)
        packet_close(&p);
}

/* --- the rank --------------------------------------------------------------------------------- */

/* tell_fd: gets the error, for the wrapper; or -1. */
static void become(char **argv, int tell_fd) __attribute__((noreturn));
static void become(char **argv, int tell_fd)
{
    int error, status;

    execvp(argv[0], argv);
    error = errno;
    status = error == ENOENT || error == ENOTDIR ? 127 : 126;
    if (strchr(argv[0], '/'))
        error = shebang_error(argv[0], error);
    if (tell_fd >= 0)
        (void)io_write_all(tell_fd, &error, sizeof(error));
    dprintf(STDERR_FILENO, "muster-shim: cannot execute %s: %s\n", argv[0], shebang_reason(error));
    _exit(status);
}

static void rank_child(const struct wrapper *w, const int out[2], int tell_fd, pid_t parent,
                       char **argv) __attribute__((noreturn));
static void rank_child(const struct wrapper *w, const int out[2], int tell_fd, pid_t parent,
                       char **argv)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(126);
    tell_runs(w);
    (void)dup2(out[0], STDOUT_FILENO);
    (void)dup2(out[1], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, &w->mask, NULL);
    become(argv, tell_fd);
}

/* Where a second pipe cannot be had both streams share the first. */
static int make_pipes(struct wrapper *w, int out[2])
{
    for (int i = 0; i < 2; i++) {
        int fds[2];

        w->streams[i] = (struct stream){.from = -1, .to = -1};
        if (pipe2(fds, O_CLOEXEC) < 0) {
            out[1] = out[0];
            return i == 0 ? -errno : 0;
        }
        w->streams[i] = (struct stream){.from = fds[0], .to = w->forward ? STDOUT_FILENO + i : -1};
        out[i] = fds[1];
        (void)io_set_nonblock(fds[0]);
    }
    return 0;
}

static int start_rank(struct wrapper *w, char **argv)
{
    pid_t parent = getpid();
    int out[2] = {-1, -1}, tell[2] = {-1, -1}, r = make_pipes(w, out);

    if (r < 0)
        return r;
    if (pipe2(tell, O_CLOEXEC) == 0)
        (void)io_set_nonblock(tell[0]);
    w->exec_fd = tell[0];
    w->pid = fork();
    if (w->pid == 0)
        rank_child(w, out, tell[1], parent, argv);
    if (w->pid < 0)
        r = -errno;
    if (tell[1] >= 0)
        close(tell[1]);
    close(out[0]);
    if (out[1] != out[0])
        close(out[1]);
    if (r < 0)
        return r;
    w->pid_fd = pidfd_open(w->pid, 0);
    stop_notice_leave(&w->told);
    return 0;
}

/* --- its output ------------------------------------------------------------------------------- */

static void to_log(struct wrapper *w, const struct stream *st, size_t n)
{
    bool is_err = st == &w->streams[1];
    size_t done = logfile_write(&w->log, is_err, chunk, n);

    if (done == n)
        return;
    w->untold += (int64_t)(n - done);
    /* what mpirun shows is not to be shown twice */
    tell_unlogged(w, is_err, chunk + done, st->to >= 0 ? 0 : n - done);
}

struct copying { /* of one stream */
    struct wrapper *w;
    struct stream *st;
};

static size_t copy(void *ctx)
{
    const struct copying *c = ctx;
    struct stream *st = c->st;
    size_t n = pipe_take(&st->from, chunk, sizeof(chunk));

    if (n == 0)
        return 0;
    to_log(c->w, st, n);
    if (st->to >= 0 && io_write_all(st->to, chunk, n) < 0)
        st->to = -1; /* nobody there any more; the log goes on */
    return n;
}

/* What was written before the rank ended, and no more. */
static void drain(struct wrapper *w, struct stream *st)
{
    pipe_drain(st->from, copy, &(struct copying){w, st});
}

enum source { FROM_OUT, FROM_ERR, FROM_SIGNAL, FROM_RANK };

static int watch_all(const struct wrapper *w)
{
    const int fds[] = {w->streams[0].from, w->streams[1].from, w->told.fd, w->pid_fd};
    int set = epoll_create1(EPOLL_CLOEXEC);

    for (uint32_t i = 0; set >= 0 && i < ARRAY_SIZE(fds); i++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
        if (fds[i] >= 0)
            (void)epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &ev);
    }
    return set;
}

/* What has happened, in its order: an epoll set lists what became ready first first. A signal that
 * came after the rank had ended did not end it. False: it has ended. */
static bool attend_once(struct wrapper *w, int set)
{
    struct epoll_event ev[4];
    int n = epoll_wait(set, ev, ARRAY_SIZE(ev), w->pid_fd >= 0 ? -1 : 100);

    for (int i = 0; i < n; i++) {
        switch ((enum source)ev[i].data.u32) {
        case FROM_RANK:
            return false;
        case FROM_SIGNAL:
            if (stop_notice_read(&w->told))
                tell_told(w);
            break;
        case FROM_ERR: /* as in output.c: stdout first */
            drain(w, &w->streams[0]);
            (void)copy(&(struct copying){w, &w->streams[1]});
            break;
        case FROM_OUT:
            (void)copy(&(struct copying){w, &w->streams[0]});
            break;
        }
    }
    return true;
}

/* Copies until the rank has ended; its wait status. */
static int attend(struct wrapper *w, struct rusage *ru)
{
    auto_close int set = watch_all(w);
    int status;

    while (set >= 0 && attend_once(w, set)) {
        siginfo_t si = {0};
        if (w->pid_fd < 0 &&
            (waitid(P_PID, (id_t)w->pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid))
            break;
    }
    while (wait4(w->pid, &status, 0, ru) < 0 && errno == EINTR)
        ;
    stop_notice_finish(&w->told, status);
    drain(w, &w->streams[0]);
    drain(w, &w->streams[1]);
    return status;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void block_signals(struct wrapper *w)
{
    sigset_t all;

    (void)signal(SIGCHLD, SIG_DFL); /* if it came to us ignored, there would be no status */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &w->mask);
}

int rank_main(int argc, char **argv)
{
    struct wrapper w = {.sock = -1, .pid_fd = -1, .exec_fd = -1, .log = {.fd = -1, .marks_fd = -1}};
    struct rusage ru = {0};
    int status;

    if (argc < 2) {
        dprintf(STDERR_FILENO, "muster-shim: a rank needs a command\n");
        return 2;
    }
    argv++;
    if (!find_rank(&w))
        become(argv, -1);
    w.sock = packet_connect_run();
    if (w.sock < 0)
        become(argv, -1);
    find_launch(&w);
    w.program = program_key((const char *const *)argv);
    find_forward(&w);
    block_signals(&w);
    stop_notice_begin(&w.told, w.hydra);
    if (introduce(&w) < 0 || start_rank(&w, argv) < 0) {
        close(w.sock);
        sigprocmask(SIG_SETMASK, &w.mask, NULL);
        become(argv, -1);
    }
    status = attend(&w, &ru);
    if (w.untold > 0)
        tell_unlogged(&w, false, "", 0);
    tell_exit(&w, argv[0], status, (int64_t)ru.ru_maxrss * 1024);
    return stop_notice_end(&w.told, status);
}
