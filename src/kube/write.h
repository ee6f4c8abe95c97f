/* write.h - Kubernetes objects and pod templates from the job model: for `muster convert`, and for
 * whoever makes pods.
 *
 * Rendering is residual plus model: a role's own template with what the model says differently, or
 * a new one. All nodes live in the arena; the spec's trees are never changed.
 */
#ifndef KUBE_WRITE_H
#define KUBE_WRITE_H

#include "doc/make.h"
#include "spec/spec.h"

/* One job's objects in the making. */
struct kube_writing {
    struct arena *a;
    const struct job_spec *spec;
    /* Told what cannot be written as it was, by its path and with a reason; NULL: nobody asks. */
    void (*lost)(void *ctx, const char *path, const char *text);
    void *ctx;
};

/* --- objects (write_object.c) --------------------------------------------------------------- */

/* apiVersion, kind, metadata (a name that Kubernetes takes; labels and annotations
 * of the source). */
struct node *kube_object(const struct kube_writing *w, const char *api_version, const char *kind);

/* A name of any dialect as a Service may be called: lower case, a letter first, with room for
 * what is appended to a job's name. Names that do already stay. */
const char *kube_name(struct arena *a, const char *name);

/* Is the job's name only what generateName would begin one with? */
bool kube_name_is_generated(const struct job_spec *spec);

/* "500m", "2"; "4Gi", "1000". */
const char *kube_cpu(struct arena *a, int64_t milli);
const char *kube_bytes(struct arena *a, int64_t bytes);

/* --- pod templates (write_pod.c, write_volumes.c) ------------------------------------------- */

enum pod_command {
    POD_COMMAND,    /* the role's */
    POD_NO_COMMAND, /* none: the operator gives it one */
    POD_AS_IT_IS,   /* what the template has */
};

struct pod_wish {
    const char *container; /* what the target calls it; NULL: it keeps its name */
    enum pod_command command;
    bool image; /* the target demands one */
    bool first; /* it must be the first container */
};

/* The role's pod template: the residual one with what the model says differently, or a new one. */
struct node *kube_template(const struct kube_writing *w, const struct role *role,
                           const struct pod_wish *wish);

/* A copy of a pod template without the keys that Kubernetes does not have (write_known.c). */
struct node *kube_copy_template(const struct kube_writing *w, const struct node *source);

/* A list for `env`, NULL if it is empty; the same for `envFrom`. */
struct node *kube_env(struct arena *a, const struct env_entry *v, size_t n);
struct node *kube_env_from(struct arena *a, const struct env_entry *v, size_t n);

/* Puts the role's mounts (and volumes, where the pod lacks them), its /dev/shm and its init
 * containers into the pod. `was` is what the pod says so far. */
void kube_put_volumes(const struct kube_writing *w, const struct role *role, const struct role *was,
                      struct node *pod, struct node *container);

/* Do both roles say the same of what begins with that path? */
bool kube_same(const struct kube_writing *w, const struct role *x, const struct role *y,
               const char *path);

#endif
