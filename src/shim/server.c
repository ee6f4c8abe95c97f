/* server.c - see server.h: connections and packets. */
#include "shim/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "shim/pod.h"

struct server {
    struct watch watch; /* of the whole set */
    int epoll_fd, listen_fd;
    int spare_fd; /* see io_accept() */
    bool paused;
    struct client *clients;
    size_t n_clients;
};

/* --- clients ---------------------------------------------------------------------------------- */

static void client_free(struct shim *s, struct client *c)
{
    struct server *sv = s->server;

    if (c->command)
        command_abandoned(s, c);
    if (c->rank)
        rank_lost(s, c);
    if (c->mpirun)
        mpirun_lost(s, c);
    if (c->prev)
        c->prev->next = c->next;
    else
        sv->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    sv->n_clients--;
    close(c->fd);
    free(c);
}

static bool is_ours(int fd, pid_t *ret_pid)
{
    uid_t uid;

    *ret_pid = packet_peer(fd, &uid);
    return *ret_pid >= 0 && uid == geteuid();
}

/* Where descriptors have run out a log makes room; if none can, the connection is dropped. */
static int next_connection(struct shim *s)
{
    struct server *sv = s->server;
    int fd;

    do
        fd = accept4(sv->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && errno == EMFILE && output_spare_fd(s));
    return fd < 0 && (errno == EMFILE || errno == ENFILE) ? io_accept(sv->listen_fd, &sv->spare_fd)
                                                          : fd;
}

static void accept_one(struct shim *s)
{
    struct server *sv = s->server;
    struct epoll_event ev = {.events = EPOLLIN};
    auto_close int fd = next_connection(s);
    struct client *c;
    pid_t pid;

    if (fd < 0 || sv->n_clients >= LIMIT_AGENT_CLIENTS || !is_ours(fd, &pid))
        return;
    c = xcalloc(1, sizeof(*c));
    ev.data.ptr = c;
    if (epoll_ctl(sv->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        free(c);
        return;
    }
    c->fd = TAKE_FD(fd);
    c->pid = pid;
    c->next = sv->clients;
    if (c->next)
        c->next->prev = c;
    sv->clients = c;
    sv->n_clients++;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* An agent or a rank wrapper wants to know where its mpirun writes; see forward.h. */
static int answer_output(const struct shim *s, const struct client *c, struct packet *p)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_OUTPUT_IS);
    ino_t inode = (ino_t)wire_get_i64(&p->body);

    if (!wire_done(&p->body))
        return -EPROTO;
    wire_put_u32(&frame, output_reads(s, inode) && !(s->pod && s->pod->unread));
    wire_frame_end(&frame, begin);
    return packet_send(c->fd, &frame, NULL, 0);
}

static int dispatch(struct shim *s, struct client *c, struct packet *p)
{
    switch (p->type) {
    case WIRE_AGENT_RUN:
        return command_run(s, c, p);
    case WIRE_RANK_HELLO:
        return rank_hello(s, c, p);
    case WIRE_RANK_RUNS:
        return rank_runs(s, c, p);
    case WIRE_RANK_UNLOGGED:
        return rank_unlogged(s, c, p);
    case WIRE_RANK_EXIT:
        return rank_exit(s, c, p);
    case WIRE_RANK_TOLD:
        return rank_told(c, p);
    case WIRE_MPIRUN_HELLO:
        return mpirun_hello(c, p);
    case WIRE_MPIRUN_END:
        return mpirun_end(s, c, p);
    case WIRE_MPIRUN_SIGNAL:
        return mpirun_signal(s, c, p);
    case WIRE_OUTPUT_ASK:
        return answer_output(s, c, p);
    default:
        return -EPROTO;
    }
}

/* One packet. 0, -EAGAIN if there is none, else the client is to be freed. */
static int receive(struct shim *s, struct client *c)
{
    static char bytes[LIMIT_PACKET_BYTES];
    struct packet p;
    int r = packet_receive(c->fd, bytes, sizeof(bytes), &p);

    if (r < 0)
        return r;
    r = dispatch(s, c, &p);
    packet_close(&p);
    return r;
}

static bool serve_one(struct shim *s)
{
    struct epoll_event ev;
    struct client *c;
    int r;

    if (epoll_wait(s->server->epoll_fd, &ev, 1, 0) <= 0)
        return false;
    c = ev.data.ptr;
    if (!c) {
        accept_one(s);
        return true;
    }
    r = receive(s, c);
    if (r < 0 && r != -EAGAIN)
        client_free(s, c);
    return true;
}

static void server_ready(struct shim *s, struct watch *w)
{
    (void)w;
    (void)serve_one(s);
}

/* --- the whole -------------------------------------------------------------------------------- */

int server_open(struct shim *s, struct err *e)
{
    struct server *sv = xcalloc(1, sizeof(*sv));
    struct epoll_event ev = {.events = EPOLLIN}; /* no client: the listening socket */

    s->server = sv;
    sv->watch.ready = server_ready;
    sv->spare_fd = io_spare();
    sv->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (sv->epoll_fd < 0)
        return err_sys(e, -errno, "cannot create an epoll set");
    (void)unlinkat(s->scratch_fd, WIRE_AGENT_SOCKET, 0); /* an earlier attempt's */
    sv->listen_fd = packet_listen(s->scratch_fd, WIRE_AGENT_SOCKET);
    if (sv->listen_fd < 0)
        return err_sys(e, sv->listen_fd, "cannot listen on %s/" WIRE_AGENT_SOCKET, s->scratch_dir);
    if (epoll_ctl(sv->epoll_fd, EPOLL_CTL_ADD, sv->listen_fd, &ev) < 0 ||
        shim_watch(s, sv->epoll_fd, &sv->watch) < 0)
        return err_sys(e, -errno, "cannot watch the agents' socket");
    return 0;
}

void server_catch_up(struct shim *s)
{
    if (!s->server || s->server->paused || !s->server->clients)
        return;
    for (int i = 0; i < LIMIT_AGENT_CLIENTS && serve_one(s); i++)
        ;
}

void server_await_ranks(struct shim *s)
{
    ns_t until = clock_mono() + LIMIT_LAST_RANKS_MS * NS_PER_MS;
    struct epoll_event ev;

    while (s->server && !s->server->paused && s->ranks) {
        ns_t left = until - clock_mono();

        if (left <= 0 || epoll_wait(s->server->epoll_fd, &ev, 1, (int)(left / NS_PER_MS) + 1) <= 0)
            return;
        (void)serve_one(s);
    }
}

const struct stand_in *server_stand_in(const struct shim *s, pid_t pid)
{
    for (const struct client *c = pid && s->server ? s->server->clients : NULL; c; c = c->next)
        if (c->mpirun && c->pid == pid)
            return c->mpirun;
    return NULL;
}

void server_pause(struct shim *s, bool pause)
{
    if (!s->server || s->server->paused == pause)
        return;
    s->server->paused = pause;
    (void)shim_pause(s, s->server->epoll_fd, &s->server->watch, pause);
}

void server_close(struct shim *s)
{
    if (!s->server)
        return;
    s->server->paused = false;
    server_catch_up(s);
    while (s->server->clients)
        client_free(s, s->server->clients);
    (void)unlinkat(s->scratch_fd, WIRE_AGENT_SOCKET, 0);
}
