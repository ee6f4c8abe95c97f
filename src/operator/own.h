/* own.h - MusterJobs: jobs whose pods have the shim in them, run by the engine of
 * `muster run --on kubernetes`.
 *
 *     own.c         one engine for each job, between the job's turns and the engine
 *     own_key.c     what the pods of a job know each other by
 *     own_status.c  the status
 *     served_own.c  the object becomes a plan
 *
 * A decision reaches the engine after it was kept in the object's annotations (keep.c), so that
 * another operator finds every start in them: calls of the engine wait until then. What happened
 * is kept by the shims; they tell it to whoever attaches.
 */
#ifndef OPERATOR_OWN_H
#define OPERATOR_OWN_H

#include "operator/operator.h"

/* A plan and a job are there: opens the engine as soon as the key is known. */
void own_begin(struct tended *t, const char *state, size_t len);
void own_turn(struct tended *t);
void own_carry_out(struct tended *t); /* what was decided is kept: the engine hears it */
void own_release(struct tended *t);   /* frees the engine; pods stay */
/* Adds the engine's part to the annotations that are kept. */
void own_keep(struct arena *a, const struct tended *t, struct node *annotations);
/* The pod whose last lines say why the job failed; NULL: there is none. */
const char *own_failed_pod(const struct tended *t, const char **ret_container);
/* Why the engine could not be opened; NULL: it could. It is tried again. */
const char *own_refusal(const struct tended *t);
/* The spec was changed while the job runs. */
void own_changed(struct tended *t, const struct served *now);
/* The status of an object that is not a valid job. */
void own_tell_invalid(struct tended *t);

#define OWN_LAUNCHES OWN_DOMAIN "/launches" /* the annotation: kubernetes_owned_launches() */

/* --- own_key.c -------------------------------------------------------------------------------- */

/* Reads the operators' key from their Secret, or makes it; op->key_known is set when it is there,
 * and every MusterJob has a turn. */
void own_key_begin(struct controller *op);
/* That of one job, made of the operators' key and its uid. */
void own_key_of(const struct controller *op, const char *uid, unsigned char ret[OWN_KEY_BYTES]);

#endif
