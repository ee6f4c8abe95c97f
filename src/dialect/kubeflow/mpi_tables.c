/* mpi_tables.c - the keys of Kubeflow's MPIJob from v1alpha2 on. Tables only. */
#include <stddef.h>

#include "dialect/kubeflow/mpi.h"

#define AT(member) .offset = offsetof(struct mpi_spec_v, member)
#define SLOTS(least)                                                                               \
    {                                                                                              \
        .key = "slotsPerWorker", .kind = BIND_INT, .min = (least), .max = INT32_MAX, .def = 1,     \
        AT(slots), .doc = "The number of ranks per worker."                                        \
    }
#define REPLICAS(replicas_table)                                                                   \
    {                                                                                              \
        .key = "mpiReplicaSpecs", .kind = BIND_STRUCT, .table = (replicas_table), AT(replicas),    \
        .doc = "The launcher, whose command calls mpirun, and the workers."                        \
    }
#define RUN_POLICY(policy_table)                                                                   \
    {                                                                                              \
        .key = "runPolicy", .kind = BIND_STRUCT, .table = (policy_table), AT(policy),              \
        .doc = "Deadline, retries and clean-up of the job."                                        \
    }
#define MAIN_CONTAINER                                                                             \
    {                                                                                              \
        .key = "mainContainer", .kind = BIND_STRING, AT(main_container),                           \
        .doc = "The container of a worker in which ranks run (default: the first)."                \
    }
#define TYPES(replica_table)                                                                       \
    KUBEFLOW_TYPE("Launcher", KUBEFLOW_LAUNCHER, replica_table),                                   \
        KUBEFLOW_TYPE("Worker", KUBEFLOW_WORKER, replica_table)

static const struct bind_field types_fields[] = {TYPES(&kubeflow_replica_table)};
static const struct bind_table types_table =
    BIND_TABLE("mpiReplicaSpecs", struct kubeflow_replicas, types_fields);
static const struct bind_field types_lenient_fields[] = {TYPES(&kubeflow_replica_lenient_table)};
static const struct bind_table types_lenient_table =
    BIND_TABLE_LENIENT("mpiReplicaSpecs", struct kubeflow_replicas, types_lenient_fields);

static const char *const distributions[] = {"OpenMPI", "IntelMPI", "MPICH", NULL};
static const char *const implementations[] = {"OpenMPI", "Intel", "MPICH", NULL};
static const char *const creations[] = {"AtStartup", "WaitForWorkersReady", NULL};

static const struct bind_field v1alpha2_fields[] = {
    SLOTS(1),
    REPLICAS(&types_lenient_table),
    RUN_POLICY(&kubeflow_run_policy_lenient_table),
    KUBEFLOW_OLD_POLICIES(struct mpi_spec_v, old),
    MAIN_CONTAINER,
    {.key = "mpiDistribution",
     .kind = BIND_STRING,
     .words = distributions,
     AT(implementation),
     .doc = "The MPI implementation, for variables and the hostfile."},
};
static const struct bind_field v1_fields[] = {
    SLOTS(1),
    REPLICAS(&types_lenient_table),
    RUN_POLICY(&kubeflow_run_policy_lenient_table),
    {.key = "cleanPodPolicy",
     .kind = BIND_STRING,
     AT(old.clean_pods),
     .doc = "As in runPolicy, which takes precedence."},
    MAIN_CONTAINER,
};
static const struct bind_field v2beta1_fields[] = {
    SLOTS(0), /* its operator takes that */
    REPLICAS(&types_table),
    RUN_POLICY(&kubeflow_run_policy_table),
    {.key = "mpiImplementation",
     .kind = BIND_STRING,
     .words = implementations,
     AT(implementation),
     .doc = "The MPI implementation, for variables and the hostfile."},
    {.key = "launcherCreationPolicy",
     .kind = BIND_STRING,
     .words = creations,
     AT(creation),
     .doc = "The launcher always waits for its workers."},
    {.key = "runLauncherAsWorker",
     .kind = BIND_BOOL,
     AT(launcher_is_worker),
     .doc = "Also run ranks in the launcher, as the first host."},
    {.key = "sshAuthMountPath", .kind = BIND_NOTED, .why = "is not needed; no ssh keys are used"},
};
static const struct bind_table v1alpha2_spec =
    BIND_TABLE_LENIENT("spec", struct mpi_spec_v, v1alpha2_fields);
static const struct bind_table v1_spec = BIND_TABLE_LENIENT("spec", struct mpi_spec_v, v1_fields);
static const struct bind_table v2beta1_spec = BIND_TABLE("spec", struct mpi_spec_v, v2beta1_fields);

#define JOB(member) .offset = offsetof(struct mpi_job, member)
#define JOB_FIELDS(metadata_table, spec_table)                                                     \
    {.key = "apiVersion", .kind = BIND_STRING, .required = true, JOB(api_version)},                \
        {.key = "kind", .kind = BIND_STRING, .required = true, JOB(kind)},                         \
        {.key = "metadata",                                                                        \
         .kind = BIND_STRUCT,                                                                      \
         .required = true,                                                                         \
         .table = (metadata_table),                                                                \
         JOB(metadata)},                                                                           \
        {.key = "spec", .kind = BIND_STRUCT, .required = true, .table = (spec_table), JOB(spec)},  \
    {                                                                                              \
        .key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER                            \
    }

static const struct bind_field v1alpha2_job[] = {
    JOB_FIELDS(&kube_metadata_lenient_table, &v1alpha2_spec)};
static const struct bind_field v1_job[] = {JOB_FIELDS(&kube_metadata_lenient_table, &v1_spec)};
static const struct bind_field v2beta1_job[] = {JOB_FIELDS(&kube_metadata_table, &v2beta1_spec)};
const struct bind_table mpi_v1alpha2_table =
    BIND_TABLE_LENIENT("the MPIJob", struct mpi_job, v1alpha2_job);
const struct bind_table mpi_v1_table = BIND_TABLE_LENIENT("the MPIJob", struct mpi_job, v1_job);
const struct bind_table mpi_v2beta1_table = BIND_TABLE("the MPIJob", struct mpi_job, v2beta1_job);
