/* http_parse.h - one request of HTTP/1.x out of the bytes of a connection: a pure function.
 *
 * Bodies have a known length. There is no chunked encoding and no folded header: what is not
 * understood is refused with its status, and the connection ends. Paths and queries are as they
 * were sent; http_uri.h takes them apart.
 */
#ifndef HTTP_HTTP_PARSE_H
#define HTTP_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

struct http_request {
    char method[16];
    char path[512];      /* as sent, without its query */
    char query[2048];    /* what is after '?', as sent; "": none */
    char host[256];      /* of these headers "" if there is none */
    char token[256];     /* Authorization: Bearer TOKEN */
    char type[128];      /* Content-Type */
    char matches[256];   /* If-None-Match */
    char last_event[64]; /* Last-Event-ID */
    bool keep;           /* the connection stays for another one */
    bool expects;        /* the client sends the body when it was told to go on */
    const char *body;    /* in the caller's bytes; not ended by a NUL */
    size_t body_len;
};

/* Looks at what has arrived so far. Returns the length of the first request in it; 0 if it is not
 * complete; -STATUS, as -400, if it is refused. A body longer than body_limit is. */
long http_parse(const char *bytes, size_t n, size_t body_limit, struct http_request *ret);
/* Only its head: body_len is what will come. */
long http_parse_head(const char *bytes, size_t n, size_t body_limit, struct http_request *ret);

const char *http_reason(int status); /* "Not Found" */

#endif
