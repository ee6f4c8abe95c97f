/* http_parse.h - one request of HTTP/1.x out of the bytes of a connection: a pure function.
 *
 * What the operator is asked is a path and, by the API server, a body of known length. So there is
 * no chunked encoding, no folded header and no query: what is not understood is refused with its
 * status, and the connection ends.
 */
#ifndef OPERATOR_HTTP_PARSE_H
#define OPERATOR_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

struct http_request {
    char method[16];
    char path[256];   /* without its query */
    bool keep;        /* the connection stays for another one */
    const char *body; /* in the caller's bytes; not ended by a NUL */
    size_t body_len;
};

/* Looks at what has arrived so far. Returns the length of the first request in it; 0 if it is not
 * complete; -STATUS, as -400, if it is refused. A body longer than body_limit is. */
long http_parse(const char *bytes, size_t n, size_t body_limit, struct http_request *ret);

const char *http_reason(int status); /* "Not Found" */

#endif
