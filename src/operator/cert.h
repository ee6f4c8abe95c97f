/* cert.h - the webhook's certificate: self-signed, made by the operator itself, so that nothing
 * else has to be installed. The API server trusts it because it is the caBundle, too.
 */
#ifndef OPERATOR_CERT_H
#define OPERATOR_CERT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum { CERT_DAYS = 3650, CERT_RENEW_DAYS = 365 };

/* For that DNS name, from now on; both as PEM, EC on P-256. */
int cert_make(struct arena *a, const char *name, const char **ret_cert, const char **ret_key,
              struct err *e);

/* Is it one for that name, with that key? *ret_days: for how long it is still valid. -EINVAL with
 * e: it cannot be used. */
int cert_check(const char *cert, const char *key, const char *name, int64_t *ret_days,
               struct err *e);

#endif
