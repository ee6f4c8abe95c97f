/* apply.h - job objects handed to the operator of a cluster: server-side apply, then their
 * conditions until they have ended. Whoever serves them decides everything.
 */
#ifndef ENGINE_KUBERNETES_APPLY_H
#define ENGINE_KUBERNETES_APPLY_H

#include "base/arena.h"
#include "doc/tree.h"
#include "engine/engine.h"

/* An annotation of a job of our operator that has ended: the exit code of `muster run`. A kind may
 * call a job succeeded whose launcher ended with 0 although a rank failed. */
#define APPLY_EXIT_CODE "muster.internal/exit-code"

int kubernetes_apply(const struct engine_apply *how, struct err *e); /* engine_class.apply */

/* --- for tests -------------------------------------------------------------------------------- */

enum apply_end { APPLY_GOES_ON, APPLY_SUCCEEDED, APPLY_FAILED };

/* What the status of a job says: by its conditions, by T9k's phase, or by the word of MPIJob
 * v1alpha1. One that has succeeded by these has failed if its exit code says so. */
enum apply_end apply_end_of(const struct node *object);

/* Calls `told` for every condition that holds and did not before, with "Running: MPIJob a/pi is
 * running.". seen: what this has returned the time before, or NULL; heap, the caller's. */
char *apply_tell(struct arena *a, const struct node *object, const char *seen,
                 void (*told)(void *ctx, const char *text), void *ctx);

#endif
