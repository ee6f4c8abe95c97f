/* kubeflow_mpi.h - Kubeflow's MPIJob as decoded. So far its first version:
 *
 *   v1alpha1  spec{gpus | processingUnits | replicas, …PerNode, slotsPerWorker, template}: one pod
 *             template for launcher and workers
 */
#ifndef DIALECT_KUBEFLOW_MPI_H
#define DIALECT_KUBEFLOW_MPI_H

#include "dialect/kube.h"
#include "dialect/pod.h"

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

#endif
