/* tls.h - TLS for the server, without sockets: bytes of the network in, bytes of the
 * application out, and the other way. OpenSSL; TLS 1.2 and later.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"

struct tls_config;  /* a certificate, those that vouch for it, and its key */
struct tls_session; /* one connection */

int tls_config_new(const char *cert, const char *key, struct tls_config **ret, struct err *e);
/* Is the certificate for this name, or this IP address? */
bool tls_config_is_for(const struct tls_config *c, const char *name);
void tls_config_free(struct tls_config *c); /* sessions go on; NULL is fine */

struct tls_session *tls_session_new(struct tls_config *c);
void tls_session_free(struct tls_session *s); /* NULL is fine */

/* Bytes that have come from the network. What they mean is added to `plain`, what TLS wants to say
 * to `wire`. False: the connection is to be ended, after `wire` was sent. */
bool tls_take(struct tls_session *s, const char *data, size_t n, struct strbuf *plain,
              struct strbuf *wire);
/* Bytes to be sent, as they go over the network. False: that is not possible (yet). */
bool tls_give(struct tls_session *s, const char *data, size_t n, struct strbuf *wire);

#endif
