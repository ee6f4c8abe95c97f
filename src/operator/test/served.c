/* served.c - objects of a cluster as jobs: the version of their author, what is wrong with them,
 * and who serves them. */
#include "operator/served.h"

#include "operator/test/objects.h"

static const struct operator_options options = {.cluster_domain = "", .gang_scheduler = ""};

/* --- which version ---------------------------------------------------------------------------- */

#define META "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: pi\n"
#define ENTRY(version, fields, time)                                                               \
    "  - {manager: m, operation: Update, apiVersion: kubeflow.org/" version ", time: '" time       \
    "', fieldsType: FieldsV1, fieldsV1: {" fields "}}\n"
#define REPLICAS "'f:spec': {'f:mpiReplicaSpecs': {}}"
#define APPLIED                                                                                    \
    "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: "                       \
    "'{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"MPIJob\"}'\n"

static const struct {
    const char *what, *object, *version;
} versions[] = {
    {"nobody tells", META, "v2beta1"},
    {"kubectl's annotation", META APPLIED, "v1"},
    {"an annotation that is no JSON",
     META "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '{'\n", "v2beta1"},
    {"its author",
     META "  managedFields:\n" ENTRY("v1alpha2", REPLICAS, "2026-11-18T01:00:00Z") APPLIED,
     "v1alpha2"},
    {"who set another part of spec",
     META "  managedFields:\n" ENTRY("v1alpha2", REPLICAS, "2026-11-18T01:00:00Z")
         ENTRY("v2beta1", "'f:spec': {'f:runPolicy': {}}", "2026-11-18T02:00:00Z"),
     "v1alpha2"},
    {"who wrote it again",
     META "  managedFields:\n" ENTRY("v1", REPLICAS, "2026-11-18T02:00:00Z")
         ENTRY("v1alpha2", REPLICAS, "2026-11-18T01:00:00Z"),
     "v1"},
    {"who only wrote labels",
     META "  managedFields:\n" ENTRY("v1", "'f:metadata': {}", "2026-11-18T02:00:00Z"), "v2beta1"},
    {"who wrote the status",
     META "  managedFields:\n"
          "  - {apiVersion: kubeflow.org/v1, subresource: status, fieldsV1: {'f:spec': {}}}\n",
     "v2beta1"},
};

static void test_versions(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        is_str(written_in(a, object_of(a, versions[i].object)), versions[i].version, "%s",
               versions[i].what);
}

/* --- a job ------------------------------------------------------------------------------------ */

#define TEMPLATE(container)                                                                        \
    "template: {metadata: {creationTimestamp: null}, spec: {containers: [{name: " container        \
    ", image: 'i:1', command: [run], resources: {}}]}}"
#define BY_CLUSTER                                                                                 \
    "  namespace: tenant\n  uid: 5c9f\n  resourceVersion: '7'\n  generation: 1\n"                  \
    "  creationTimestamp: '2026-11-18T01:00:00Z'\n  finalizers: [a/b]\n"
#define MPI_SPEC                                                                                   \
    "spec:\n  slotsPerWorker: 2\n  mpiReplicaSpecs:\n    Launcher: {" TEMPLATE(                    \
        "l") "}\n    Worker: {replicas: 3, " TEMPLATE("w") "}\n"

static void test_job(struct arena *a)
{
    struct served s;

    serve(a, &options, object_of(a, META BY_CLUSTER MPI_SPEC "status: {conditions: []}\n"), &s);
    if (!ok(s.plan && !s.invalid && !s.foreign, "a job of a cluster"))
        return;
    is_str(s.namespace_, "tenant", "its namespace");
    is_str(s.uid, "5c9f", "its uid");
    is_str(s.api_version, "kubeflow.org/v2beta1", "its version");
    is_str(s.written_in, "v2beta1", "that of its author");
    is_int(s.plan->n_replicas, 4, "its replicas");
    is_str(s.plan->operator_hostfile,
           "pi-worker-0.pi.tenant.svc slots=2\npi-worker-1.pi.tenant.svc slots=2\n"
           "pi-worker-2.pi.tenant.svc slots=2\n",
           "upstream's hostfile");
    ok(!s.plan->hosts_file, "no /etc/hosts");
}

static void test_recorded(struct arena *a)
{
    const struct node *object = object_of(a, META BY_CLUSTER MPI_SPEC);
    struct err e = {0};
    struct served s;

    is_int(served_read(a, kind_of(object), &options, object, "v1", &s, &e), 0, "as recorded");
    is_str(s.written_in, "v1", "the version that was recorded counts");
    is_str(s.api_version, "kubeflow.org/v2beta1", "owner references name what is read");
    is_str(s.plan ? s.plan->operator_hostfile : s.invalid,
           "pi-worker-0 slots=2\npi-worker-1 slots=2\npi-worker-2 slots=2\n", "and is served");
    is_int(served_read(a, kind_of(object), &options, object, "v7", &s, &e), 0, "of nobody's");
    ok(!s.plan && s.invalid && *s.invalid, "a version that nobody knows is not served");
}

/* Who restarts the launcher, and how often. */
static void test_restarts(struct arena *a)
{
#define OLD "kind: MPIJob\nmetadata: {name: pi, namespace: n, uid: u}\nspec:\n"
#define ROLES                                                                                      \
    "  mpiReplicaSpecs:\n    Launcher: {" TEMPLATE("l") "}\n    Worker: {replicas: 1, " TEMPLATE(  \
        "w") "}\n"
    static const struct {
        const char *text;
        int launcher, worker;
        enum restart_policy worker_restart;
    } rows[] = {
        {"apiVersion: kubeflow.org/v2beta1\n" OLD ROLES, 6, -1, RESTART_EXIT_CODE},
        {"apiVersion: kubeflow.org/v2beta1\n" OLD "  runPolicy: {backoffLimit: 0}\n" ROLES, 0, -1,
         RESTART_EXIT_CODE},
        {"apiVersion: kubeflow.org/v1alpha2\n" OLD "  backoffLimit: 2\n" ROLES, 2, -1,
         RESTART_ALWAYS},
        {"apiVersion: kubeflow.org/v1alpha1\n" OLD "  replicas: 1\n  " TEMPLATE("l") "\n", 6, -1,
         RESTART_ALWAYS},
        {"apiVersion: kubeflow.org/v1alpha1\n" OLD
         "  replicas: 1\n  backoffLimit: 0\n  " TEMPLATE("l") "\n",
         0, -1, RESTART_ALWAYS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct served s;

        serve(a, &options, object_of(a, rows[i].text), &s);
        ok(s.plan != NULL, "it has a plan");
        if (!s.plan)
            continue;
        is_int(spec_role(s.plan->spec, "launcher")->restart_limit, rows[i].launcher,
               "its launcher's restarts");
        is_int(spec_role(s.plan->spec, "worker")->restart_limit, rows[i].worker, "its workers'");
        ok(spec_role(s.plan->spec, "worker")->restart == rows[i].worker_restart, "and when");
    }
}

/* training-operator: the third failure ends a job with a limit of 3, the first one that of 1. */
static void test_budget(struct arena *a)
{
#define TORCH(limit, policy)                                                                       \
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: pi, namespace: n, uid: u}\n"  \
    "spec:\n  runPolicy: {backoffLimit: " limit "}\n  pytorchReplicaSpecs:\n    Worker: "          \
    "{restartPolicy: " policy ", " TEMPLATE("pytorch") "}\n"
    static const struct {
        const char *text;
        int budget;
    } rows[] = {{TORCH("3", "OnFailure"), 2},
                {TORCH("1", "Always"), 0},
                {TORCH("0", "OnFailure"), 0},
                {TORCH("3", "ExitCode"), 3}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct served s;

        serve(a, &options, object_of(a, rows[i].text), &s);
        if (ok(s.plan && s.plan->spec->has_restart_budget, "it has a budget"))
            is_int(s.plan->spec->restart_budget, rows[i].budget, "of so many restarts");
    }
}

static void test_main_container(struct arena *a)
{
    struct served s;

    serve(a, &options,
          object_of(
              a,
              "apiVersion: kubeflow.org/v1\n" OLD "  mainContainer: b\n"
              "  mpiReplicaSpecs:\n    Launcher: {" TEMPLATE(
                  "l") "}\n"
                       "    Worker: {replicas: 1, template: {spec: {containers: [{name: a, image: "
                       "i}, {name: b, image: i}]}}}\n"),
          &s);
    is_str(s.invalid, "container b of Worker, the mainContainer, must have a command",
           "ranks need a container whose command is known");
}

/* --- not ours, not valid ---------------------------------------------------------------------- */

#define JOB(kind, policy, replicas)                                                                \
    "apiVersion: kubeflow.org/v1\nkind: " kind                                                     \
    "\nmetadata: {name: j, namespace: n, uid: u}\nspec:\n  runPolicy: {" policy "}\n  " replicas   \
    "\n"
#define PYTORCH "pytorchReplicaSpecs: {Master: {" TEMPLATE("pytorch") "}}"
#define TF "tfReplicaSpecs: {Worker: {replicas: 2, " TEMPLATE("tensorflow") "}}"

static const struct {
    const char *what, *object, *invalid;
    bool foreign;
} cases[] = {
    {"PyTorchJob", JOB("PyTorchJob", "", PYTORCH), NULL, false},
    {"TFJob", JOB("TFJob", "", TF), NULL, false},
    {"served by us", JOB("TFJob", "managedBy: kubeflow.org/training-operator", TF), NULL, false},
    {"served by Kueue", JOB("TFJob", "managedBy: kueue.x-k8s.io/multikueue", TF), NULL, true},
    {"served by others", JOB("PyTorchJob", "managedBy: kubeflow.org/mpi-operator", PYTORCH), NULL,
     true},
    {"MPIJob served by others",
     META "spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}, mpiReplicaSpecs: {}}\n", NULL,
     true},
    {"no launcher", META "spec: {mpiReplicaSpecs: {Worker: {replicas: 0, " TEMPLATE("w") "}}}\n",
     "spec.mpiReplicaSpecs: `Launcher` is required in mpiReplicaSpecs\n"
     "spec.mpiReplicaSpecs.Worker.replicas: `replicas` of Worker must be at least 1 (remove Worker "
     "to run the launcher alone)",
     false},
    {"another container",
     JOB("PyTorchJob", "", "pytorchReplicaSpecs: {Master: {" TEMPLATE("x") "}}"),
     "spec.pytorchReplicaSpecs.Master.template.spec.containers: container `pytorch` not found "
     "(rename `x` to `pytorch`)",
     false},
};

static void test_cases(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct served s;

        serve(a, &options, object_of(a, cases[i].object), &s);
        is_str(s.invalid, cases[i].invalid, "%s: what is wrong", cases[i].what);
        ok(s.foreign == cases[i].foreign, "%s: who serves it", cases[i].what);
        ok(!!s.plan == (!cases[i].invalid && !cases[i].foreign), "%s: its plan", cases[i].what);
    }
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_versions(a);
    test_job(a);
    test_recorded(a);
    test_restarts(a);
    test_budget(a);
    test_main_container(a);
    test_cases(a);
    return tap_done();
}
