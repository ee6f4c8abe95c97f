/* claims.h - see claims.c. */
#ifndef ENGINE_KUBERNETES_CLAIMS_H
#define ENGINE_KUBERNETES_CLAIMS_H

#include "doc/make.h"
#include "engine/kubernetes/objects.h"

/* The path of an input or output that is on a claim, as processes see it. */
const char *claim_value(struct arena *a, const struct job_value *v);

/* To a pod's spec: the claims that the caller names, mounted in its container, and volumes of the
 * job replaced by them. Reads the plan's site. */
void claims_add(struct arena *a, const struct plan *plan, struct node *pod, struct node *container);

#endif
