/* rank.c - the rank wrapper: stands between orted (or hydra_pmi_proxy) and one MPI rank.
 *
 * mpirun tells how the job ended; the wrapper tells the supervisor how each rank did, and gives each a
 * log of its own. To mpirun it behaves as the rank itself: the same process group, so that a signal
 * for the group reaches the rank once (the wrapper blocks them all), the same stdin, and the same end,
 * by signal if it was one. Both orted 4.1 and hydra_pmi_proxy signal the group, never the pid alone.
 * Descriptors that were meant for the rank stay open here: Hydra kills everything when its PMI socket
 * closes, and that must not come before we have told how the rank ended.
 *
 * Outside a run, or without a rank in the environment, it simply becomes the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "shim/forward.h"
#include "shim/packet.h"
#include "shim/roles.h"

enum { ACK_SECONDS = 5 };

struct stream {
    int from; /* -1: it has ended */
    int to;   /* where it is forwarded to, or -1 */
};

struct wrapper {
    uint32_t rank, size;
    char launch[LIMIT_LAUNCH_ID + 1];
    bool forward;
    int sock, log_fd, pid_fd;
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
    return (env_u32("OMPI_COMM_WORLD_RANK", &w->rank) &&
            env_u32("OMPI_COMM_WORLD_SIZE", &w->size)) ||
           (env_u32("PMI_RANK", &w->rank) && env_u32("PMI_SIZE", &w->size));
}

/* What differs between two calls of mpirun and is the same for all ranks of one. Hydra has no such
 * thing in the environment: there it is where its proxies, our parents, report to. */
static void find_launch(struct wrapper *w)
{
    const char *id = getenv("PMIX_NAMESPACE");

    if (!id)
        id = forward_option(getppid(), "--control-port");
    snprintf(w->launch, sizeof(w->launch), "%s", id);
}

/* Between mpiexec.hydra and us there is always a proxy; its parent is mpiexec if it runs beside it. */
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
    wire_put_str(&frame, w->launch);
    wire_frame_end(&frame, begin);
    return packet_send(w->sock, &frame, NULL, 0);
}

/* Says who we are; takes the log and what the environment is to hold. The strings stay in chunk until
 * setenv() has copied them. */
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
    w->log_fd = TAKE_FD(p.fds[0]);
    packet_close(&p);
    return p.type == WIRE_RANK_WELCOME ? 0 : -EPROTO;
}

static void tell_runs(const struct wrapper *w)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_RUNS);

    wire_put_u32(&frame, (uint32_t)w->pid);
    wire_frame_end(&frame, begin);
    (void)packet_send(w->sock, &frame, &w->pid_fd, 1);
}

/* Waits, within reason, until the supervisor has it: when orted sees our end, muster knows why. */
static void tell_exit(const struct wrapper *w, int status, int64_t max_rss)
{
    struct timeval limit = {.tv_sec = ACK_SECONDS};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_EXIT);
    struct packet p;

    wire_put_u32(&frame, (uint32_t)status);
    wire_put_i64(&frame, clock_real());
    wire_put_i64(&frame, max_rss);
    wire_frame_end(&frame, begin);
    (void)setsockopt(w->sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (packet_send(w->sock, &frame, NULL, 0) == 0 &&
        packet_receive(w->sock, chunk, sizeof(chunk), &p) == 0)
        packet_close(&p);
}

/* --- the rank --------------------------------------------------------------------------------- */

static void become(char **argv) __attribute__((noreturn));
static void become(char **argv)
{
    int error;

    execvp(argv[0], argv);
    error = errno;
    dprintf(STDERR_FILENO, "muster-shim: cannot execute %s: %s\n", argv[0], strerror(error));
    _exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}

static void rank_child(const struct wrapper *w, const int out[2], pid_t parent, char **argv)
    __attribute__((noreturn));
static void rank_child(const struct wrapper *w, const int out[2], pid_t parent, char **argv)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(126);
    (void)dup2(out[0], STDOUT_FILENO);
    (void)dup2(out[1], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, &w->mask, NULL);
    become(argv);
}

/* One pipe for stdout and stderr keeps their order; two keep them apart for mpirun. */
static int make_pipes(struct wrapper *w, int out[2])
{
    int n = w->forward ? 2 : 1;

    for (int i = 0; i < n; i++) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
            return -errno;
        w->streams[i] = (struct stream){.from = fds[0], .to = w->forward ? STDOUT_FILENO + i : -1};
        out[i] = fds[1];
        (void)io_set_nonblock(fds[0]);
    }
    if (n == 1) {
        w->streams[1] = (struct stream){.from = -1, .to = -1};
        out[1] = out[0];
    }
    return 0;
}

static int start_rank(struct wrapper *w, char **argv)
{
    pid_t parent = getpid();
    int out[2] = {-1, -1}, r = make_pipes(w, out);
    sigset_t all;

    if (r < 0)
        return r;
    (void)signal(SIGCHLD, SIG_DFL); /* if it came to us ignored, there would be no status */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &w->mask);
    w->pid = fork();
    if (w->pid == 0)
        rank_child(w, out, parent, argv);
    if (w->pid < 0) {
        r = -errno;
        sigprocmask(SIG_SETMASK, &w->mask, NULL);
    }
    close(out[0]);
    if (out[1] != out[0])
        close(out[1]);
    if (r == 0)
        w->pid_fd = pidfd_open(w->pid, 0);
    return r;
}

/* --- its output ------------------------------------------------------------------------------- */

/* One read: its bytes, 0 if there were none (for now, or ever again: from is -1). */
static size_t copy(struct wrapper *w, struct stream *st)
{
    ssize_t n = read(st->from, chunk, sizeof(chunk));

    if (n > 0) {
        if (w->log_fd >= 0)
            (void)io_write_all(w->log_fd, chunk, (size_t)n);
        if (st->to >= 0 && io_write_all(st->to, chunk, (size_t)n) < 0)
            st->to = -1; /* nobody there any more; the log goes on */
        return (size_t)n;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close(TAKE_FD(st->from));
    return 0;
}

/* What was written before the rank ended, and no more: its children may hold the pipe for ever. */
static void drain(struct wrapper *w, struct stream *st)
{
    int left = 0;

    if (st->from >= 0)
        (void)ioctl(st->from, FIONREAD, &left);
    while (left > 0) {
        size_t n = copy(w, st);

        if (n == 0)
            return;
        left -= (int)n;
    }
}

/* Copies until the rank has ended; its wait status. */
static int attend(struct wrapper *w, struct rusage *ru)
{
    int status;

    while (wait4(w->pid, &status, WNOHANG, ru) == 0) {
        struct pollfd fds[3] = {{.fd = w->pid_fd, .events = POLLIN}};

        for (int i = 0; i < 2; i++)
            fds[i + 1] = (struct pollfd){.fd = w->streams[i].from, .events = POLLIN};
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (fds[i + 1].revents)
                (void)copy(w, &w->streams[i]);
        }
    }
    drain(w, &w->streams[0]);
    drain(w, &w->streams[1]);
    return status;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int end_alike(int status)
{
    struct rlimit no_core = {0};
    sigset_t only;
    int sig;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    sig = WTERMSIG(status);
    (void)setrlimit(RLIMIT_CORE, &no_core); /* the rank has left one if that was wanted */
    (void)signal(sig, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, sig);
    (void)raise(sig);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + sig;
}

int rank_main(int argc, char **argv)
{
    struct wrapper w = {.sock = -1, .log_fd = -1, .pid_fd = -1};
    struct rusage ru = {0};
    int status;

    if (argc < 2) {
        dprintf(STDERR_FILENO, "muster-shim: a rank needs a command\n");
        return 2;
    }
    argv++;
    if (!find_rank(&w))
        become(argv);
    w.sock = packet_connect_run();
    if (w.sock < 0)
        become(argv);
    find_launch(&w);
    find_forward(&w);
    if (introduce(&w) < 0 || start_rank(&w, argv) < 0) {
        close(w.sock);
        become(argv);
    }
    tell_runs(&w);
    status = attend(&w, &ru);
    tell_exit(&w, status, (int64_t)ru.ru_maxrss * 1024);
    return end_alike(status);
}
