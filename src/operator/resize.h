/* resize.h - the state of a job whose number of replicas has changed: a pure function. */
#ifndef OPERATOR_RESIZE_H
#define OPERATOR_RESIZE_H

#include "base/strbuf.h"
#include "plan/plan.h"

/* Do the plans have the same replicas? */
bool resize_is_same(const struct plan *a, const struct plan *b);

/* The replica of `to` that replica i of `from` becomes, by its host; -1: it has none. */
int32_t resize_replica(const struct plan *from, const struct plan *to, uint32_t i);

/* A snapshot (job/snapshot.h) of a job with plan `from`, as one of the same job with plan `to`:
 * what was said of replicas that are gone is left out. */
void resize_snapshot(const struct plan *from, const struct plan *to, const char *text,
                     struct strbuf *out);

#endif
