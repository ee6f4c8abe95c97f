/* trial.c - see trial.h. */
#include "shim/trial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/num.h"
#include "shim/roles.h"

enum {
    PIECE = 64 * 1024,
    PINGS = 8,
    STRANGER_S = 1, /* how long one that calls may take to say its token */
    ADDRESS = 64,
};

/* --- in the supervisor ------------------------------------------------------------------------ */

struct trial {
    struct watch watch; /* first */
    struct trial *next;
    uint32_t id;
    int fd; /* to its process; closing it ends one that listens */
    const struct replica *replica;
    bool told;
};

static void tell(struct shim *s, uint32_t id, const struct trial_result *result)
{
    struct strbuf *out = &s->link.out;
    size_t frame = wire_frame_begin(out, WIRE_TRIED);

    wire_put_u32(out, id);
    wire_put_u32(out, (uint32_t)result->error);
    wire_put_u32(out, result->port);
    wire_put_i64(out, result->latency);
    wire_put_i64(out, result->bytes);
    wire_put_i64(out, result->took);
    wire_frame_end(out, frame);
}

/* The process may still have a copy of it: closing alone would not take it out of the set. */
static void trial_free(struct shim *s, struct trial *t)
{
    struct trial **at = &s->trials;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, t->fd, NULL);
    close(t->fd);
    free(t);
}

/* A test's fault point: nobody reaches the named replica. */
static bool is_deaf(const struct replica *r)
{
#ifdef MUSTER_FAULTS
    const char *fault = getenv("MUSTER_FAULT");

    return fault && strncmp(fault, "deaf:", 5) == 0 && strcmp(fault + 5, r->name) == 0;
#else
    (void)r;
    return false;
#endif
}

static void on_result(struct shim *s, struct watch *w)
{
    struct trial *t = (struct trial *)w;
    struct trial_result result = {0};
    ssize_t n = read(t->fd, &result, sizeof(result));

    if (n != sizeof(result) && !t->told)
        result = (struct trial_result){.error = -ESRCH}; /* it was killed */
    if (result.port && is_deaf(t->replica))
        result.port = 1;
    if (n == sizeof(result) || !t->told)
        tell(s, t->id, &result);
    t->told = true;
    if (n != sizeof(result) || result.error || result.port == 0)
        trial_free(s, t);
}

struct trial_args {
    const struct shim *s;
    const struct replica *replica;
    int fd;
    char *const *argv;
};

static int trial_child(void *arg)
{
    const struct trial_args *a = arg;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (a->s->level == LEVEL_NETWORK && setns(a->replica->net_fd, CLONE_NEWNET) < 0)
        _exit(126);
    if (dup2(a->fd, STDIN_FILENO) == STDIN_FILENO && close_range(WIRE_FD, ~0U, 0) == 0)
        (void)execve("/proc/self/exe", a->argv, environ);
    _exit(126);
}

/* As peer_comes() does it, for the same reason. */
static int start(struct shim *s, struct trial *t, const struct replica *r, const char *address,
                 uint32_t port, const void *token)
{
    static char stack[16 * 1024] __attribute__((aligned(16)));
    char number[16], where[ADDRESS];
    char *argv[] = {(char[]){"muster-shim"}, (char[]){"try"}, where, number, NULL};
    int sv[2], result = 0;

    (void)snprintf(where, sizeof(where), "%s",
                   *address      ? address
                   : *r->address ? r->address
                                 : "0.0.0.0"); /* a pod whose address was not known yet */
    (void)snprintf(number, sizeof(number), "%u", *address ? port : 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
        return -errno;
    struct trial_args args = {.s = s, .replica = r, .fd = sv[1], .argv = argv};
    if (clone(trial_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &args) < 0)
        result = -errno;
    close(sv[1]);
    t->fd = sv[0];
    if (result == 0 &&
        (send(t->fd, token, WIRE_TOKEN, MSG_NOSIGNAL) != WIRE_TOKEN || io_set_nonblock(t->fd) < 0))
        result = -EIO;
    return result == 0 ? shim_watch(s, t->fd, &t->watch) : result;
}

int trial_begin(struct shim *s, struct wire_reader *r)
{
    uint32_t id = wire_get_u32(r), replica = wire_get_u32(r);
    const char *address = wire_get_str(r);
    uint32_t port = wire_get_u32(r);
    size_t n;
    const void *token = wire_get_bytes(r, &n);
    size_t under_way = 0;

    if (!wire_done(r) || n != WIRE_TOKEN || replica >= s->n_replicas ||
        strlen(address) >= ADDRESS || port > UINT16_MAX)
        return -EPROTO;
    for (const struct trial *t = s->trials; t; t = t->next)
        under_way++;
    if (under_way > 2 * (size_t)s->n_replicas)
        return -EPROTO; /* one that listens and one that calls in each */
    struct trial *t = xcalloc(1, sizeof(*t));
    *t = (struct trial){.watch.ready = on_result,
                        .id = id,
                        .fd = -1,
                        .replica = &s->replicas[replica],
                        .next = s->trials};
    s->trials = t;
    int result = start(s, t, &s->replicas[replica], address, port, token);
    if (result < 0) {
        tell(s, id, &(struct trial_result){.error = result});
        trial_free(s, t);
    }
    return 0;
}

int trial_end(struct shim *s, struct wire_reader *r)
{
    if (!wire_done(r))
        return -EPROTO;
    while (s->trials)
        trial_free(s, s->trials);
    return 0;
}

/* --- in the replica --------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool address_of(const char *text, uint16_t port, union address *ret, socklen_t *ret_n)
{
    *ret = (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
    *ret_n = sizeof(ret->v6);
    if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1)
        return true;
    *ret = (union address){.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
    *ret_n = sizeof(ret->v4);
    return inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1;
}

static void set_patience(int sock, int seconds)
{
    struct timeval t = {.tv_sec = seconds};
    int one = 1;

    (void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    (void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
    (void)setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static bool receive(int sock, void *to, size_t n)
{
    return recv(sock, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool give(int sock, const void *from, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(sock, from, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        from = (const char *)from + sent;
        n -= (size_t)sent;
    }
    return true;
}

/* One call: bytes there and back, then data until its end, whose size is the answer. */
static void serve(int sock, const unsigned char *token)
{
    static char piece[PIECE];
    unsigned char said[WIRE_TOKEN];
    int64_t bytes = 0;
    ssize_t n = 0;
    char byte;

    set_patience(sock, STRANGER_S);
    if (!receive(sock, said, sizeof(said)) || memcmp(said, token, sizeof(said)) != 0)
        return;
    set_patience(sock, LIMIT_TRY_S);
    for (int i = 0; i < PINGS; i++)
        if (!receive(sock, &byte, 1) || !give(sock, &byte, 1))
            return;
    while (bytes <= LIMIT_TRY_BYTES && (n = recv(sock, piece, sizeof(piece), 0)) > 0)
        bytes += n;
    if (n == 0)
        (void)give(sock, &bytes, sizeof(bytes));
}

static int answer_calls(const union address *a, socklen_t len, const unsigned char *token)
{
    struct trial_result result = {0};
    union address own = {.v4 = {0}};
    socklen_t n = sizeof(own);
    auto_close int sock = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (sock < 0 || bind(sock, &a->any, len) < 0 || listen(sock, SOMAXCONN) < 0 ||
        getsockname(sock, &own.any, &n) < 0)
        result.error = -errno;
    else /* at the same place in both */
        result.port = ntohs(own.v4.sin_port);
    if (!give(STDIN_FILENO, &result, sizeof(result)) || result.error)
        return 1;
    for (;;) {
        struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = sock, .events = POLLIN}};

        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return 1;
        if (p[0].revents)
            return 0; /* the supervisor wants no more */
        auto_close int call = p[1].revents ? accept4(sock, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (call >= 0)
            serve(call, token);
    }
}

/* -errno of a connection that is not made in time, too. */
static int connect_within(int sock, const union address *a, socklen_t len)
{
    struct pollfd p = {.fd = sock, .events = POLLOUT};
    socklen_t n = sizeof(int);
    int error = 0;

    (void)io_set_nonblock(sock);
    if (connect(sock, &a->any, len) < 0 && errno != EINPROGRESS)
        return -errno;
    if (poll(&p, 1, LIMIT_TRY_S * 1000) <= 0)
        return -ETIMEDOUT;
    if (getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
        return -errno;
    return error ? -error : fcntl(sock, F_SETFL, 0) < 0 ? -errno : 0;
}

/* EAGAIN is what a time that is over gives. */
static int why(void)
{
    return errno == EAGAIN || errno == 0 ? -ETIMEDOUT : -errno;
}

static int measure_latency(int sock, struct trial_result *result)
{
    char byte = 'x';

    for (int i = 0; i < PINGS; i++) {
        ns_t begin = clock_mono();

        errno = ECONNRESET;
        if (!give(sock, &byte, 1) || !receive(sock, &byte, 1))
            return why();
        ns_t took = clock_mono() - begin;
        if (i == 0 || took < result->latency)
            result->latency = took;
    }
    return 0;
}

static int measure_bandwidth(int sock, struct trial_result *result)
{
    static const char piece[PIECE];
    ns_t begin = clock_mono(), until = begin + LIMIT_TRY_MS * NS_PER_MS;
    int64_t bytes = 0, arrived = 0;

    errno = ECONNRESET;
    while (bytes + PIECE <= LIMIT_TRY_BYTES && clock_mono() < until) {
        if (!give(sock, piece, sizeof(piece)))
            return why();
        bytes += PIECE;
    }
    errno = ECONNRESET;
    if (shutdown(sock, SHUT_WR) < 0 || !receive(sock, &arrived, sizeof(arrived)))
        return why();
    result->bytes = arrived;
    result->took = clock_mono() - begin - result->latency;
    if (result->took < 1)
        result->took = 1;
    return arrived == bytes ? 0 : -EIO;
}

static int call(const union address *a, socklen_t len, const unsigned char *token)
{
    struct trial_result result = {0};
    auto_close int sock = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    result.error = sock < 0 ? -errno : connect_within(sock, a, len);
    if (result.error == 0) {
        set_patience(sock, LIMIT_TRY_S);
        result.error = give(sock, token, WIRE_TOKEN) ? measure_latency(sock, &result) : -errno;
    }
    if (result.error == 0)
        result.error = measure_bandwidth(sock, &result);
    return !give(STDIN_FILENO, &result, sizeof(result));
}

/* `muster-shim try ADDRESS PORT`, with the supervisor as its stdin: calls there, or for port 0
 * listens. */
int try_main(int argc, char **argv)
{
    unsigned char token[WIRE_TOKEN];
    union address a;
    socklen_t len;
    uint32_t port;

    if (argc != 3 || num_u32(argv[2], &port) < 0 || port > UINT16_MAX ||
        !address_of(argv[1], (uint16_t)port, &a, &len) ||
        !receive(STDIN_FILENO, token, sizeof(token)))
        return 2;
    return port ? call(&a, len, token) : answer_calls(&a, len, token);
}
