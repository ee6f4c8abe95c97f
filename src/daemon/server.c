/* server.c - the daemon's socket: connections in the loop, each with one request and one reply.
 *
 * Nothing here waits: a client that does not read keeps its own connection busy, nobody else. A
 * reply that depends on the database is sent by server_committed().
 *
 * Not here: what requests mean (requests.c), the sockets of running jobs (foreground/control.c).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/protocol.h"
#include "daemon/parts.h"
#include "doc/json.h"

struct peer {
    struct server *server;
    struct peer *next, *prev;
    int fd;
    uv_poll_t poll;
    struct strbuf in, out;
    bool answered;
    bool deferred;     /* the reply comes with a commit, or with the end of a job */
    int64_t until_end; /* number of that job; 0: with the commit */
    struct strvec ids; /* of the jobs that were submitted or changed */
    bool changed;      /* that they were: a commit that fails is tried again */
};

struct server {
    struct daemon *d;
    uv_poll_t poll;
    int fd, dir_fd, spare_fd;
    struct peer *peers;
    size_t n_peers, buffered; /* bytes of all requests that are not complete */
};

/* --- connections ------------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void forget_input(struct peer *p)
{
    p->server->buffered -= p->in.len;
    strbuf_release(&p->in);
}

static void peer_close(struct peer *p)
{
    struct server *sv = p->server;

    if (p->prev)
        p->prev->next = p->next;
    else
        sv->peers = p->next;
    if (p->next)
        p->next->prev = p->prev;
    sv->n_peers--;
    forget_input(p);
    uv_close((uv_handle_t *)&p->poll, on_closed);
    (void)close(p->fd);
    strbuf_release(&p->out);
    strvec_release(&p->ids);
}

static void on_peer(uv_poll_t *poll, int status, int events);

/* Sends what can be sent. False: the connection is of no more use. */
static bool flush(struct peer *p)
{
    while (p->out.len > 0) {
        ssize_t n = send(p->fd, p->out.buf, p->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return false;
        strbuf_consume(&p->out, (size_t)n);
    }
    (void)uv_poll_start(&p->poll, p->out.len > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                        on_peer);
    return p->out.len > 0 || !p->answered;
}

void peer_answer(struct peer *p, const struct strbuf *head, const struct strbuf *body)
{
    uint32_t sizes[2] = {(uint32_t)head->len, body ? (uint32_t)body->len : 0};

    strbuf_add(&p->out, sizes, sizeof(sizes));
    strbuf_add(&p->out, head->buf, head->len);
    if (body)
        strbuf_add(&p->out, body->buf, body->len);
    p->answered = true;
    p->deferred = false;
}

void peer_refuse(struct peer *p, const char *fmt, ...)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    protocol_refuse(&head, fmt, ap);
    va_end(ap);
    peer_answer(p, &head, NULL);
}

void peer_defer(struct peer *p, struct served *s, bool until_end)
{
    p->deferred = true;
    if (until_end)
        p->until_end = s->row.number;
    else
        strvec_push(&p->ids, s->row.id);
}

void peer_defer_change(struct peer *p, const struct served *s)
{
    p->deferred = p->changed = true;
    strvec_push(&p->ids, s->row.id);
}

/* --- what was committed ----------------------------------------------------------------------- */

static bool take_new(struct daemon *d, const struct err *e)
{
    bool any = false;

    for (size_t i = d->n; i-- > 0 && d->jobs[i]->is_new;) { /* they are the last ones */
        struct served *s = d->jobs[i];

        any = true;
        s->is_new = false;
        if (e) {
            store_forget(d->store, s->row.number);
            daemon_drop(d, s);
        }
    }
    d->queue_changed |= any && !e;
    return any;
}

static void reply(struct peer *p, const struct err *e)
{
    const struct served *s = p->until_end ? daemon_number(p->server->d, p->until_end) : NULL;

    if (p->until_end && !s)
        peer_refuse(p, "the job was deleted");
    else if (s && s->row.state == STORED_ENDED && !e)
        request_answer_job(p, s);
    else if (p->ids.n > 0 && e && !p->changed)
        peer_refuse(p, "%s; nothing was submitted", e->text);
    else if (p->ids.n > 0 && !e)
        request_answer_ids(p, &p->ids);
    else
        return;
    if (!flush(p))
        peer_close(p);
}

void server_committed(struct server *sv, const struct err *e)
{
    struct peer *next;

    if (!sv)
        return;
    (void)take_new(sv->d, e);
    for (struct peer *p = sv->peers; p; p = next) {
        next = p->next;
        if (p->deferred)
            reply(p, e);
    }
}

/* --- receiving -------------------------------------------------------------------------------- */

/* False at the end of the connection. */
static bool receive(struct peer *p)
{
    char buf[16 * 1024];
    ssize_t n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n > 0 && !p->answered && !p->deferred) {
        strbuf_add(&p->in, buf, (size_t)n);
        p->server->buffered += (size_t)n;
    }
    return n > 0;
}

static void take_request(struct peer *p)
{
    uint32_t sizes[2];

    if (p->answered || p->deferred || p->in.len < sizeof(sizes))
        return;
    memcpy(sizes, p->in.buf, sizeof(sizes));
    if (sizes[0] > LIMIT_SUBMIT_BYTES || sizes[1] != 0)
        peer_refuse(p, "a request must have at most %d bytes", LIMIT_SUBMIT_BYTES);
    else if (p->server->buffered > LIMIT_DAEMON_BUFFER)
        peer_refuse(p, "the daemon is busy: requests of more than %d MiB are incomplete",
                    LIMIT_DAEMON_BUFFER >> 20);
    else if (p->in.len >= sizeof(sizes) + sizes[0])
        request_serve(p->server->d, p, p->in.buf + sizeof(sizes), sizes[0]);
    if (p->answered || p->deferred)
        forget_input(p);
}

static void on_peer(uv_poll_t *poll, int status, int events)
{
    struct peer *p = poll->data;
    bool open = status == 0;

    if (open && (events & UV_READABLE))
        open = receive(p);
    if (open)
        take_request(p);
    if (!open || !flush(p))
        peer_close(p);
}

static void check_peer(struct peer *p)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    if (getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0))
        peer_refuse(p, "only uid %u and root may use this daemon", geteuid());
}

/* Makes room: the one that has been there longest without asking for anything. */
static void drop_idle(struct server *sv)
{
    struct peer *oldest = NULL;

    for (struct peer *p = sv->peers; p; p = p->next)
        if (!p->deferred)
            oldest = p;
    if (oldest)
        peer_close(oldest);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *sv = poll->data;
    auto_close int fd = io_accept(sv->fd, &sv->spare_fd);

    (void)status;
    (void)events;
    if (sv->n_peers >= LIMIT_DAEMON_CLIENTS)
        drop_idle(sv);
    if (fd < 0 || sv->n_peers >= LIMIT_DAEMON_CLIENTS)
        return;
    struct peer *p = xcalloc(1, sizeof(*p));
    *p = (struct peer){.server = sv,
                       .next = sv->peers,
                       .fd = TAKE_FD(fd),
                       .in = STRBUF_INIT,
                       .out = STRBUF_INIT,
                       .ids = STRVEC_INIT};
    if (p->next)
        p->next->prev = p;
    sv->peers = p;
    sv->n_peers++;
    (void)uv_poll_init(poll->loop, &p->poll, p->fd);
    p->poll.data = p;
    check_peer(p);
    if (!flush(p))
        peer_close(p);
}

/* --- beginning and end ------------------------------------------------------------------------ */

int server_open(struct daemon *d, int dir_fd, struct server **ret, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)unlinkat(dir_fd, CONTROL_SOCKET, 0); /* of one that was killed: we hold the lock */
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   dir_fd);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        fchmodat(dir_fd, CONTROL_SOCKET, 0600, 0) < 0 || listen(fd, SOMAXCONN) < 0)
        return err_sys(e, -errno, "cannot create the daemon's " CONTROL_SOCKET);
    struct server *sv = xcalloc(1, sizeof(*sv));
    *sv = (struct server){.d = d, .fd = TAKE_FD(fd), .dir_fd = dir_fd, .spare_fd = io_spare()};
    (void)uv_poll_init(&d->loop, &sv->poll, sv->fd);
    sv->poll.data = sv;
    (void)uv_poll_start(&sv->poll, UV_READABLE, on_connection);
    *ret = sv;
    return 0;
}

void server_free(struct server *sv)
{
    if (!sv)
        return;
    (void)unlinkat(sv->dir_fd, CONTROL_SOCKET, 0);
    while (sv->peers)
        peer_close(sv->peers);
    uv_close((uv_handle_t *)&sv->poll, on_closed);
    (void)close(sv->fd);
    if (sv->spare_fd >= 0)
        (void)close(sv->spare_fd);
}
