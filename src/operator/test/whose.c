/* whose.c - pods as operators of others make them, and which replica of which job they are. */
#include "operator/whose.h"

#include "operator/owned.h"
#include "operator/test/objects.h"

static const struct operator_options plain = {.cluster_domain = "", .gang_scheduler = ""};

#define OWNER(kind, name, uid)                                                                     \
    "  ownerReferences: [{apiVersion: kubeflow.org/v1, kind: " kind ", name: " name ", uid: " uid  \
    ", controller: true, blockOwnerDeletion: true}]\n"
#define POD(name, labels, owner)                                                                   \
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " name "\n  namespace: n\n  labels: {" labels   \
    "}\n" owner "spec: {containers: [{name: c, image: i}]}\n"

static const char mpi_v1[] =
    "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: pi, namespace: n, uid: u}\n"
    "spec:\n  slotsPerWorker: 1\n  mpiReplicaSpecs:\n"
    "    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i}]}}}\n"
    "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}\n";
static const char mpi_v2[] =
    "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: pi, namespace: n, uid: u}\n"
    "spec:\n  mpiReplicaSpecs:\n"
    "    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i}]}}}\n"
    "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}\n";
static const char pytorch[] =
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: pi, namespace: n, uid: u}\n"
    "spec:\n  pytorchReplicaSpecs:\n"
    "    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n"
    "    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n";
static const char tensorflow[] =
    "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: pi, namespace: n, uid: u}\n"
    "spec:\n  tfReplicaSpecs:\n"
    "    Chief: {replicas: 1, template: {spec: {containers: [{name: tensorflow, image: i}]}}}\n"
    "    PS: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: i}]}}}\n";

#define OLD(role) "group-name: kubeflow.org, mpi-job-name: pi, mpi-job-role: " role
#define OLDEST(role) "group_name: kubeflow.org, mpi_job_name: pi, mpi_role_type: " role
#define NEW(operator, more)                                                                        \
    "training.kubeflow.org/operator-name: " operator", training.kubeflow.org/job-name: pi, " more
#define T "training.kubeflow.org/"

static const struct row {
    const char *job, *pod, *replica; /* replica NULL: none of its */
    enum whose_family family;
    bool ours; /* its controller is the job */
    const char *name;
} rows[] = {
    {mpi_v1, POD("pi-launcher", OLD("launcher"), OWNER("MPIJob", "pi", "u")), "launcher-0",
     WHOSE_MPI_OLD, true, "mpi-operator 0.3.0, v1: the launcher"},
    {mpi_v1, POD("pi-worker-1", OLD("worker"), OWNER("MPIJob", "pi", "u")), "worker-1",
     WHOSE_MPI_OLD, true, "mpi-operator 0.3.0, v1: a worker"},
    {mpi_v1, POD("pi-worker-2", OLD("worker"), OWNER("MPIJob", "pi", "u")), NULL, WHOSE_MPI_OLD,
     true, "mpi-operator 0.3.0, v1: one that is not in its job any more"},
    {mpi_v2,
     POD("pi-launcher-x7k2p", OLDEST("launcher") ", job-name: pi-launcher",
         OWNER("Job", "pi-launcher", "j")),
     "launcher-0", WHOSE_MPI_OLDEST, false, "mpi-operator 0.3.0, v1alpha2: the launcher's Job"},
    {mpi_v2, POD("pi-worker-0", OLDEST("worker"), OWNER("StatefulSet", "pi-worker", "s")),
     "worker-0", WHOSE_MPI_OLDEST, false, "mpi-operator 0.3.0, v1alpha2: a StatefulSet's"},
    {mpi_v2,
     POD("pi-launcher-x7k2p",
         NEW("mpi-operator", T "job-role: launcher, batch.kubernetes.io/job-name: pi-launcher"),
         OWNER("Job", "pi-launcher", "j")),
     "launcher-0", WHOSE_KUBEFLOW, false, "mpi-operator 0.8.2: the launcher's Job"},
    {mpi_v2,
     POD("pi-worker-1", NEW("mpi-operator", T "job-role: worker, " T "replica-index: \"1\""),
         OWNER("MPIJob", "pi", "u")),
     "worker-1", WHOSE_KUBEFLOW, true, "mpi-operator 0.8.2: a worker"},
    {mpi_v1,
     POD("pi-launcher", NEW("mpijob-controller", T "job-role: master, " T "replica-type: launcher"),
         OWNER("MPIJob", "pi", "u")),
     "launcher-0", WHOSE_KUBEFLOW, true, "training-operator 1.9.4, MPIJob: the launcher"},
    {mpi_v1,
     POD("pi-worker-1",
         NEW("mpijob-controller", T "replica-type: worker, " T "replica-index: \"1\""),
         OWNER("MPIJob", "pi", "u")),
     "worker-1", WHOSE_KUBEFLOW, true, "training-operator 1.9.4, MPIJob: a worker"},
    {pytorch,
     POD("pi-master-0",
         NEW("pytorchjob-controller",
             T "job-role: master, " T "replica-type: master, " T "replica-index: \"0\""),
         OWNER("PyTorchJob", "pi", "u")),
     "master-0", WHOSE_KUBEFLOW, true, "training-operator 1.9.4, PyTorchJob: the master"},
    {pytorch,
     POD("pi-worker-1",
         NEW("pytorchjob-controller", T "replica-type: worker, " T "replica-index: \"1\""),
         OWNER("PyTorchJob", "pi", "u")),
     "worker-1", WHOSE_KUBEFLOW, true, "training-operator 1.9.4, PyTorchJob: a worker"},
    {tensorflow,
     POD("pi-ps-1", NEW("tfjob-controller", T "replica-type: ps, " T "replica-index: \"1\""),
         OWNER("TFJob", "pi", "u")),
     "ps-1", WHOSE_KUBEFLOW, true, "training-operator 1.9.4, TFJob: a ps"},
    {tensorflow,
     POD("pi-ps-1", NEW("tfjob-controller", T "replica-type: ps, " T "replica-index: \"1\""),
         OWNER("TFJob", "pi", "another")),
     "ps-1", WHOSE_KUBEFLOW, false, "of an earlier job of the same name"},
};

static void check(struct arena *a, const struct row *row)
{
    const struct node *pod = object_of(a, row->pod);
    struct served s;
    int32_t replica;

    serve(a, &plain, object_of(a, row->job), &s);
    is_str(whose_kind(row->family, pod), s.kind->operator_name, "%s: its kind", row->name);
    is_str(whose_job(row->family, pod), "pi", "its job");
    replica = whose_replica(row->family, s.plan, pod);
    is_str(replica < 0 ? NULL : s.plan->replicas[replica].name, row->replica, "its replica");
    is_int(owned_by(pod, &s) == OWNED_OURS, row->ours, "is the job its controller?");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(a, &rows[i]);
    is_str(whose_selector(WHOSE_MPI_OLD), "mpi-job-name,!training.kubeflow.org/job-name",
           "a pod with the labels of both is selected once");
    return tap_done();
}
