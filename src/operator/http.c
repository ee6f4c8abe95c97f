/* http.c - see http.h.
 *
 * A connection reads, answers, writes, and only then reads on: what it holds is one request and one
 * answer. Its timer runs from the first byte of a request until the last one of the answer, and
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
    struct http_connection *connections;
    unsigned n;
    int port;
};

struct http_connection {
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    struct http_server *server; /* NULL: it is being closed */
    struct http_connection *prev, *next;
    struct strbuf in, out;
    bool writing, ends; /* ends: after what is being written */
    unsigned closing;   /* handles that are not closed yet */
    char buffer[16 * 1024];
};

/* --- the end of a connection ------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct http_connection *c = handle->data;

    if (--c->closing > 0)
        return;
    strbuf_release(&c->in);
    strbuf_release(&c->out);
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
    c->closing = 2;
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
    struct http_connection *c = write->data;

    if (!c->server)
        return;
    c->writing = false;
    strbuf_truncate(&c->out, 0);
    if (status < 0 || c->ends) {
        close_connection(c);
        return;
    }
    wait_for(c, c->in.len > 0 ? LIMIT_HTTP_REQUEST_S : LIMIT_HTTP_IDLE_S);
    serve(c); /* the next one may be there already */
}

static void send_out(struct http_connection *c)
{
    uv_buf_t buf = uv_buf_init(c->out.buf, (unsigned)c->out.len);

    c->writing = true;
    c->write.data = c;
    wait_for(c, LIMIT_HTTP_REQUEST_S);
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &buf, 1, on_written) < 0)
        close_connection(c);
}

static void answer(struct http_connection *c, const struct http_answer *a, bool head, bool keep)
{
    strbuf_addf(&c->out,
                "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\n%s\r\n",
                a->status, http_reason(a->status), a->type, a->body.len,
                keep ? "" : "Connection: close\r\n");
    if (!head)
        strbuf_add(&c->out, a->body.buf, a->body.len);
    c->ends = !keep;
    send_out(c);
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

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_connection *c = stream->data;

    if (!c->server)
        return;
    if (n < 0 || c->in.len + (size_t)n >
                     LIMIT_HTTP_HEAD_BYTES + c->server->service.body_limit + sizeof(c->buffer)) {
        close_connection(c); /* a client that sends more than it was answered for */
        return;
    }
    if (c->in.len == 0 && n > 0 && !c->writing)
        wait_for(c, LIMIT_HTTP_REQUEST_S);
    strbuf_add(&c->in, buf->base, (size_t)n);
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
    c->in = c->out = (struct strbuf)STRBUF_INIT;
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

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    while (s->connections)
        close_connection(s->connections);
    uv_close((uv_handle_t *)&s->tcp, free_server);
}
