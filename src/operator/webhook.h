/* webhook.h - apply-time validation: an HTTPS server that the API server asks, its certificate, and
 * the configuration by which the API server finds and trusts it.
 *
 * The certificate is in a Secret, so that several operators share it: the first one makes it. Each
 * looks now and then whether both are still as they should be. Nothing else depends on it: with
 * failurePolicy Ignore an object is stored while there is no webhook, and the operator tells what
 * is wrong with it by an event.
 */
#ifndef OPERATOR_WEBHOOK_H
#define OPERATOR_WEBHOOK_H

#include "operator/operator.h"

#define WEBHOOK_PATH "/validate"

/* With op->flags->webhook: an address; else it does nothing. */
int webhook_begin(struct controller *op, struct err *e);
void webhook_end(struct controller *op);

/* --- for tests -------------------------------------------------------------------------------- */

/* The patch that gives every webhook of the configuration this caBundle (base64); NULL: all of them
 * have it. */
const struct node *webhook_patch(struct arena *a, const struct node *configuration,
                                 const char *bundle);

#endif
