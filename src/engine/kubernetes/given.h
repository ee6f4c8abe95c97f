/* given.h - ConfigMaps and Secrets that come with the job: beside it in its file, or by --secrets
 * and --configmaps.
 *
 * They become objects of the run with names of its own, so that nothing of the namespace is
 * overwritten, and every reference of a pod to one of them is changed to that name. References to
 * others stay: the cluster has them.
 */
#ifndef ENGINE_KUBERNETES_GIVEN_H
#define ENGINE_KUBERNETES_GIVEN_H

#include "engine/kubernetes/objects.h"

struct given_object {
    const char *collection;    /* "secrets", "configmaps" */
    const char *name, *called; /* its own, and the run's */
    bool secret;
    const struct node *object; /* NULL without their values */
};

enum given_how {
    GIVEN_NAMES,  /* no objects */
    GIVEN_MASKED, /* values of secrets are "***": for display */
    GIVEN_WHOLE,
};

/* In the order of their first values. */
size_t given_objects(struct arena *a, const struct kube_run *run, enum given_how how,
                     const struct given_object **ret);

/* What the pod templates of the job refer to, each name as often as it is there: whole objects, for
 * secrets_collect(). */
size_t given_references(struct arena *a, const struct job_spec *spec, const struct env_entry **ret);

/* Changes the references below a pod's spec. */
void given_rename(struct arena *a, const struct kube_run *run, struct node *pod);

#endif
