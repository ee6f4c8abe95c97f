/* t9k_mpi.h - TensorStack's MPIJob as decoded, in its two living forms.
 *
 *   M1  spec.worker{replicas, extraMPIArgs, cmd, template}, spec.mca, spec.mpiHome
 *   M2  spec.replicaSpecs[]{type, replicas, restartPolicy, template}, spec.mpiConfig{home, mca, …}
 *
 * Mixtures occur in the vendor's own pages, so both sets of keys are in one table; t9k_mpi.c sees
 * to it that nothing is said twice.
 */
#ifndef DIALECT_T9K_T9K_MPI_H
#define DIALECT_T9K_T9K_MPI_H

#include "kube/metadata.h"
#include "kube/pod.h"

struct t9k_worker {
    const struct node *at;
    int32_t replicas;
    const char *const *extra_args, *const *cmd;
    const struct pod_template *template_;
};

struct t9k_mpi_config {
    const struct node *at;
    const char *home;
    const struct node *mca;
    const char *const *extra_args, *const *script;
};

struct t9k_restart {
    const struct node *at;
    const char *policy;
    int32_t limit;
};

struct t9k_replica_spec {
    const struct node *at;
    const char *type;
    int32_t replicas;
    const struct node *restart; /* a word or a mapping */
    const struct pod_template *template_;
};

struct t9k_ssh {
    const struct node *at;
    const char *sshd_path, *auth_mount_path;
};

struct t9k_run_policy {
    const struct node *at;
    const struct node *clean_up; /* a bool; a word in old files */
};

struct t9k_mode_role { /* debug.replicaSpecs[], pause.resumeSpecs[] */
    const struct node *at;
    const char *type;
    bool skip_init;
    const char *const *command, *const *args;
};

struct t9k_mode { /* debug, pause */
    const struct node *at;
    bool enabled, enable; /* `enable` is the older spelling */
    BIND_LIST(struct t9k_mode_role) roles;
};

struct t9k_run_mode {
    const struct node *at;
    const struct t9k_mode *debug, *pause;
};

struct t9k_queue {
    const struct node *at;
    const char *queue;
    int32_t priority; /* -1 if absent */
};

struct t9k_scheduler {
    const struct node *at;
    const struct t9k_queue *t9k;
};

struct t9k_spec {
    const struct node *at;
    const struct t9k_worker *worker;
    const struct node *mca;
    const char *mpi_home;
    const struct t9k_mpi_config *config;
    BIND_LIST(struct t9k_replica_spec) replica_specs;
    const struct t9k_ssh *ssh;
    const struct t9k_run_policy *run_policy;
    const struct t9k_run_mode *run_mode;
    const struct t9k_scheduler *scheduler;
};

struct t9k_job {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct t9k_spec *spec;
};

extern const struct bind_table t9k_job_table, t9k_restart_table;

#define T9K_GROUP "batch.tensorstack.dev/"
#define T9K_API_VERSION T9K_GROUP "v1beta1"
#define T9K_MPI_KIND "MPIJob"

#endif
