/* http.c - see http.h.
 *
 * A connection is answered one request at a time: what it holds is the requests that have come and
 * one answer. Its timer runs from the first byte of a request until the last one of the answer, and
 * between requests.
 */
#include "operator/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

struct http_server {
    uv_tcp_t tcp;
    struct http_service service;
    struct tls_config *tls; /* NULL: plain */
    struct http_connection *connections;
    unsigned n;
    size_t buffered; /* of all connections */
    int port;
};

struct http_connection {
    uv_tcp_t tcp;
    uv_timer_t timer;
    struct http_server *server; /* NULL: it is being closed */
    struct http_connection *prev, *next;
    struct tls_session *tls; /* NULL: plain */
    struct strbuf in;
    bool writing, ends; /* an answer; ends: after it */
    unsigned handles;   /* that are not closed yet */
    char buffer[16 * 1024];
};

struct out { /* bytes that are being sent */
    uv_write_t write;
    struct strbuf data;
    bool answer; /* the end of one */
};

/* --- the end of a connection ------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct http_connection *c = handle->data;

    if (--c->handles > 0)
        return;
    tls_session_free(c->tls);
    strbuf_release(&c->in);
    free(c);
}

static void close_connection(struct http_connection *c)
{
    struct http_server *s = c->server;

    if (!s)
        return;
    c->server = NULL;
    if (c->prev)
        c->prev->next = c->next;
    else
        s->connections = c->next;
    if (c->next)
        c->next->prev = c->prev;
    s->n--;
    s->buffered -= c->in.len;
    c->handles = 2;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
    uv_close((uv_handle_t *)&c->timer, on_closed);
}

static void on_time(uv_timer_t *timer)
{
    close_connection(timer->data);
}

static void wait_for(struct http_connection *c, int seconds)
{
    (void)uv_timer_start(&c->timer, on_time, (uint64_t)seconds * 1000, 0);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void serve(struct http_connection *c);

static void on_written(uv_write_t *write, int status)
{
    struct http_connection *c = write->handle->data;
    struct out *out = write->data;
    bool answered = out->answer;

    strbuf_release(&out->data);
    free(out);
    if (!c->server)
        return;
    if (status < 0 || (answered && c->ends)) {
        close_connection(c);
    } else if (answered) {
        c->writing = false;
        wait_for(c, c->in.len > 0 ? LIMIT_HTTP_REQUEST_S : LIMIT_HTTP_IDLE_S);
        serve(c); /* the next one may be there already */
    }
}

/* Takes the bytes. */
static void send_bytes(struct http_connection *c, struct strbuf *data, bool is_answer)
{
    struct out *out = xcalloc(1, sizeof(*out));
    uv_buf_t buf = uv_buf_init(data->buf, (unsigned)data->len);

    out->data = *data;
    out->answer = is_answer;
    out->write.data = out;
    *data = (struct strbuf)STRBUF_INIT;
    if (uv_write(&out->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) < 0) {
        strbuf_release(&out->data);
        free(out);
        close_connection(c);
    }
}

static void answer(struct http_connection *c, const struct http_answer *a, bool head, bool keep)
{
    struct strbuf text = STRBUF_INIT, wire = STRBUF_INIT;

    strbuf_addf(&text,
                "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\n%s\r\n",
                a->status, http_reason(a->status), a->type, a->body.len,
                keep ? "" : "Connection: close\r\n");
    if (!head)
        strbuf_add(&text, a->body.buf, a->body.len);
    c->ends = !keep;
    c->writing = true;
    wait_for(c, LIMIT_HTTP_REQUEST_S);
    if (!c->tls) {
        send_bytes(c, &text, true);
        return;
    }
    if (tls_give(c->tls, text.buf, text.len, &wire))
        send_bytes(c, &wire, true);
    else
        close_connection(c);
    strbuf_release(&text);
    strbuf_release(&wire);
}

static void refuse(struct http_connection *c, int status)
{
    struct http_answer a = {status, "text/plain; charset=utf-8", STRBUF_INIT};

    strbuf_addf(&a.body, "%s\n", http_reason(status));
    answer(c, &a, false, false);
    strbuf_release(&a.body);
}

/* The first request of what has arrived, if it is complete. */
static void serve(struct http_connection *c)
{
    struct http_answer a = {200, "text/plain; charset=utf-8", STRBUF_INIT};
    struct http_request rq;
    long used;

    if (c->writing || c->in.len == 0)
        return;
    used = http_parse(c->in.buf, c->in.len, c->server->service.body_limit, &rq);
    if (used < 0) {
        refuse(c, (int)-used);
    } else if (used > 0) {
        c->server->service.handle(c->server->service.ctx, &rq, &a);
        strbuf_consume(&c->in, (size_t)used);
        c->server->buffered -= (size_t)used;
        answer(c, &a, strcmp(rq.method, "HEAD") == 0, rq.keep);
    }
    strbuf_release(&a.body);
}

/* --- connections ------------------------------------------------------------------------------ */

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct http_connection *c = handle->data;

    (void)suggested;
    *buf = uv_buf_init(c->buffer, sizeof(c->buffer));
}

/* What has come, as the other side meant it. False: the connection ends. */
static bool take(struct http_connection *c, const char *data, size_t n)
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
           c->in.len <= LIMIT_HTTP_HEAD_BYTES + c->server->service.body_limit + sizeof(c->buffer) &&
           uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp) <= WIRE_MOST;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_connection *c = stream->data;
    bool idle = c->in.len == 0 && !c->writing;

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
    struct http_connection *idle = NULL;

    for (struct http_connection *c = s->connections; c; c = c->next)
        if (!c->writing && c->in.len == 0)
            idle = c; /* new ones come first */
    if (idle)
        close_connection(idle);
    return idle != NULL;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct http_server *s = stream->data;
    struct http_connection *c;

    if (status < 0)
        return;
    c = xcalloc(1, sizeof(*c));
    c->in = (struct strbuf)STRBUF_INIT;
    c->tls = s->tls ? tls_session_new(s->tls) : NULL;
    (void)uv_tcp_init(stream->loop, &c->tcp);
    (void)uv_timer_init(stream->loop, &c->timer);
    c->tcp.data = c->timer.data = c;
    bool room = s->n < LIMIT_HTTP_CONNECTIONS || make_room(s);
    c->server = s;
    c->next = s->connections;
    if (c->next)
        c->next->prev = c;
    s->connections = c;
    s->n++;
    if (uv_accept(stream, (uv_stream_t *)&c->tcp) < 0 || !room ||
        uv_read_start((uv_stream_t *)&c->tcp, give_buffer, on_read) < 0)
        close_connection(c);
    else
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
    int r = uv_tcp_bind(&s->tcp, (const struct sockaddr *)at, 0);

    if (r == 0)
        r = uv_listen((uv_stream_t *)&s->tcp, BACKLOG, on_connection);
    return r;
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
    s = xcalloc(1, sizeof(*s));
    s->service = *service;
    (void)uv_tcp_init(loop, &s->tcp);
    s->tcp.data = s;
    r = listen_on(s, &at);
    if (all && (r == UV_EAFNOSUPPORT || r == UV_EADDRNOTAVAIL)) { /* a machine without IPv6 */
        (void)uv_ip4_addr("0.0.0.0", ntohs(((struct sockaddr_in6 *)&at)->sin6_port),
                          (struct sockaddr_in *)&at);
        r = listen_on(s, &at);
    }
    if (r == 0)
        r = uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&at, &n);
    if (r < 0) {
        uv_close((uv_handle_t *)&s->tcp, free_server);
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
    uv_close((uv_handle_t *)&s->tcp, free_server);
}
