/* mpi.c - Kubeflow's MPIJobs lowered into the model: counts as the controller has them. */
#include "dialect/kubeflow/mpi.h"

#include <string.h>

#include "dialect/test/lowered.h"

static void lower(struct lowered *l, const char *spec, const struct read_options *opts)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text,
                "apiVersion: kubeflow.org/v1alpha1\nkind: MPIJob\nmetadata: {name: j}\nspec:\n%s",
                spec);
    lower_by(l, &kubeflow_mpi_v1alpha1, "x.yaml", text.buf, opts);
}

#define TEMPLATE "  template: {spec: {containers: [{name: c, image: i}]}}\n"
#define WITH_LIMITS(limits)                                                                        \
    "  template: {spec: {containers: [{name: c, resources: {limits: {" limits "}}}]}}\n"

/* "workers x slots", or the code and the place of the first error. */
static const struct {
    const char *spec, *want, *name;
} counts[] = {
    {"  gpus: 16\n" TEMPLATE, "2 x 8", "2.10: 16 GPUs, 8 to a node"},
    {"  gpus: 4\n" TEMPLATE, "1 x 4", "2.10: less than a node has is one worker"},
    {"  gpus: 16\n  gpusPerNode: 4\n" TEMPLATE, "4 x 4", "gpusPerNode wins over the default"},
    {"  gpus: 16\n  gpusPerNode: 16\n" TEMPLATE, "1 x 16", "a full node is one worker"},
    {"  gpus: 16\n  slotsPerWorker: 2\n" TEMPLATE, "2 x 2", "slotsPerWorker wins over units"},
    {"  gpus: 24\n  gpusPerNode: 16\n" TEMPLATE, "E0502@5:9", "nodes must be full"},
    {"  gpus: 12\n" TEMPLATE, "E0501@5:9", "2.6: 12 is refused"},
    {"  gpus: 3\n" TEMPLATE, "E0501@5:9", "2.6: 3 is refused"},
    {"  gpus: 0\n" TEMPLATE, "E0203@5:9", "none is refused"},
    {"  gpus: \"8\"\n" TEMPLATE, "E0107@5:9", "a string is no number"},
    {"  processingUnits: 4\n" TEMPLATE, "4 x 1", "a node has one processing unit by default"},
    {"  processingUnits: 8\n  processingUnitsPerNode: 4\n  processingResourceType: cpu\n" TEMPLATE,
     "2 x 4", "processing units that are cores"},
    {"  processingUnits: 1\n  processingResourceType: tpu\n" TEMPLATE, "E0209@6:27",
     "no other kind of unit"},
    {"  replicas: 3\n" TEMPLATE, "3 x 1", "replicas without a limit: one slot"},
    {"  replicas: 3\n" WITH_LIMITS("nvidia.com/gpu: 4"), "3 x 4", "slots are the GPU limit"},
    {"  replicas: 3\n" WITH_LIMITS("nvidia.com/gpu: 2Gi"), "E0203@6:81", "a limit beyond 32 bits"},
    {"  replicas: 3\n  processingResourceType: cpu\n" WITH_LIMITS("cpu: 2, nvidia.com/gpu: 4"),
     "3 x 2", "or the limit of what processingResourceType says"},
    {"  replicas: 2\n  gpus: 16\n" TEMPLATE, "E0106@6:3", "exactly one count: the second is told"},
    {"  {gpus: 8, replicas: 2, template: {spec: {containers: [{name: c}]}}}\n", "E0106@5:13",
     "also within one line"},
    {TEMPLATE, "E0103@4:1", "one count is needed"},
    {"  gpus: null\n  replicas: 2\n" TEMPLATE, "2 x 1", "null counts as absent"},
    {"  replicas: 2\n  template: {spec: {containers: []}}\n", "E0104@6:33",
     "a container is needed"},
    {"  replicas: 2\n", "E0103@4:1", "a template is needed"},
};

static const char *outcome(struct lowered *l)
{
    for (size_t i = 0; i < l->ds.n; i++)
        if (l->ds.v[i].severity == SEV_ERROR)
            return arena_printf(l->a, "%s@%u:%u", l->ds.v[i].code, l->ds.v[i].pos.line,
                                l->ds.v[i].pos.column);
    return l->spec
               ? arena_printf(l->a, "%d x %d", l->spec->roles[1].replicas, l->spec->roles[1].slots)
               : "nothing";
}

static void test_counts(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        struct lowered l;

        lower(&l, counts[i].spec, &(struct read_options){0});
        is_str(outcome(&l), counts[i].want, "%s", counts[i].name);
        done(&l);
    }

    struct lowered l;

    lower(&l, "  gpus: 16\n" TEMPLATE, &(struct read_options){.gpus_per_node = 2});
    is_str(outcome(&l), "8 x 2", "2.10: --gpus-per-node");
    done(&l);
}

static void test_roles(void)
{
    struct lowered l;

    lower(
        &l,
        "  replicas: 2\n  backoffLimit: 3\n  activeDeadlineSeconds: 60\n  newKey: 1\n"
        "  template:\n    spec:\n      containers:\n"
        "      - {name: c, image: i, command: [mpirun, $(N)], args: [a, b], workingDir: /w,\n"
        "         env: [{name: N, value: x}], resources: {limits: {nvidia.com/gpu: 2, cpu: 1}}}\n",
        &(struct read_options){0});
    ok(l.spec, "accepted");
    if (l.spec) {
        const struct role *launcher = &l.spec->roles[0], *worker = &l.spec->roles[1];

        is_str(launcher->name, "launcher", "the launcher");
        ok(launcher->kind == ROLE_LAUNCHER && worker->kind == ROLE_HOST, "and its hosts");
        is_str(launcher->argv[1], "$(N)", "command");
        is_str(launcher->argv[3], "b", "and args, in one line");
        ok(launcher->expand_argv, "0.7: $(NAME) is expanded later, as the kubelet does");
        ok(!worker->argv && !worker->shell, "workers only wait");
        is_int((int)launcher->res.gpu, QUANTITY_UNSET, "the launcher has no resources");
        is_int((int)worker->res.gpu, 2, "workers have");
        is_str(launcher->env[0].name, "N", "both have the environment");
        is_str(launcher->workdir, "/w", "and the directory");
        ok(launcher->restart == RESTART_ON_FAILURE && launcher->restart_limit == 3 &&
               worker->restart == RESTART_NEVER,
           "backoffLimit: so often the launcher is started again");
        is_int((int)l.spec->deadline_s, 60, "activeDeadlineSeconds");
        ok(!l.spec->mpi, "mpirun is called by the command itself");
    }
    done(&l);

    lower(&l, "  gpus: 8\n  template: {spec: {containers: [{name: c, args: [x]}]}}\n",
          &(struct read_options){0});
    ok(l.spec && !l.spec->roles[0].argv, "2.4: no command: the image's entry point");
    ok(l.spec && !strcmp(l.spec->roles[0].args[0], "x"), "with its arguments");
    ok(l.spec && l.spec->roles[0].restart_limit == 0, "no backoffLimit: it is not started again");
    done(&l);
}

/* --- the later versions --------------------------------------------------------------------- */

static void lower_as(struct lowered *l, const struct dialect *dialect, const char *version,
                     const char *text)
{
    l->a = arena_new();
    diags_init(&l->ds, l->a);
    text = arena_printf(l->a, "apiVersion: kubeflow.org/%s\nkind: MPIJob\n%s", version, text);
    yaml_read(l->a, "x.yaml", text, strlen(text), &l->ds, &l->doc);
    dialect->lower(l->a, &(struct read_options){0}, &l->doc, l->doc.roots[0], &l->ds, &l->spec);
    diags_sort(&l->ds);
}

/* "role=replicas x slots" of each, '*' if ranks run in it, after all findings. */
static const char *in_words(struct lowered *l)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < l->ds.n; i++)
        strbuf_addf(&sb, "%s@%u:%u ", l->ds.v[i].code, l->ds.v[i].pos.line, l->ds.v[i].pos.column);
    for (size_t i = 0; l->spec && i < l->spec->n_roles; i++) {
        const struct role *r = &l->spec->roles[i];

        strbuf_addf(&sb, "%s=%dx%d%s ", r->name, r->replicas, r->slots,
                    r->kind == ROLE_HOST || r->hosts_ranks ? "*" : "");
    }
    if (sb.len)
        sb.len--;
    return arena_strndup(l->a, sb.buf, sb.len);
}

#define HEAD "metadata: {name: j}\nspec:\n"
#define POD(more) "{template: {spec: {containers: [{name: c, image: i" more "}]}}}"
#define BOTH                                                                                       \
    "  mpiReplicaSpecs:\n    Launcher: " POD(                                                      \
        ", command: [mpirun]") "\n"                                                                \
                               "    Worker: {replicas: 2, template: {spec: {containers: [{name: "  \
                               "c, image: i}]}}}\n"
#define ALONE "  mpiReplicaSpecs: {Launcher: " POD(", command: [mpirun]") "}\n"
#define RESTART(policy)                                                                            \
    "  mpiReplicaSpecs:\n    Launcher:\n      restartPolicy: " policy                              \
    "\n      template: {spec: {containers: [{name: c, image: i}]}}\n"

enum { A2 = 1, V1 = 2, B1 = 4, ALL = 7 };
static const struct {
    unsigned versions;
    const char *text, *want, *name;
} later[] = {
    {ALL, HEAD BOTH, "launcher=1x1 worker=2x1*", "a launcher and its workers"},
    {ALL, HEAD "  slotsPerWorker: 4\n" BOTH, "launcher=1x1 worker=2x4*", "slots"},
    {A2 | V1, HEAD "  slotsPerWorker: 0\n" BOTH, "E0203@5:19", "at least one"},
    {B1, HEAD "  slotsPerWorker: 0\n" BOTH, "W0314@5:19 launcher=1x1 worker=2x1*", "or none"},
    {ALL, HEAD "  slotsPerWorker: \"2\"\n" BOTH, "E0107@5:19", "which is a number"},
    {V1 | B1, HEAD "  slotsPerWorker: 8\n" ALONE, "launcher=1x8", "a launcher may be alone"},
    {A2, HEAD ALONE, "E0103@5:3", "but not for v1alpha2's operator"},
    {ALL,
     HEAD "  mpiReplicaSpecs: {Worker: {replicas: 1, template: {spec: {containers: [{name: c,"
          " image: i}]}}}}\n",
     "E0103@5:3", "never workers alone"},
    {ALL, HEAD "  mpiReplicaSpecs:\n", "E0103@5:3", "replica specs without a value"},
    {ALL, HEAD "  slotsPerWorker: 1\n", "E0103@4:1", "or not there at all"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher: " POD("") "\n    Worker:\n      template: {spec: "
                                                       "{containers: [{name: c, image: i}]}}\n",
     "E0103@7:5", "workers are counted"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher: " POD(
         "") "\n    Worker:\n      replicas: 0\n"
             "      template: {spec: {containers: [{name: c, image: i}]}}\n",
     "E0203@8:17", "from one on"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher:\n      replicas: 2\n"
          "      template: {spec: {containers: [{name: c, image: i}]}}\n"
          "    Worker: {replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n",
     "E0203@7:17", "there is one launcher"},
    {A2 | V1, HEAD "  newKey: 1\n" BOTH, "W0101@5:3 launcher=1x1 worker=2x1*",
     "an unknown key was kept by old API servers"},
    {B1, HEAD "  newKey: 1\n" BOTH, "E0101@5:3", "and is refused today"},
    {A2, HEAD "  backoffLimit: 3\n" BOTH, "launcher=1x1 worker=2x1*", "policies beside replicas"},
    {V1, HEAD "  backoffLimit: 3\n" BOTH, "W0101@5:3 launcher=1x1 worker=2x1*", "not in v1,"},
    {B1, HEAD "  backoffLimit: 3\n" BOTH, "E0101@5:3", "nor today"},
    {A2 | V1, HEAD "  cleanPodPolicy: All\n" BOTH, "launcher=1x1 worker=2x1*", "but for one"},
    {ALL, HEAD "  runPolicy: {cleanPodPolicy: Some}\n" BOTH, "E0209@5:31", "a known policy"},
    {A2, HEAD "  mpiDistribution: IntelMPI\n" BOTH, "launcher=1x1 worker=2x1*",
     "v1alpha2's word for Intel MPI"},
    {A2, HEAD "  mpiDistribution: Intel\n" BOTH, "E0209@5:20", "is not today's"},
    {B1, HEAD "  mpiImplementation: Intel\n" BOTH, "launcher=1x1 worker=2x1*", "which is this"},
    {B1, HEAD "  mpiImplementation: IntelMPI\n" BOTH, "E0209@5:22", "and not v1alpha2's"},
    {B1, HEAD "  launcherCreationPolicy: Later\n" BOTH, "E0209@5:27", "when the launcher is made"},
    {B1, HEAD "  sshAuthMountPath: /x\n" BOTH, "N0301@5:3 launcher=1x1 worker=2x1*",
     "keys are not needed"},
    {B1, HEAD "  runLauncherAsWorker: true\n  slotsPerWorker: 2\n" BOTH,
     "launcher=1x2* worker=2x2*", "the launcher is a worker too"},
    {V1,
     HEAD "  slotsPerWorker: 2\n  mpiReplicaSpecs:\n    Launcher: " POD(
         ", resources: {limits: {nvidia.com/gpu: 2}}") "\n",
     "launcher=1x2*", "a launcher with GPUs is a host in v1"},
    {B1, HEAD RESTART("Always"), "E0209@7:22", "restart policies that the operator refuses"},
    {B1, HEAD RESTART("ExitCode"), "E0209@7:22", "all but two"},
    {V1, HEAD RESTART("Always"), "launcher=1x1", "v1 takes them"},
    {V1, HEAD RESTART("ExitCode"), "W0311@7:22 launcher=1x1", "without a meaning for this one"},
    {V1, HEAD "  runPolicy: {backoffLimit: 2}\n" ALONE, "W0312@5:15 launcher=1x1",
     "retries that never happen"},
    {B1, HEAD "  runPolicy: {backoffLimit: 2}\n" ALONE, "launcher=1x1", "a Job does them"},
    {A2 | V1, HEAD "  mainContainer: d\n" BOTH, "E0212@8:45", "the container that mpirun enters"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher: " POD(
         ", command: [mpirun, -np, '3', x]") "\n    Worker: {replicas: 1, template: {spec: "
                                             "{containers: [{name: c, image: i}]}}}\n",
     "W0408@6:76 launcher=1x1 worker=1x1*", "more processes than slots"},
    {ALL,
     HEAD
     "  mpiReplicaSpecs:\n    Launcher: " POD(", command: [sh, -c], args: ['exec mpirun -np 3 "
                                              "--oversubscribe x']") "\n    Worker: {replicas: 1, "
                                                                     "template: {spec: "
                                                                     "{containers: [{name: c, "
                                                                     "image: i}]}}}\n",
     "launcher=1x1 worker=1x1*", "as the command wants it"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher: " POD(
         ", command: [sh, -c], args: ['exec mpirun -np 3 x']") "\n    Worker: {replicas: 1, "
                                                               "template: {spec: {containers: "
                                                               "[{name: c, image: i}]}}}\n",
     "W0408@6:76 launcher=1x1 worker=1x1*", "in a shell's text too"},
    {B1, "metadata: {name: 1j}\nspec:\n" BOTH, "E0201@3:18", "the name of a Service"},
    {A2 | V1, "metadata: {name: 1j}\nspec:\n" BOTH, "launcher=1x1 worker=2x1*", "is not needed"},
    {ALL,
     HEAD "  mpiReplicaSpecs:\n    Launcher: " POD(
         ", volumeMounts: [{name: mpi-job-config, "
         "mountPath: /etc/mpi}]") "\n    Worker: {replicas: 1, template: {spec: {containers: "
                                  "[{name: c, image: i, command: "
                                  "[sleep]}]}}}\n",
     "N0302@7:78 launcher=1x1 worker=1x1*", "the operator's volume; a worker's own command"},
};

static const struct {
    const struct dialect *dialect;
    const char *version;
} versions[] = {
    {&kubeflow_mpi_v1alpha2, "v1alpha2"},
    {&kubeflow_mpi_v1, "v1"},
    {&kubeflow_mpi_v2beta1, "v2beta1"},
};

static void test_later(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
        for (size_t k = 0; k < ARRAY_SIZE(versions); k++) {
            struct lowered l;

            if (!(later[i].versions & 1u << k))
                continue;
            lower_as(&l, versions[k].dialect, versions[k].version, later[i].text);
            is_str(in_words(&l), later[i].want, "%s: %s", versions[k].version, later[i].name);
            done(&l);
        }
    }
}

static void test_policies(void)
{
    struct lowered l;

    lower_as(&l, &kubeflow_mpi_v2beta1, "v2beta1",
             HEAD
             "  mpiImplementation: MPICH\n"
             "  runPolicy: {cleanPodPolicy: Running, ttlSecondsAfterFinished: 60, suspend: true,\n"
             "    activeDeadlineSeconds: 5, backoffLimit: 2, schedulingPolicy: {queue: q}}\n" BOTH);
    ok(l.spec, "all policies");
    if (l.spec) {
        const struct role *launcher = &l.spec->roles[0];

        ok(l.spec->clean_up == CLEAN_UP_RUNNING && l.spec->has_ttl && l.spec->ttl_s == 60, "ends");
        ok(l.spec->pause && l.spec->deadline_s == 5, "suspended, with a deadline");
        is_str(l.spec->queue, "q", "its queue");
        ok(launcher->restart == RESTART_ON_FAILURE && launcher->restart_limit == 2,
           "its Job starts the launcher again");
        is_str(l.spec->implementation, "MPICH", "the implementation");
        ok(l.spec->root_at == l.doc.roots[0], "the document is kept");
        ok(launcher->n_mounts == 1 && launcher->mounts[0].source == VOLUME_OPERATOR &&
               !strcmp(launcher->mounts[0].path, "/etc/mpi"),
           "the launcher has what the operator mounts");
    }
    done(&l);

    lower_as(
        &l, &kubeflow_mpi_v1alpha2, "v1alpha2",
        HEAD
        "  backoffLimit: 3\n  activeDeadlineSeconds: 7\n  runPolicy: {backoffLimit: 1}\n" BOTH);
    is_str(in_words(&l), "W0340@5:3 launcher=1x1 worker=2x1*", "runPolicy wins, and it is told");
    ok(l.spec && l.spec->roles[0].restart_limit == 1 && l.spec->deadline_s == 7, "each where said");
    is_str(l.spec ? l.spec->implementation : NULL, "OpenMPI", "Open MPI unless said");
    done(&l);

    lower_as(&l, &kubeflow_mpi_v1, "v1", HEAD RESTART("OnFailure"));
    ok(l.spec && l.spec->roles[0].restart == RESTART_ON_FAILURE &&
           l.spec->roles[0].restart_limit == -1,
       "v1: a Pod is started again as its policy says");
    done(&l);

    lower_as(&l, &kubeflow_mpi_v1, "v1", HEAD "  gpus: 8\n  template: {}\n");
    ok(l.ds.n > 0, "a body of v1alpha1");
    for (size_t i = 0; i < l.ds.n; i++)
        if (l.ds.v[i].severity == SEV_ERROR)
            has(l.ds.v[i].hint, "kubeflow.org/v1alpha1", "gets the version it is of");
    done(&l);
}

int main(void)
{
    test_counts();
    test_roles();
    test_later();
    test_policies();
    return tap_done();
}
