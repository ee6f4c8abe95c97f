/* pod.h - the Kubernetes pod template as job files carry it, and what a role takes from it.
 * Written: write.h.
 *
 * Shared by every dialect that embeds a PodTemplateSpec. The tables know all keys of the Kubernetes
 * API; what Muster does not act on stays in the template's tree (struct role's template_at).
 * Unknown keys are warnings here: API servers differ in version.
 */
#ifndef KUBE_POD_H
#define KUBE_POD_H

#include "doc/bind.h"
#include "spec/spec.h"

struct pod_key_ref { /* secretKeyRef, configMapKeyRef */
    const struct node *at;
    const char *name, *key;
    bool optional;
};

struct pod_field_ref {
    const struct node *at;
    const char *path;
};

struct pod_resource_ref {
    const struct node *at;
    const char *resource;
    const struct node *divisor;
};

struct pod_value_from {
    const struct node *at;
    const struct pod_key_ref *secret, *config_map;
    const struct pod_field_ref *field;
    const struct pod_resource_ref *resource;
};

struct pod_env {
    const struct node *at;
    const char *name, *value;
    const struct pod_value_from *from;
};

struct pod_object_ref { /* secretRef, configMapRef */
    const struct node *at;
    const char *name;
    bool optional;
};

struct pod_env_from {
    const struct node *at;
    const char *prefix;
    const struct pod_object_ref *secret, *config_map;
};

struct pod_mount {
    const struct node *at;
    const char *name, *path, *sub_path, *sub_path_expr;
    bool read_only;
};

struct pod_resources {
    const struct node *at;
    const struct node *limits, *requests;
};

struct pod_container {
    const struct node *at;
    const char *name, *image, *workdir;
    const char *const *command, *const *args;
    BIND_LIST(struct pod_env) env;
    BIND_LIST(struct pod_env_from) env_from;
    BIND_LIST(struct pod_mount) mounts;
    const struct pod_resources *resources;
};

struct pod_empty_dir {
    const struct node *at;
    const char *medium;
    const struct node *size_limit;
};

struct pod_host_path {
    const struct node *at;
    const char *path, *type;
};

struct pod_item {
    const struct node *at;
    const char *key, *path;
};

struct pod_files { /* configMap, secret: a directory with a file for each key */
    const struct node *at;
    const char *name;
    BIND_LIST(struct pod_item) items;
    bool optional;
    const struct node *mode; /* NULL if absent */
};

struct pod_claim {
    const struct node *at;
    const char *name;
    bool read_only;
};

struct pod_volume {
    const struct node *at;
    const char *name;
    const struct pod_empty_dir *empty_dir;
    const struct pod_host_path *host_path;
    const struct pod_files *config_map, *secret;
    const struct pod_claim *claim;
    bool of_operator; /* VOLUME_OPERATOR: no file can say so */
};

struct pod_spec {
    const struct node *at;
    BIND_LIST(struct pod_container) containers, init;
    BIND_LIST(struct pod_volume) volumes;
    int32_t grace_s; /* -1 if absent */
};

struct pod_template {
    const struct node *at;
    const struct pod_spec *spec;
};

extern const struct bind_table pod_template_table;

/* The template's container of that name, or NULL (also for a template without containers). */
const struct pod_container *pod_find_container(const struct pod_template *t, const char *name);

/* Notes what of the template is not acted on: other containers than `used`, kinds of volumes. */
void pod_note_unused(const struct binder *b, const struct pod_template *t,
                     const struct pod_container *used);

/* Takes from the container what it says: image, working directory, environment, resources with the
 * shared memory, and the pod's grace period. What it does not say stays as it is in role; its
 * environment is added to role's, a later name replacing an earlier one. Mounts and init commands
 * are the template's alone. */
void pod_fill_role(const struct binder *b, const struct pod_template *t,
                   const struct pod_container *c, struct role *role);

/* The same for a pod that an operator gives volumes of its own (their `at` may be NULL), which the
 * template may mount although it does not define them. */
void pod_fill_role_given(const struct binder *b, const struct pod_template *t,
                         const struct pod_container *c, const struct pod_volume *given,
                         size_t n_given, struct role *role);

/* A quantity of Kubernetes, in thousandths (cpu) or whole units. False after adding an error about
 * `name` at the node; *ret is then untouched. */
bool pod_quantity(const struct binder *b, const char *name, const struct node *node, bool milli,
                  int64_t *ret);

/* A launcher made from the worker's template: all that pod_fill_role() took, but the resources. */
void pod_share_role(const struct role *worker, struct role *launcher);

/* pod_checks.c, for pod.c: what Kubernetes would refuse of the pod, with `used` as the one
 * container whose cpu, memory and GPUs are checked with its role. */
void pod_check(const struct binder *b, const struct pod_spec *spec,
               const struct pod_container *used);

/* Neither cpu nor memory nor GPUs, which a role knows. */
bool pod_is_other_resource(const char *name);

/* pod_volumes.c, for pod.c */

/* What a pod may mount: the template's volumes, and those that are given. */
struct pod_volumes {
    const struct pod_spec *spec;
    const struct pod_volume *given;
    size_t n_given;
};

/* The volume that becomes the container's /dev/shm, or NULL. */
const struct pod_volume *pod_shm_volume(const struct pod_volumes *vs,
                                        const struct pod_container *c);

/* Finds what is wrong with the template's own volumes. */
void pod_check_volumes(const struct binder *b, const struct pod_spec *spec);

/* Notes the volumes of kinds that only a cluster has. */
void pod_note_volumes(const struct binder *b, const struct pod_spec *spec);

/* The container's mounts, but the one that is its /dev/shm; returns how many. */
size_t pod_mounts(const struct binder *b, const struct pod_volumes *vs,
                  const struct pod_container *c, const struct mount **ret);

#endif
