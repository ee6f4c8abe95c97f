/* record.c - around one MPI rank of a job of the operator: reports its end to the launcher
 * (records.h).
 *
 * Less than the rank wrapper of a run (rank.c): streams are the rank's own, and there is no log. To
 * mpirun it behaves as the rank itself, for the same reasons: the same process group, the same end,
 * and descriptors that were meant for the rank stay open here until its end was told. If the
 * launcher does not answer soon it simply becomes the rank: that must not wait for a record.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "shim/forward.h"
#include "shim/greet.h"
#include "shim/program.h"
#include "shim/records.h"
#include "shim/roles.h"
#include "shim/stop_notice.h"
#include "shim/wire.h"

enum { CONNECT_MS = 3000, ANSWER_S = 5 };

struct recorder {
    struct record_rank rank;
    char launch[LIMIT_LAUNCH_ID + 1], host[HOST_NAME_MAX + 1];
    unsigned char key[PEER_KEY_BYTES];
    const char *where; /* PORT@ADDRESS */
    int sock, pid_fd, exec_fd;
    struct stop_notice told;
    long long oom_before;
    bool hydra;
    sigset_t mask; /* the rank's */
};

/* --- who we are ------------------------------------------------------------------------------- */

static bool env_u32(const char *name, uint32_t *ret)
{
    const char *text = getenv(name);

    return text && num_u32(text, ret) == 0;
}

static bool find_rank(struct recorder *w)
{
    if (env_u32("OMPI_COMM_WORLD_RANK", &w->rank.rank) &&
        env_u32("OMPI_COMM_WORLD_SIZE", &w->rank.size))
        return true;
    w->hydra = env_u32("PMI_RANK", &w->rank.rank) && env_u32("PMI_SIZE", &w->rank.size);
    return w->hydra;
}

/* The key lies beside the program, under the name that mpirun was given. */
static bool find_key(struct recorder *w, const char *self)
{
    const char *slash = strrchr(self, '/');
    auto_free char *file = slash ? xasprintf("%.*s/key", (int)(slash - self), self) : NULL;

    return file && greet_key(file, w->key);
}

static void find_launch(struct recorder *w, char **argv)
{
    const char *id = getenv("PMIX_NAMESPACE");

    snprintf(w->launch, sizeof(w->launch), "%s",
             id ? id : forward_option(getppid(), "--control-port"));
    if (gethostname(w->host, sizeof(w->host)) < 0)
        w->host[0] = '\0';
    w->host[sizeof(w->host) - 1] = '\0';
    w->rank.launch = w->launch;
    w->rank.host = w->host;
    w->rank.program = program_key((const char *const *)argv);
}

/* How often the kernel has killed for want of memory in this container; -1: unknown. */
static long long oom_kills(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.events",
                                        "/sys/fs/cgroup/memory/memory.oom_control"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        const char *line;

        if (io_read_file(AT_FDCWD, files[i], 4096, &text, NULL) == 0 &&
            (line = strstr(text.buf, "oom_kill ")))
            return strtoll(line + strlen("oom_kill "), NULL, 10);
    }
    return -1;
}

/* --- the launcher ----------------------------------------------------------------------------- */

static int connect_within(int family, const struct sockaddr *to, socklen_t len, int ms)
{
    auto_close int sock = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct timeval limit = {.tv_sec = ANSWER_S};
    struct pollfd pfd = {.fd = sock, .events = POLLOUT};
    socklen_t n = sizeof(int);
    int error = 0;

    if (sock < 0 || (connect(sock, to, len) < 0 && errno != EINPROGRESS) ||
        poll(&pfd, 1, ms) <= 0 || getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error)
        return -1;
    (void)fcntl(sock, F_SETFL, 0);
    (void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    (void)setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    return TAKE_FD(sock);
}

static int connect_to(const char *where)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char *at;
    unsigned long port = strtoul(where, &at, 10);

    if (*at != '@' || port == 0 || port > 65535)
        return -1;
    v4.sin_port = v6.sin6_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, at + 1, &v4.sin_addr) == 1)
        return connect_within(AF_INET, (struct sockaddr *)&v4, sizeof(v4), CONNECT_MS);
    if (inet_pton(AF_INET6, at + 1, &v6.sin6_addr) == 1)
        return connect_within(AF_INET6, (struct sockaddr *)&v6, sizeof(v6), CONNECT_MS);
    return -1;
}

/* True: the launcher has it. */
static bool tell(int sock, const struct strbuf *frame)
{
    char answer[WIRE_HEADER];
    enum wire_type type;
    struct wire_reader body;

    return send(sock, frame->buf, frame->len, MSG_NOSIGNAL) == (ssize_t)frame->len &&
           recv(sock, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer) &&
           wire_frame_next(answer, sizeof(answer), &type, &body) > 0 && type == WIRE_RANK_ACK;
}

static bool introduce(struct recorder *w)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RECORD_RANK);

    wire_put_u32(&frame, w->rank.rank);
    wire_put_u32(&frame, w->rank.size);
    wire_put_str(&frame, w->rank.launch);
    wire_put_str(&frame, w->rank.host);
    wire_put_i64(&frame, w->rank.program);
    wire_frame_end(&frame, begin);
    w->sock = connect_to(w->where);
    if (w->sock >= 0 && greet_ask(w->sock, w->key) && tell(w->sock, &frame))
        return true;
    if (w->sock >= 0)
        close(TAKE_FD(w->sock));
    return false;
}

/* At once: SIGKILL may follow. */
static void tell_told(const struct recorder *w)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;

    wire_frame_end(&frame, wire_frame_begin(&frame, WIRE_RECORD_TOLD));
    (void)send(w->sock, frame.buf, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* When mpirun's daemon sees our end, the launcher knows why. A connection that was idle for days
 * may be gone: then there is another try. */
static void tell_end(struct recorder *w, int status)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_RECORD_END);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    int error = 0;

    if (w->exec_fd < 0 || read(w->exec_fd, &error, sizeof(error)) != sizeof(error))
        error = 0;
    wire_put_u32(&frame, (uint32_t)status);
    wire_put_u32(&frame, w->told.at != 0);
    wire_put_u32(&frame, killed && oom_kills() > w->oom_before);
    wire_put_u32(&frame, (uint32_t)-error);
    wire_frame_end(&frame, begin);
    if (tell(w->sock, &frame))
        return;
    close(TAKE_FD(w->sock));
    if (introduce(w))
        (void)tell(w->sock, &frame);
}

/* --- the rank --------------------------------------------------------------------------------- */

_Noreturn static void become(char **argv, int tell_fd)
{
    int error;

    (void)unsetenv(RECORDS_VARIABLE); /* an mpirun of the rank's own is none of the launcher's */
    execvp(argv[0], argv);
    error = errno;
    if (tell_fd >= 0)
        (void)io_write_all(tell_fd, &error, sizeof(error));
    dprintf(STDERR_FILENO, "muster-shim: cannot execute %s: %s\n", argv[0], strerror(error));
    _exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}

static pid_t start_rank(struct recorder *w, char **argv)
{
    pid_t parent = getpid(), pid;
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    w->exec_fd = fds[0];
    pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(126);
        sigprocmask(SIG_SETMASK, &w->mask, NULL);
        become(argv, fds[1]);
    }
    close(fds[1]);
    if (pid > 0) {
        w->pid_fd = pidfd_open(pid, 0);
        stop_notice_leave(&w->told);
    }
    return pid;
}

/* Waits for its end; its wait status. */
static int attend(struct recorder *w, pid_t pid)
{
    int status = 0;

    for (;;) {
        struct pollfd fds[2] = {{.fd = w->pid_fd, .events = POLLIN},
                                {.fd = w->told.fd, .events = POLLIN}};

        (void)poll(fds, 2, w->pid_fd >= 0 ? -1 : 100);
        if (waitpid(pid, &status, WNOHANG) == pid)
            break;
        if (fds[1].revents && stop_notice_read(&w->told))
            tell_told(w);
    }
    stop_notice_finish(&w->told, status);
    return status;
}

int record_main(int argc, char **argv)
{
    struct recorder w = {.sock = -1, .pid_fd = -1, .exec_fd = -1};
    const char *self = argv[0];
    sigset_t all;
    pid_t pid;
    int status;

    if (argc < 2) {
        dprintf(STDERR_FILENO, "muster-shim: a rank needs a command\n");
        return 2;
    }
    argv++;
    w.where = getenv(RECORDS_VARIABLE);
    if (!w.where || !find_rank(&w) || !find_key(&w, self))
        become(argv, -1);
    find_launch(&w, argv);
    if (!introduce(&w))
        become(argv, -1);
    w.oom_before = oom_kills();
    (void)signal(SIGCHLD, SIG_DFL); /* if it came to us ignored, there would be no status */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &w.mask);
    stop_notice_begin(&w.told, w.hydra);
    pid = start_rank(&w, argv);
    if (pid < 0) {
        sigprocmask(SIG_SETMASK, &w.mask, NULL);
        become(argv, -1);
    }
    status = attend(&w, pid);
    tell_end(&w, status);
    return stop_notice_end(&w.told, status);
}
