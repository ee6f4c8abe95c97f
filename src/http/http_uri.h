/* http_uri.h - paths and queries of requests taken apart: pure functions.
 *
 * A path is cut at its slashes before anything is decoded, so that %2F is a character of a segment
 * and no new segment. A NUL is refused, and so is a % without two hexadecimal digits.
 */
#ifndef HTTP_HTTP_URI_H
#define HTTP_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

/* Percent decoding; plus: '+' is a space, as forms have it. False: refused, or no room (with the
 * NUL behind it). */
bool http_decode(const char *text, size_t n, bool plus, char *out, size_t room);

/* Does the path have this form? A segment "*" of the form is any one segment, which is decoded into
 * out[0], out[1], … of `room` bytes each; no more than `most` of them. An empty one never is, nor
 * are "." and "..". */
bool http_path_is(const char *path, const char *form, char *const *out, size_t most, size_t room);

/* The first value of a key of a query: 1; 0 if it is not there; -1: refused, or no room. */
int http_query(const char *query, const char *key, char *out, size_t room);

/* Calls fn with each pair, decoded, of at most 1023 bytes each. False: one is refused, or fn was
 * false. */
bool http_query_each(const char *query, bool (*fn)(void *ctx, const char *key, const char *value),
                     void *ctx);

#endif
