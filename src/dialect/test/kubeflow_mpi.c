/* kubeflow_mpi.c - Kubeflow's MPIJobs lowered into the model: counts as the controller has them. */
#include "dialect/kubeflow_mpi.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "doc/yaml.h"

struct lowered {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    struct job_spec *spec;
};

static void lower(struct lowered *l, const char *spec, const struct read_options *opts)
{
    l->a = arena_new();
    diags_init(&l->ds, l->a);

    const char *text = arena_printf(l->a,
                                    "apiVersion: kubeflow.org/v1alpha1\nkind: MPIJob\n"
                                    "metadata: {name: j}\nspec:\n%s",
                                    spec);

    yaml_read(l->a, "x.yaml", text, strlen(text), &l->ds, &l->doc);
    kubeflow_mpi_v1alpha1.lower(l->a, opts, &l->doc, l->doc.roots[0], &l->ds, &l->spec);
    diags_sort(&l->ds);
}

static void done(struct lowered *l)
{
    diags_release(&l->ds);
    arena_free(l->a);
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

int main(void)
{
    test_counts();
    test_roles();
    return tap_done();
}
