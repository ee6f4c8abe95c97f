/* kubeflow.h - what Kubeflow's job kinds have in common: run policies and replica specs.
 *
 * Each kind is a mapping from replica types to replica specs, and policies for the whole job.
 * Today's kinds keep these in `runPolicy`; the first ones had some of them at the top of spec,
 * which KUBEFLOW_OLD_POLICIES() puts into a table. Both are read into the same structure.
 *
 * Tables are strict, or lenient for the kinds whose API server kept what it did not know.
 */
#ifndef DIALECT_KUBEFLOW_KUBEFLOW_H
#define DIALECT_KUBEFLOW_KUBEFLOW_H

#include <stddef.h>

#include "dialect/dialect.h"
#include "kube/metadata.h"
#include "kube/pod.h"

#define KUBEFLOW_GROUP "kubeflow.org/"

struct kubeflow_scheduling {
    const struct node *at;
    const char *queue;
};

struct kubeflow_run_policy { /* numbers are -1 if absent */
    const struct node *at;
    const char *clean_pods; /* cleanPodPolicy */
    int32_t ttl, deadline, backoff_limit;
    const struct kubeflow_scheduling *scheduling;
    bool suspend;
    const char *managed_by;
};

extern const struct bind_table kubeflow_run_policy_table, kubeflow_run_policy_lenient_table;

/* A row of a table for a number that may be absent, at this place of the structure. */
#define KUBEFLOW_NUMBER(name, place, words)                                                        \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .max = INT32_MAX, .def = -1, .offset = (place),           \
        .doc = (words)                                                                             \
    }
/* Rows for the policies of a structure that has a struct kubeflow_run_policy at this place. */
#define KUBEFLOW_POLICIES(place)                                                                   \
    {.key = "cleanPodPolicy",                                                                      \
     .kind = BIND_STRING,                                                                          \
     .offset = (place) + offsetof(struct kubeflow_run_policy, clean_pods),                         \
     .doc = "None, Running or All: which replicas are stopped when the job has succeeded. With "   \
            "None workers are given the grace period to end by themselves."},                      \
        KUBEFLOW_NUMBER("ttlSecondsAfterFinished",                                                 \
                        (place) + offsetof(struct kubeflow_run_policy, ttl),                       \
                        "Seconds to keep the job after its end."),                                 \
        KUBEFLOW_NUMBER("activeDeadlineSeconds",                                                   \
                        (place) + offsetof(struct kubeflow_run_policy, deadline),                  \
                        "Seconds that the job may run."),                                          \
        KUBEFLOW_NUMBER("backoffLimit",                                                            \
                        (place) + offsetof(struct kubeflow_run_policy, backoff_limit),             \
                        "Maximum number of restarts, counted over all replicas.")
/* The same for what old kinds have beside their replicas; member is the structure's. */
#define KUBEFLOW_OLD_POLICIES(type, member) KUBEFLOW_POLICIES(offsetof(type, member))

struct kubeflow_replica { /* replicas: -1 if absent */
    const struct node *at;
    int32_t replicas;
    const char *restart; /* restartPolicy */
    const struct pod_template *template_;
};

extern const struct bind_table kubeflow_replica_table, kubeflow_replica_lenient_table;

/* The replica types of all kinds; a kind's table has rows for its own. */
enum kubeflow_type {
    KUBEFLOW_LAUNCHER,
    KUBEFLOW_MASTER,
    KUBEFLOW_CHIEF,
    KUBEFLOW_PS,
    KUBEFLOW_WORKER,
    KUBEFLOW_EVALUATOR,
    KUBEFLOW_TYPES,
};
/* Their names in lower case, which are those of the roles. */
extern const char *const kubeflow_roles[KUBEFLOW_TYPES];

struct kubeflow_replicas {
    const struct node *at;
    const struct kubeflow_replica *of[KUBEFLOW_TYPES]; /* NULL if absent */
};

#define KUBEFLOW_TYPE(name, type, replica_table)                                                   \
    {                                                                                              \
        .key = (name), .kind = BIND_STRUCT, .table = (replica_table),                              \
        .offset = offsetof(struct kubeflow_replicas, of[type]),                                    \
        .doc = "The replicas of this type."                                                        \
    }

#define KUBEFLOW_TYPES_TABLE(name, array)                                                          \
    {                                                                                              \
        .what = (name), .closed = true, .size = sizeof(struct kubeflow_replicas),                  \
        .fields = (array), .n = ARRAY_SIZE(array)                                                  \
    }

/* Did the file say one of the policies outside runPolicy? */
bool kubeflow_has_old_policies(const struct node *spec);

/* Policies of the job. Either may be NULL; old->at is then the spec that holds its keys. What both
 * say differently is a warning, and runPolicy counts. What nobody says stays as it is in out.
 * manager is what `managedBy` may name beside Kueue's. */
void kubeflow_lower_policies(const struct binder *b, const struct kubeflow_run_policy *policy,
                             const struct kubeflow_run_policy *old, const char *manager,
                             struct job_spec *out);

/* The types that are there, in the order of the file; returns how many. A type that is there twice
 * (in two spellings) is an error. */
size_t kubeflow_order(const struct binder *b, const struct kubeflow_replicas *r,
                      enum kubeflow_type order[KUBEFLOW_TYPES]);

/* The container that runs: the one of that name, or the first if name is NULL. NULL after an error
 * about what is missing: the template, its spec, the container. A container without an image is an
 * error too, and returned. */
const struct pod_container *kubeflow_container(const struct binder *b,
                                               const struct kubeflow_replica *r, const char *name);

/* role->restart by restartPolicy; a word that is not among allowed (bits 1 << RESTART_…) is an
 * error. Without one role->restart stays. How often is up to the job's restart_budget. */
void kubeflow_lower_restart(const struct binder *b, const struct kubeflow_replica *r,
                            unsigned allowed, struct role *role);
#define KUBEFLOW_RESTARTS                                                                          \
    (1u << RESTART_NEVER | 1u << RESTART_ON_FAILURE | 1u << RESTART_ALWAYS |                       \
     1u << RESTART_EXIT_CODE)

/* What the role runs: the container's command with its args, or args for the image's entry point.
 */
void kubeflow_lower_command(struct arena *a, const struct pod_container *c, struct role *role);

/* What one kind demands of its replicas, and gives them. */
struct kubeflow_kind {
    const char *container; /* its name, */
    const char *port;      /* the name of its port, */
    int32_t number;        /* and the number unless the container says another */
    enum restart_policy restart;
};

/* The roles of a job without a launcher, in the order of the file; out has them too, and the name
 * of the container. *ret_order tells their types. */
struct role *kubeflow_lower_roles(const struct binder *b, const struct kubeflow_replicas *r,
                                  const struct kubeflow_kind *kind, struct job_spec *out,
                                  const enum kubeflow_type **ret_order);

/* Notes a budget of restarts of which none is ever made. Either policy may be NULL. */
void kubeflow_check_budget(const struct binder *b, const struct job_spec *out,
                           const struct kubeflow_run_policy *policy,
                           const struct kubeflow_run_policy *old);

/* Without a cleanPodPolicy that deletes them, workers whose job has succeeded run to their end.
 * Those that serve others never would. of: the roles by type, or NULL. */
void kubeflow_leave_alone(const struct job_spec *out, struct role *const of[KUBEFLOW_TYPES]);

/* Promises a port to each replica of the role under the label. Its usual number is the one that the
 * container has under the kind's name for it. Returns the request, for the caller to change. */
struct port_request *kubeflow_add_port(const struct binder *b, const struct kubeflow_kind *kind,
                                       const struct kubeflow_replica *r, const char *label,
                                       struct role *role);

/* The name must also be one of a Service, which begins with a letter. */
void kubeflow_check_name(const struct binder *b, const struct job_spec *out);

/* --- PyTorchJob and TFJob: one form from v1alpha2 on, with what was added to it in v1 --------- */

/* Is it that kind, of any version but v1alpha1, which was another form? */
bool kubeflow_detect(const struct node *root, const char *kind);

/* A version before v1, whose API server kept what it did not know. */
bool kubeflow_is_old(const struct node *root);

/* A job with its name and namespace, apiVersion and kind checked. meta may be NULL. */
struct job_spec *kubeflow_new_job(const struct binder *b, const struct doc *doc,
                                  const struct node *root, const struct dialect *dialect,
                                  enum platform_kind platform, const char *kind,
                                  const struct kube_metadata *meta);
/* The job, checked as every job is; NULL if there are more errors than n_before, or no roles. */
struct job_spec *kubeflow_finish(struct job_spec *job, struct diags *ds, size_t n_before);

#endif
