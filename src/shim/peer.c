/* peer.c - see peer.h. */
#include "shim/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "shim/greet.h"
#include "shim/packet.h"
#include "shim/pod.h"
#include "shim/roles.h"

enum {
    KEY_BYTES = PEER_KEY_BYTES,
    PATIENCE_S = 10,      /* for the other end to prove itself */
    CONNECT_S = 60,       /* a pod that is just starting does not listen yet */
    PIECE = 16 * 1024,    /* of a stream */
    PENDING = 256 * 1024, /* not yet taken by the other end: nothing more is read then */
    PEERS_BYTES = 4 * 1024 * 1024,
};

/* --- the key ---------------------------------------------------------------------------------- */

static bool read_key(const char *run_dir, unsigned char key[KEY_BYTES])
{
    auto_free char *path = xasprintf("%s/scratch/key", run_dir);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd >= 0 && read(fd, key, KEY_BYTES) == KEY_BYTES;
}

static void set_patience(int sock, int seconds)
{
    struct timeval limit = {.tv_sec = seconds};

    (void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* --- a connection ----------------------------------------------------------------------------- */

struct peer {
    int sock;
    struct strbuf in, out;
};

static void put_data(struct peer *p, uint32_t stream, const char *data, size_t n)
{
    size_t frame = wire_frame_begin(&p->out, WIRE_PEER_DATA);

    wire_put_u32(&p->out, stream);
    wire_put_bytes(&p->out, data, n);
    wire_frame_end(&p->out, frame);
}

/* Copies a piece of a stream. Returns fd, or -1 at its end, which an empty piece tells. */
static int take_stream(struct peer *p, int fd, uint32_t stream)
{
    static char piece[PIECE];
    ssize_t n = read(fd, piece, sizeof(piece));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return fd;
    put_data(p, stream, piece, n > 0 ? (size_t)n : 0);
    if (n > 0)
        return fd;
    close(fd);
    return -1;
}

static bool fill(struct peer *p)
{
    strbuf_reserve(&p->in, PIECE);
    ssize_t n = recv(p->sock, p->in.buf + p->in.len, PIECE, MSG_DONTWAIT);
    if (n > 0)
        p->in.len += (size_t)n;
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool flush(struct peer *p)
{
    while (p->out.len > 0) {
        ssize_t n = send(p->sock, p->out.buf, p->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        strbuf_consume(&p->out, (size_t)n);
    }
    return true;
}

/* The next frame, taken out of the buffer into *keep. 1, 0 = none, -EPROTO. */
static int next(struct peer *p, struct strbuf *keep, enum wire_type *type, struct wire_reader *body)
{
    long n = wire_frame_next(p->in.buf, p->in.len, type, body);

    if (n <= 0)
        return n < 0 ? -EPROTO : 0;
    strbuf_truncate(keep, 0);
    strbuf_add(keep, p->in.buf, (size_t)n);
    strbuf_consume(&p->in, (size_t)n);
    return wire_frame_next(keep->buf, keep->len, type, body) > 0 ? 1 : -EPROTO;
}

/* --- the end that asks ------------------------------------------------------------------------ */

/* "HOST ADDRESS" by line; 0, or -ENOENT. */
static int find_host(const char *run_dir, const char *host, char address[64])
{
    auto_free char *path = xasprintf("%s/scratch/peers", run_dir);
    auto_strbuf struct strbuf text = STRBUF_INIT;
    size_t n = strlen(host);

    if (io_read_file(AT_FDCWD, path, PEERS_BYTES, &text, NULL) < 0)
        return -ENOENT;
    for (char *line = text.buf; line && *line;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        char *a = line + n;

        if (strncmp(line, host, n) == 0 && *a == ' ') {
            snprintf(address, 64, "%.*s", (int)strcspn(a + 1, "\n"), a + 1);
            return 0;
        }
    }
    return -ENOENT;
}

static int connect_once(const char *address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(PEER_PORT)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(PEER_PORT)};
    bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
    int one = 1;

    if (!is_v4 && inet_pton(AF_INET6, address, &v6.sin6_addr) != 1)
        return -EINVAL;
    auto_close int sock = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
                            is_v4 ? sizeof(v4) : sizeof(v6)) < 0)
        return -errno;
    (void)setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    return TAKE_FD(sock);
}

static int connect_to(const char *address)
{
    static const struct timespec moment = {.tv_nsec = 100 * NS_PER_MS};
    ns_t give_up = clock_mono() + CONNECT_S * NS_PER_S;
    int sock;

    while ((sock = connect_once(address)) == -ECONNREFUSED && clock_mono() < give_up)
        (void)nanosleep(&moment, NULL);
    return sock;
}

/* What comes from the other end: output, or the end. Returns the exit code, or -EAGAIN. */
static int take_answer(enum wire_type type, struct wire_reader *body)
{
    uint32_t stream;
    const char *data;
    size_t n;
    int status;

    switch (type) {
    case WIRE_PEER_DATA:
        stream = wire_get_u32(body);
        data = wire_get_bytes(body, &n);
        if (n > 0 && wire_done(body))
            (void)io_write_all(stream == 2 ? STDERR_FILENO : STDOUT_FILENO, data, n);
        return -EAGAIN;
    case WIRE_AGENT_EXITED:
        status = (int)wire_get_u32(body);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    case WIRE_AGENT_NO_HOST:
        return -EHOSTUNREACH;
    default:
        return -EPROTO;
    }
}

static int talk(struct peer *p, bool no_stdin)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    int in = no_stdin ? -1 : STDIN_FILENO, r = -EAGAIN;

    if (no_stdin)
        put_data(p, 0, "", 0);
    while (r == -EAGAIN) {
        struct pollfd fds[2] = {{.fd = p->sock, .events = POLLIN | (p->out.len ? POLLOUT : 0)},
                                {.fd = p->out.len < PENDING ? in : -1, .events = POLLIN}};
        enum wire_type type;
        struct wire_reader body;
        int n;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents)
            in = take_stream(p, in, 0);
        bool alive = flush(p) && (!fds[0].revents || fill(p));
        while (r == -EAGAIN && (n = next(p, &frame, &type, &body)) != 0)
            r = n < 0 ? n : take_answer(type, &body);
        if (r == -EAGAIN && !alive)
            r = -ECONNRESET;
    }
    return r;
}

int peer_ask(const char *address, const unsigned char key[PEER_KEY_BYTES],
             const struct peer_call *call)
{
    struct peer p = {.in = STRBUF_INIT, .out = STRBUF_INIT};
    int r;

    p.sock = connect_to(address);
    r = p.sock < 0 ? p.sock : 0;
    if (r == 0) {
        set_patience(p.sock, PATIENCE_S);
        r = greet_ask(p.sock, key) ? 0 : -EACCES;
    }
    if (r == 0) {
        size_t frame = wire_frame_begin(&p.out, WIRE_AGENT_RUN);
        wire_put_str(&p.out, call->host);
        wire_put_str(&p.out, call->command);
        wire_put_u32(&p.out, call->forward);
        wire_put_str(&p.out, call->origin);
        wire_frame_end(&p.out, frame);
        r = talk(&p, call->no_stdin);
    }
    if (r < 0)
        fprintf(stderr, "muster-shim: cannot run a command on %s (%s): %s\n", call->host, address,
                r == -EACCES ? "it does not know this run's key" : strerror(-r));
    if (p.sock >= 0)
        close(p.sock);
    strbuf_release(&p.in);
    strbuf_release(&p.out);
    return r == -ENOENT ? -EIO : r;
}

int peer_run(const struct peer_call *call)
{
    const char *run_dir = getenv("MUSTER_RUN_DIR");
    unsigned char key[KEY_BYTES];
    char address[64];

    if (!run_dir || find_host(run_dir, call->host, address) < 0 || !read_key(run_dir, key))
        return -ENOENT;
    return peer_ask(address, key, call);
}

/* --- the end that is asked -------------------------------------------------------------------- */

struct serving {
    struct peer peer;
    int agent;           /* our connection to the supervisor */
    int in, out[2];      /* our ends of the command's pipes; -1: closed */
    struct strbuf input; /* for in */
    bool input_ends;
};

/* Hands the request on to the supervisor, with pipes for the command. */
static int begin_command(struct serving *s, struct wire_reader *request)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    const char *host = wire_get_str(request), *command = wire_get_str(request);
    uint32_t forward = wire_get_u32(request);
    const char *origin = wire_get_str(request);
    int pipes[3][2];

    if (!wire_done(request))
        return -EPROTO;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            return -errno;
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_RUN);
    wire_put_str(&frame, host);
    wire_put_str(&frame, command);
    wire_put_u32(&frame, forward);
    wire_put_str(&frame, origin);
    wire_frame_end(&frame, begin);
    int r = packet_send(s->agent, &frame, (int[3]){pipes[0][0], pipes[1][1], pipes[2][1]}, 3);
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    s->in = pipes[0][1];
    s->out[0] = pipes[1][0];
    s->out[1] = pipes[2][0];
    (void)io_set_nonblock(s->in);
    return r;
}

static void give_input(struct serving *s)
{
    while (s->in >= 0 && s->input.len > 0) {
        ssize_t n = write(s->in, s->input.buf, s->input.len);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            s->input_ends = true;
        strbuf_consume(&s->input, n < 0 ? s->input.len : (size_t)n);
    }
    if (s->in >= 0 && s->input_ends)
        close(TAKE_FD(s->in));
}

static int take_request(struct serving *s, enum wire_type type, struct wire_reader *body)
{
    const char *data;
    size_t n;

    if (type == WIRE_AGENT_RUN && s->in < 0 && s->out[0] < 0)
        return begin_command(s, body);
    if (type != WIRE_PEER_DATA || wire_get_u32(body) != 0)
        return -EPROTO;
    data = wire_get_bytes(body, &n);
    s->input_ends |= n == 0;
    strbuf_add(&s->input, data, n);
    give_input(s);
    return 0;
}

/* What the supervisor says. 0, or 1 when the command has ended. */
static int take_news(struct serving *s)
{
    char buf[64];
    struct packet packet;
    uint32_t status;
    size_t frame;

    if (packet_receive(s->agent, buf, sizeof(buf), &packet) < 0)
        return -ECONNRESET;
    packet_close(&packet);
    if (packet.type == WIRE_AGENT_NO_HOST) {
        wire_frame_end(&s->peer.out, wire_frame_begin(&s->peer.out, WIRE_AGENT_NO_HOST));
        return 1;
    }
    if (packet.type != WIRE_AGENT_EXITED)
        return 0;
    status = wire_get_u32(&packet.body);
    for (int i = 0; i < 2; i++)
        while (s->out[i] >= 0) { /* what is there; its children may keep it open */
            struct pollfd p = {.fd = s->out[i], .events = POLLIN};
            if (poll(&p, 1, 0) <= 0)
                break;
            s->out[i] = take_stream(&s->peer, s->out[i], (uint32_t)i + 1);
        }
    frame = wire_frame_begin(&s->peer.out, WIRE_AGENT_EXITED);
    wire_put_u32(&s->peer.out, status);
    wire_frame_end(&s->peer.out, frame);
    return 1;
}

static int serve(struct serving *s)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    struct peer *p = &s->peer;
    int r = 0;

    while (r == 0 || p->out.len > 0) {
        bool room = p->out.len < PENDING, idle = r == 0;
        struct pollfd fds[5] = {
            {.fd = p->sock,
             .events = (s->input.len < PENDING && idle ? POLLIN : 0) | (p->out.len ? POLLOUT : 0)},
            {.fd = idle ? s->agent : -1, .events = POLLIN},
            {.fd = room && idle ? s->out[0] : -1, .events = POLLIN},
            {.fd = room && idle ? s->out[1] : -1, .events = POLLIN},
            {.fd = s->input.len ? s->in : -1, .events = POLLOUT}};
        enum wire_type type;
        struct wire_reader body;
        int n;

        if (poll(fds, 5, -1) < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < 2; i++)
            if (fds[2 + i].revents)
                s->out[i] = take_stream(p, s->out[i], (uint32_t)i + 1);
        if (fds[4].revents)
            give_input(s);
        if (fds[1].revents)
            r = take_news(s);
        bool gone = !flush(p) || ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) && !fill(p));
        while (r == 0 && (n = next(p, &frame, &type, &body)) != 0)
            r = n < 0 ? n : take_request(s, type, &body);
        if (gone || r < 0)
            return r < 0 ? r : -ECONNRESET;
    }
    return 0;
}

static void serving_release(struct serving *s)
{
    strbuf_release(&s->peer.in);
    strbuf_release(&s->peer.out);
    strbuf_release(&s->input);
}

bool peer_greet(int sock, const unsigned char key[PEER_KEY_BYTES])
{
    int one = 1;

    (void)signal(SIGPIPE, SIG_IGN);
    set_patience(sock, PATIENCE_S);
    (void)setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    return greet_answer(sock, key);
}

int peer_serve(int sock, int agent)
{
    struct serving s = {.peer = {.sock = sock, .in = STRBUF_INIT, .out = STRBUF_INIT},
                        .agent = agent,
                        .in = -1,
                        .out = {-1, -1},
                        .input = STRBUF_INIT};
    int r = serve(&s);

    serving_release(&s);
    return r;
}

/* `muster-shim peer RUN_DIR`, with the connection as its stdin. */
int peer_main(int argc, char **argv)
{
    unsigned char key[KEY_BYTES];
    int agent;

    if (argc != 2 || setenv("MUSTER_RUN_DIR", argv[1], 1) < 0 || !read_key(argv[1], key) ||
        !peer_greet(STDIN_FILENO, key))
        return 1;
    agent = packet_connect_run();
    return agent < 0 || peer_serve(STDIN_FILENO, agent) < 0;
}

/* --- for somebody outside the job ------------------------------------------------------------- */

/* A process for each direction: neither may keep the other waiting. */
static pid_t carry(int from, int to, const int others[2])
{
    static char piece[PIECE];
    ssize_t n;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < 2; i++)
        (void)close(others[i]);
    while ((n = read(from, piece, sizeof(piece))) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0 && io_write_all(to, piece, (size_t)n) < 0)
            break;
    }
    (void)shutdown(to, SHUT_WR); /* if it is the connection, its end is seen */
    _exit(0);
}

/* `muster-shim exec RUN_DIR`: the same as peer_main() for whoever may exec in the container, who
 * needs no key. Its streams may be pipes, which serve() cannot use. */
int exec_main(int argc, char **argv)
{
    struct serving s = {.peer = {.in = STRBUF_INIT, .out = STRBUF_INIT},
                        .in = -1,
                        .out = {-1, -1},
                        .input = STRBUF_INIT};
    int sv[2];

    (void)signal(SIGPIPE, SIG_IGN);
    if (argc != 2 || setenv("MUSTER_RUN_DIR", argv[1], 1) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
        return 1;
    s.agent = packet_connect_run();
    if (s.agent < 0)
        return 1;
    int others[2] = {sv[0], s.agent};
    pid_t in = carry(STDIN_FILENO, sv[1], others), out = carry(sv[1], STDOUT_FILENO, others);
    (void)close(sv[1]);
    s.peer.sock = sv[0];
    int r = in < 0 || out < 0 ? -1 : serve(&s);
    (void)close(sv[0]);
    (void)close(s.agent); /* a command that runs is killed now */
    if (in > 0)
        (void)kill(in, SIGKILL);
    if (out > 0)
        (void)waitpid(out, NULL, 0); /* the rest is on its way */
    serving_release(&s);
    return r < 0;
}

/* --- listening -------------------------------------------------------------------------------- */

struct peer_args {
    int fd;
    char *const *argv;
};

static int peer_child(void *arg)
{
    const struct peer_args *a = arg;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(a->fd, STDIN_FILENO) == STDIN_FILENO && close_range(WIRE_FD, ~0U, 0) == 0)
        (void)execve("/proc/self/exe", a->argv, environ);
    _exit(126);
}

/* CLONE_VFORK stands still until the child has its own program, and before that the child closes
 * its copies of our connections: epoll would go on reporting one that we close while another
 * process has it open. Closing them by exec would be too late: we go on a moment before. */
static void peer_comes(struct shim *s, struct watch *w)
{
    static char stack[16 * 1024] __attribute__((aligned(16)));
    auto_close int fd = accept4(s->pod->peers_fd, NULL, NULL, SOCK_CLOEXEC);
    char *argv[] = {(char[]){"muster-shim"}, (char[]){"peer"}, s->run_dir, NULL};
    struct peer_args args = {.fd = fd, .argv = argv};

    (void)w;
    if (fd >= 0)
        (void)clone(peer_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &args);
}

int peer_socket(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PEER_PORT)};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(PEER_PORT)};
    int one = 1, off = 0;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool v6 = fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
              setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
              bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;
    if (!v6) {
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    }
    if (fd < 0)
        return -errno;
    if ((!v6 && bind(fd, (struct sockaddr *)&any4, sizeof(any4)) < 0) ||
        listen(fd, SOMAXCONN) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

void peer_listen(struct shim *s)
{
    static struct watch watch = {.ready = peer_comes};
    int fd, r;

    if (s->pod->peers_fd > 0)
        return;
    fd = peer_socket();
    r = fd < 0 ? fd : shim_watch(s, fd, &watch);
    if (r < 0) {
        shim_note(s, "cannot listen on port %d for the other replicas: %s", PEER_PORT,
                  strerror(-r));
        if (fd >= 0)
            close(fd);
        return;
    }
    s->pod->peers_fd = fd;
}
