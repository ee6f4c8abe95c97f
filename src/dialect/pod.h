/* pod.h - the Kubernetes pod template as job files carry it, and what a role takes from it.
 *
 * Shared by every dialect that embeds a PodTemplateSpec. The tables know all keys of the Kubernetes
 * API; what Muster does not act on stays in the template's tree (struct role's template_at). Unknown
 * keys are warnings here: API servers differ in version.
 */
#ifndef DIALECT_POD_H
#define DIALECT_POD_H

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
    const char *name, *path;
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

struct pod_volume {
    const struct node *at;
    const char *name;
    const struct pod_empty_dir *empty_dir;
};

struct pod_spec {
    const struct node *at;
    BIND_LIST(struct pod_container) containers;
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

/* Notes what of the template is not acted on: other containers than `used`, volumes. */
void pod_note_unused(const struct binder *b, const struct pod_template *t,
                     const struct pod_container *used);

/* Takes from the container what it says: image, working directory, environment, resources with the
 * shared memory, and the pod's grace period. What it does not say stays as it is in role; its
 * environment is added to role's, a later name replacing an earlier one. */
void pod_fill_role(const struct binder *b, const struct pod_template *t,
                   const struct pod_container *c, struct role *role);

/* A quantity of Kubernetes, in thousandths (cpu) or whole units. False after adding an error about
 * `name` at the node; *ret is then untouched. */
bool pod_quantity(const struct binder *b, const char *name, const struct node *node, bool milli,
                  int64_t *ret);

/* A launcher made from the worker's template: all that pod_fill_role() took, but the resources. */
void pod_share_role(const struct role *worker, struct role *launcher);

#endif
