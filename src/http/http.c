/* http.c - see http.h.
 *
 * A connection is answered one request at a time: what it holds is the requests that have come and
 * one answer. Its timer runs from the first byte of a request until the last one of the answer, and
 * between requests; not while the answer is deferred, and not in a stream.
 */
#include "http/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"

union listener {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct http_server {
    union listener at;
    struct http_service service;
    struct tls_config *tls; /* NULL: plain */
    struct http_exchange *connections;
    unsigned n, most;
    size_t buffered; /* of all connections */
    int port;        /* 0: a unix socket */
    char buffer[64 * 1024];
};

enum doing { READING, ANSWERING, DEFERRED, STREAMING };

struct http_exchange {
    union listener to;
    uv_timer_t timer;
    struct http_server *server; /* NULL: it is being closed */
    struct http_exchange *prev, *next;
    struct tls_session *tls; /* NULL: plain */
    uid_t peer;
    struct strbuf in;
    struct http_request rq; /* from its head on */
    size_t head;            /* its length; 0: it is not there yet */
    size_t body_limit;      /* of this request */
    enum doing doing;
    bool ends;               /* after the answer */
    bool is_head, keep;      /* of the request that is answered */
    void (*gone)(void *arg); /* DEFERRED, STREAMING */
    void *arg;
    unsigned handles; /* that are not closed yet */
};

struct out { /* bytes that are being sent */
    uv_write_t write;
    struct strbuf data;
    bool answer; /* the end of one */
};

void http_answer_release(struct http_answer *a)
{
    strbuf_release(&a->body);
    strbuf_release(&a->headers);
}

/* --- the end of a connection ------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct http_exchange *c = handle->data;

    if (--c->handles > 0)
        return;
    tls_session_free(c->tls);
    strbuf_release(&c->in);
    free(c);
}

static void close_connection(struct http_exchange *c)
{
    struct http_server *s = c->server;
    void (*gone)(void *arg) = c->gone;

    if (!s)
        return;
    c->server = NULL;
    c->gone = NULL;
    if (c->prev)
        c->prev->next = c->next;
    else
        s->connections = c->next;
    if (c->next)
        c->next->prev = c->prev;
    s->n--;
    s->buffered -= c->in.len;
    c->handles = 2;
    uv_close(&c->to.handle, on_closed);
    uv_close((uv_handle_t *)&c->timer, on_closed);
    if (gone)
        gone(c->arg);
}

static void on_time(uv_timer_t *timer)
{
    close_connection(timer->data);
}

static void wait_for(struct http_exchange *c, int seconds)
{
    (void)uv_timer_start(&c->timer, on_time, (uint64_t)seconds * 1000, 0);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void serve(struct http_exchange *c);

static void on_written(uv_write_t *write, int status)
{
    struct http_exchange *c = write->handle->data;
    struct out *out = write->data;
    bool answered = out->answer;

    strbuf_release(&out->data);
    free(out);
    if (!c->server)
        return;
    if (status < 0 || (answered && c->ends)) {
        close_connection(c);
    } else if (answered) {
        c->doing = READING;
        wait_for(c, c->in.len > 0 ? LIMIT_HTTP_REQUEST_S : LIMIT_HTTP_IDLE_S);
        serve(c); /* the next one may be there already */
    }
}

/* Takes the bytes. */
static void send_bytes(struct http_exchange *c, struct strbuf *data, bool is_answer)
{
    struct out *out = xcalloc(1, sizeof(*out));
    uv_buf_t buf = uv_buf_init(data->buf, (unsigned)data->len);

    out->data = *data;
    out->answer = is_answer;
    out->write.data = out;
    *data = (struct strbuf)STRBUF_INIT;
    if (uv_write(&out->write, &c->to.stream, &buf, 1, on_written) < 0) {
        strbuf_release(&out->data);
        free(out);
        close_connection(c);
    }
}

/* Takes the bytes, which TLS makes others of. */
static void send_plain(struct http_exchange *c, struct strbuf *text, bool is_answer)
{
    struct strbuf wire = STRBUF_INIT;

    if (!c->tls) {
        send_bytes(c, text, is_answer);
        return;
    }
    if (tls_give(c->tls, text->buf, text->len, &wire))
        send_bytes(c, &wire, is_answer);
    else
        close_connection(c);
    strbuf_release(text);
    strbuf_release(&wire);
}

static bool has_body(int status)
{
    return status != 204 && status != 304;
}

static void add_head(struct strbuf *text, const struct http_answer *a, bool keep, bool endless)
{
    strbuf_addf(text, "HTTP/1.1 %d %s\r\n", a->status, http_reason(a->status));
    if (has_body(a->status))
        strbuf_addf(text, "Content-Type: %s\r\n", a->type);
    if (has_body(a->status) && !endless)
        strbuf_addf(text, "Content-Length: %zu\r\n", a->body.len);
    strbuf_addf(text, "%s%s%s\r\n", a->cacheable ? "" : "Cache-Control: no-store\r\n",
                a->headers.buf, keep ? "" : "Connection: close\r\n");
}

static void answer(struct http_exchange *c, const struct http_answer *a, bool head, bool keep)
{
    struct strbuf text = STRBUF_INIT;

    add_head(&text, a, keep, false);
    if (!head && has_body(a->status))
        strbuf_add(&text, a->body.buf, a->body.len);
    c->ends = !keep;
    c->doing = ANSWERING;
    wait_for(c, LIMIT_HTTP_ANSWER_S);
    send_plain(c, &text, true);
}

static void refuse(struct http_exchange *c, int status, size_t body_limit)
{
    struct http_answer a = HTTP_ANSWER_INIT;

    a.status = status;
    if (c->server->service.refuse)
        c->server->service.refuse(c->server->service.ctx, status,
                                  status == 413   ? body_limit
                                  : status == 431 ? LIMIT_HTTP_HEAD_BYTES
                                                  : 0,
                                  &a);
    else
        strbuf_addf(&a.body, "%s\n", http_reason(status));
    answer(c, &a, false, false);
    http_answer_release(&a);
}

/* --- requests --------------------------------------------------------------------------------- */

static void consume(struct http_exchange *c, size_t n)
{
    strbuf_consume(&c->in, n);
    c->server->buffered -= n;
    c->head = 0;
}

/* With the head of a request: may it go on? */
static bool admit(struct http_exchange *c)
{
    const struct http_service *service = &c->server->service;
    struct http_answer a = HTTP_ANSWER_INIT;
    ssize_t most = (ssize_t)service->body_limit;

    c->is_head = strcmp(c->rq.method, "HEAD") == 0;
    c->keep = c->rq.keep;
    if (service->admit)
        most = service->admit(service->ctx, c, &c->rq, &a);
    if (most >= 0)
        c->body_limit = (size_t)most;
    if (most < 0)
        answer(c, &a, c->is_head, false);
    else if (c->rq.body_len > (size_t)most)
        refuse(c, 413, (size_t)most);
    http_answer_release(&a);
    return c->server && c->doing == READING;
}

static bool read_head(struct http_exchange *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    long used = http_parse_head(c->in.buf, c->in.len, c->server->service.body_limit, &c->rq);
    struct strbuf text = STRBUF_INIT;

    if (used < 0)
        refuse(c, (int)-used, c->server->service.body_limit);
    if (used <= 0)
        return false;
    c->head = (size_t)used;
    if (!admit(c))
        return false;
    if (c->rq.expects && c->in.len < c->head + c->rq.body_len) {
        strbuf_addstr(&text, go_on);
        send_plain(c, &text, false);
    }
    return c->server != NULL;
}

/* The first request of what has arrived, if it is complete. */
static void serve(struct http_exchange *c)
{
    struct http_answer a = HTTP_ANSWER_INIT;
    size_t whole;

    if (c->doing != READING || c->in.len == 0 || (c->head == 0 && !read_head(c)))
        return;
    whole = c->head + c->rq.body_len;
    if (c->in.len < whole)
        return;
    c->rq.body = c->in.buf + c->head;
    (void)uv_timer_stop(&c->timer);
    c->server->service.handle(c->server->service.ctx, c, &c->rq, &a);
    if (c->server)
        consume(c, whole);
    if (c->server && c->doing == READING)
        answer(c, &a, c->is_head, c->keep);
    http_answer_release(&a);
}

uid_t http_peer(const struct http_exchange *x)
{
    return x->peer;
}

void http_defer(struct http_exchange *c, void (*gone)(void *arg), void *arg)
{
    c->doing = DEFERRED;
    c->gone = gone;
    c->arg = arg;
}

void http_finish(struct http_exchange *c, const struct http_answer *a)
{
    c->gone = NULL;
    if (c->server)
        answer(c, a, c->is_head, c->keep);
}

/* --- streams ---------------------------------------------------------------------------------- */

void http_stream_begin(struct http_exchange *c, const struct http_answer *head)
{
    struct strbuf text = STRBUF_INIT;

    c->doing = STREAMING;
    add_head(&text, head, false, true);
    send_plain(c, &text, false);
}

size_t http_stream_waiting(const struct http_exchange *c)
{
    return uv_stream_get_write_queue_size(&c->to.stream);
}

bool http_stream_send(struct http_exchange *c, const char *data, size_t n)
{
    struct strbuf text = STRBUF_INIT;
    void (*gone)(void *arg) = c->gone;

    c->gone = NULL;
    if (!c->server)
        return false;
    strbuf_add(&text, data, n);
    send_plain(c, &text, false);
    if (c->server && http_stream_waiting(c) > LIMIT_HTTP_STREAM_BYTES)
        close_connection(c);
    if (!c->server)
        return false;
    c->gone = gone;
    return true;
}

void http_stream_end(struct http_exchange *c)
{
    struct strbuf text = STRBUF_INIT;

    c->gone = NULL;
    if (!c->server)
        return;
    c->ends = true;
    wait_for(c, LIMIT_HTTP_ANSWER_S);
    strbuf_addch(&text, '\n'); /* the write that ends it must have some bytes */
    send_plain(c, &text, true);
}

/* --- connections ------------------------------------------------------------------------------ */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct http_exchange *c = handle->data;

    (void)suggested;
    if (c->server)
        *buf = uv_buf_init(c->server->buffer, sizeof(c->server->buffer));
    else
        *buf = uv_buf_init(NULL, 0);
}

/* What has come, as the other side meant it. False: the connection ends. */
static bool take(struct http_exchange *c, const char *data, size_t n)
{
    enum { WIRE_MOST = 1 << 20 };
    struct strbuf wire = STRBUF_INIT;
    size_t before = c->in.len;
    bool open = true;

    if (c->tls)
        open = tls_take(c->tls, data, n, &c->in, &wire);
    else
        strbuf_add(&c->in, data, n);
    c->server->buffered += c->in.len - before;
    if (wire.len > 0)
        send_bytes(c, &wire, false);
    strbuf_release(&wire);
    return open && c->server && c->server->buffered <= LIMIT_HTTP_BUFFER_BYTES &&
           c->in.len <= LIMIT_HTTP_HEAD_BYTES + c->body_limit + sizeof(c->server->buffer) &&
           (c->doing == STREAMING || http_stream_waiting(c) <= WIRE_MOST || c->doing == ANSWERING);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_exchange *c = stream->data;
    bool idle = c->in.len == 0 && c->doing == READING;

    if (!c->server)
        return;
    if (n < 0 || !take(c, buf->base, (size_t)n)) {
        close_connection(c); /* also of a client that sends more than it is answered for */
        return;
    }
    if (idle && c->in.len > 0)
        wait_for(c, LIMIT_HTTP_REQUEST_S);
    serve(c);
}

/* One that waits for its next request, the longest. */
static bool make_room(struct http_server *s)
{
    struct http_exchange *idle = NULL;

    for (struct http_exchange *c = s->connections; c; c = c->next)
        if (c->doing == READING && c->in.len == 0)
            idle = c; /* new ones come first */
    if (idle)
        close_connection(idle);
    return idle != NULL;
}

static uid_t peer_of(const struct http_exchange *c)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);
    uv_os_fd_t fd;

    if (uv_fileno(&c->to.handle, &fd) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return (uid_t)-1;
    return peer.uid;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct http_server *s = stream->data;
    struct http_exchange *c;

    if (status < 0)
        return;
    c = xcalloc(1, sizeof(*c));
    c->in = (struct strbuf)STRBUF_INIT;
    c->tls = s->tls ? tls_session_new(s->tls) : NULL;
    if (s->port)
        (void)uv_tcp_init(stream->loop, &c->to.tcp);
    else
        (void)uv_pipe_init(stream->loop, &c->to.pipe, 0);
    (void)uv_timer_init(stream->loop, &c->timer);
    c->to.handle.data = c->timer.data = c;
    bool room = s->n < s->most || make_room(s);
    c->server = s;
    c->body_limit = s->service.admit ? 0 : s->service.body_limit;
    c->next = s->connections;
    if (c->next)
        c->next->prev = c;
    s->connections = c;
    s->n++;
    if (uv_accept(stream, &c->to.stream) < 0 || !room ||
        uv_read_start(&c->to.stream, give_buffer, on_read) < 0) {
        close_connection(c);
        return;
    }
    c->peer = s->port ? (uid_t)-1 : peer_of(c);
    wait_for(c, LIMIT_HTTP_REQUEST_S);
}

/* --- the server ------------------------------------------------------------------------------- */

static int parse_address(const char *text, struct sockaddr_storage *ret, bool *ret_all,
                         struct err *e)
{
    const char *colon = strrchr(text, ':'), *port_text = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    auto_free char *host = NULL;
    uint32_t port;

    if (num_u32(port_text, &port) < 0 || port > 65535)
        return err_set(e, -EINVAL, "must be an address such as :8080 or 127.0.0.1:8080, not \"%s\"",
                       text);
    *ret_all = n == 0;
    if (n > 1 && text[0] == '[' && text[n - 1] == ']')
        host = xstrndup(text + 1, n - 2);
    else
        host = n ? xstrndup(text, n) : xstrdup("::");
    if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)ret) == 0 ||
        uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret) == 0)
        return 0;
    return err_set(e, -EINVAL, "\"%s\" is not an IP address", host);
}

static void free_server(uv_handle_t *handle)
{
    free(handle->data);
}

static int listen_on(struct http_server *s, const struct sockaddr_storage *at)
{
    enum { BACKLOG = 64 };
    int r = uv_tcp_bind(&s->at.tcp, (const struct sockaddr *)at, 0);

    if (r == 0)
        r = uv_listen(&s->at.stream, BACKLOG, on_connection);
    return r;
}

static struct http_server *new_server(const struct http_service *service)
{
    struct http_server *s = xcalloc(1, sizeof(*s));

    s->service = *service;
    s->most = service->connections ? service->connections : LIMIT_HTTP_CONNECTIONS;
    return s;
}

int http_server_unix(uv_loop_t *loop, int fd, const struct http_service *service,
                     struct http_server **ret, struct err *e)
{
    struct http_server *s = new_server(service);

    (void)uv_pipe_init(loop, &s->at.pipe, 0);
    s->at.handle.data = s;
    int r = uv_pipe_open(&s->at.pipe, fd);
    if (r < 0)
        (void)close(fd);
    if (r == 0)
        r = uv_listen(&s->at.stream, SOMAXCONN, on_connection);
    if (r < 0) {
        uv_close(&s->at.handle, free_server);
        return err_set(e, r, "cannot listen on a unix socket: %s", uv_strerror(r));
    }
    *ret = s;
    return 0;
}

int http_server_new(uv_loop_t *loop, const char *address, const struct http_service *service,
                    struct http_server **ret, struct err *e)
{
    struct http_server *s;
    struct sockaddr_storage at = {0};
    int n = sizeof(at), r;
    bool all = false;

    r = parse_address(address, &at, &all, e);
    if (r < 0)
        return r;
    s = new_server(service);
    s->port = 1; /* until it is known */
    (void)uv_tcp_init(loop, &s->at.tcp);
    s->at.handle.data = s;
    r = listen_on(s, &at);
    if (all && (r == UV_EAFNOSUPPORT || r == UV_EADDRNOTAVAIL)) { /* a machine without IPv6 */
        (void)uv_ip4_addr("0.0.0.0", ntohs(((struct sockaddr_in6 *)&at)->sin6_port),
                          (struct sockaddr_in *)&at);
        r = listen_on(s, &at);
    }
    if (r == 0)
        r = uv_tcp_getsockname(&s->at.tcp, (struct sockaddr *)&at, &n);
    if (r < 0) {
        uv_close(&s->at.handle, free_server);
        return err_set(e, r, "cannot listen on %s: %s", address, uv_strerror(r));
    }
    /* the port is in the same place in both families */
    s->port = ntohs(((struct sockaddr_in *)&at)->sin_port);
    *ret = s;
    return 0;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

void http_server_set_tls(struct http_server *s, struct tls_config *tls)
{
    tls_config_free(s->tls);
    s->tls = tls;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    tls_config_free(s->tls);
    while (s->connections)
        close_connection(s->connections);
    uv_close(&s->at.handle, free_server);
}
