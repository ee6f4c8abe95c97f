/* mpi.h - Kubeflow's MPIJob as decoded, in its four versions:
 *
 *   v1alpha1  spec{gpus | processingUnits | replicas, …PerNode, slotsPerWorker, template}: one pod
 *             template for launcher and workers
 *   v1alpha2  spec{slotsPerWorker, mpiReplicaSpecs{Launcher, Worker}, mainContainer,
 *             mpiDistribution, runPolicy}, with policies beside them too
 *   v1        the same without mpiDistribution; of the policies only cleanPodPolicy stands beside
 *   v2beta1   policies only in runPolicy; mpiImplementation, sshAuthMountPath,
 *             launcherCreationPolicy, runLauncherAsWorker
 */
#ifndef DIALECT_KUBEFLOW_MPI_H
#define DIALECT_KUBEFLOW_MPI_H

#include "dialect/kubeflow/kubeflow.h"

#define KUBEFLOW_V1ALPHA1 "kubeflow.org/v1alpha1"
#define KUBEFLOW_GPUS_PER_NODE 8 /* what the operator was deployed with everywhere */

struct mpi_v1alpha1_spec { /* counts are 0 if absent */
    const struct node *at;
    int32_t gpus, gpus_per_node;
    int32_t units, units_per_node;
    int32_t replicas, slots;
    int32_t backoff_limit, deadline;
    const char *resource; /* processingResourceType */
    const struct pod_template *template_;
};

struct mpi_v1alpha1_job {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct mpi_v1alpha1_spec *spec;
};

extern const struct bind_table mpi_v1alpha1_table;

/* Total GPUs or processing units that the CRD lets through: 1, 2, 4 or a multiple of 8. */
bool mpi_v1alpha1_total_ok(int64_t total);

/* The later versions. Their tables differ in the keys they know, not in what they fill. */
struct mpi_spec_v { /* a table without policies of its own leaves `old` zeroed */
    const struct node *at;
    int32_t slots;
    const struct kubeflow_replicas *replicas;
    const struct kubeflow_run_policy *policy;
    struct kubeflow_run_policy old; /* what stands beside runPolicy */
    const char *main_container;
    const char *implementation; /* mpiImplementation, mpiDistribution */
    const char *creation;       /* launcherCreationPolicy */
    bool launcher_is_worker;
};

struct mpi_job {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct mpi_spec_v *spec;
};

/* What an operator's pods have at /etc/mpi: the launcher gets it unless it has mounted something
 * else there. */
#define MPI_OPERATOR_VOLUME "mpi-job-config"
void mpi_mount_operator_files(struct arena *a, struct role *launcher);

extern const struct bind_table mpi_v1alpha2_table, mpi_v1_table, mpi_v2beta1_table;

#endif
