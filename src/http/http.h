/* http.h - a small HTTP server on the caller's loop: for the operator (health, metrics, the
 * webhook) and the daemon (REST, events, the page).
 *
 * One thread: a handler answers at once, says that its answer comes later, or begins a stream.
 * Requests, connections and the time for each are limited (base/limits.h). When all connections are
 * in use, one that waits for its next request makes room; if there is none, the new one is closed.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <sys/types.h>
#include <uv.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "http/http_parse.h"
#include "http/tls.h"

struct http_answer {
    int status;            /* 200 */
    const char *type;      /* "text/plain; charset=utf-8" */
    struct strbuf body;    /* none with 204 and 304 */
    struct strbuf headers; /* more of them, each "Name: value\r\n" */
    bool cacheable;        /* else it says Cache-Control: no-store */
};
#define HTTP_ANSWER_INIT                                                                           \
    {                                                                                              \
        .status = 200, .type = "text/plain; charset=utf-8", .body = STRBUF_INIT,                   \
        .headers = STRBUF_INIT                                                                     \
    }
void http_answer_release(struct http_answer *a);

struct http_exchange; /* a connection, and the request of it that is being answered */

struct http_service {
    /* Fills the answer; its defaults are above. Or calls http_defer(). */
    void (*handle)(void *ctx, struct http_exchange *x, const struct http_request *rq,
                   struct http_answer *answer);
    void *ctx;
    size_t body_limit; /* the most that admit() may return; 0: requests have none */
    /* Called when the head of a request is there: how long its body may be. -1: the answer says
     * why it is refused; the connection ends then. NULL: body_limit for all. */
    ssize_t (*admit)(void *ctx, struct http_exchange *x, const struct http_request *rq,
                     struct http_answer *answer);
    /* Words for a request that the server itself refuses. limit: in bytes, of 413 the body's, of
     * 431 the head's; else 0. NULL: its status, as text. */
    void (*refuse)(void *ctx, int status, size_t limit, struct http_answer *answer);
    unsigned connections; /* at once; 0: LIMIT_HTTP_CONNECTIONS */
};

struct http_server;

/* "HOST:PORT", ":PORT" (all addresses), "PORT"; HOST is an IP address, IPv6 in brackets. Port 0 is
 * any that is free. -EINVAL: it is none; else why it cannot be listened on. */
int http_server_new(uv_loop_t *loop, const char *address, const struct http_service *service,
                    struct http_server **ret, struct err *e);
/* On a bound unix socket, which it takes also on failure. */
int http_server_unix(uv_loop_t *loop, int fd, const struct http_service *service,
                     struct http_server **ret, struct err *e);
int http_server_port(const struct http_server *s);
/* Connections from now on are HTTPS with that certificate. The server takes the configuration. */
void http_server_set_tls(struct http_server *s, struct tls_config *tls);
/* NULL is fine; the loop must run once more. Exchanges that are deferred are gone. */
void http_server_free(struct http_server *s);

/* --- one exchange ----------------------------------------------------------------------------- */

/* Who connected to a unix socket; (uid_t)-1: it is none. */
uid_t http_peer(const struct http_exchange *x);

/* In handle(): the answer comes later. gone(arg) is called once if the client is gone before that;
 * the exchange must not be used any more then. */
void http_defer(struct http_exchange *c, void (*gone)(void *arg), void *arg);
/* The deferred answer; its body and headers stay the caller's. */
void http_finish(struct http_exchange *c, const struct http_answer *a);

/* Instead: the head of an answer without an end. */
void http_stream_begin(struct http_exchange *c, const struct http_answer *head);
/* False: the client did not read LIMIT_HTTP_STREAM_BYTES, or is gone; the connection is closed, and
 * gone() is not called. */
bool http_stream_send(struct http_exchange *c, const char *data, size_t n);
/* Closes the connection after what was sent; gone() is not called. */
void http_stream_end(struct http_exchange *c);
/* How much the client has not read yet. */
size_t http_stream_waiting(const struct http_exchange *c);

#endif
