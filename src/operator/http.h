/* http.h - a small HTTP server on the operator's loop: health, metrics, and the webhook.
 *
 * One thread: a handler answers at once. Requests, connections and the time for each are limited
 * (base/limits.h). When all connections are in use, one that waits for its next request makes room;
 * if there is none, the new one is closed.
 */
#ifndef OPERATOR_HTTP_H
#define OPERATOR_HTTP_H

#include <uv.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "operator/http_parse.h"
#include "operator/tls.h"

struct http_answer {
    int status;       /* 200 */
    const char *type; /* "text/plain; charset=utf-8" */
    struct strbuf body;
};

struct http_service {
    /* Fills the answer; its defaults are above. */
    void (*handle)(void *ctx, const struct http_request *rq, struct http_answer *answer);
    void *ctx;
    size_t body_limit; /* 0: requests have none */
};

struct http_server;

/* "HOST:PORT", ":PORT" (all addresses), "PORT"; HOST is an IP address, IPv6 in brackets. Port 0 is
 * any that is free. -EINVAL: it is none; else why it cannot be listened on. */
int http_server_new(uv_loop_t *loop, const char *address, const struct http_service *service,
                    struct http_server **ret, struct err *e);
int http_server_port(const struct http_server *s);
/* Connections from now on are HTTPS with that certificate. The server takes the configuration. */
void http_server_set_tls(struct http_server *s, struct tls_config *tls);
/* NULL is fine; the loop must run once more. */
void http_server_free(struct http_server *s);

#endif
