/* review.h - what the webhook says to an AdmissionReview: the diagnostics of `muster validate`
 * before an object is stored, and what must not change afterwards.
 *
 * Pure: bytes in, bytes out.
 */
#ifndef OPERATOR_REVIEW_H
#define OPERATOR_REVIEW_H

#include "base/err.h"
#include "base/strbuf.h"
#include "operator/served.h"

/* Appends the answer, an AdmissionReview. only: objects of other namespaces are allowed as they
 * are; NULL: there are none. -EINVAL with e: the request cannot be read. */
int review_answer(const struct operator_options *options, const char *only, const char *body,
                  size_t n, struct strbuf *out, struct err *e);

#endif
