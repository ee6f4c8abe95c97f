/* mpi_v1alpha1.c - lowers the first MPIJob of Kubeflow into the job model.
 *
 * One template is both roles: the launcher runs its command, the workers only wait for mpirun. How
 * many there are follows the controller's own arithmetic; what it merely logged is an error here.
 */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "dialect/dialect.h"
#include "dialect/kubeflow/kubeflow.h"
#include "dialect/kubeflow/mpi.h"
#include "dialect/mpirun.h"

#define AT(member) .offset = offsetof(struct mpi_v1alpha1_spec, member)
#define COUNT(name, member, text)                                                                  \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .min = 1, .max = INT32_MAX, AT(member), .doc = (text)     \
    }

static const struct bind_field spec_fields[] = {
    COUNT("gpus", gpus, "Total number of GPUs: 1, 2, 4 or a multiple of 8."),
    COUNT("gpusPerNode", gpus_per_node, "GPUs per node."),
    COUNT("processingUnits", units, "Total number of processing units, likewise."),
    COUNT("processingUnitsPerNode", units_per_node, "Processing units per node."),
    COUNT("replicas", replicas,
          "The number of workers. Exactly one of gpus, processingUnits and replicas is required."),
    COUNT("slotsPerWorker", slots,
          "The number of ranks per worker (default: its number of units)."),
    {.key = "processingResourceType",
     .kind = BIND_STRING,
     AT(resource),
     .doc = "The type of a unit: nvidia.com/gpu or cpu."},
    {.key = "template",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &pod_template_table,
     AT(template_),
     .doc = "The pod template of launcher and workers. Its first container is used."},
    {.key = "launcherOnMaster", .kind = BIND_NOTED},
    {.key = "backoffLimit",
     .kind = BIND_INT,
     .min = 0,
     .max = INT32_MAX,
     AT(backoff_limit),
     .doc = "Maximum number of restarts of the launcher."},
    {.key = "activeDeadlineSeconds",
     .kind = BIND_INT,
     .min = 1,
     .max = INT32_MAX,
     AT(deadline),
     .doc = "Seconds that the job may run."},
};
static const struct bind_table spec_table =
    BIND_TABLE_LENIENT("spec", struct mpi_v1alpha1_spec, spec_fields);

#define JOB(member) .offset = offsetof(struct mpi_v1alpha1_job, member)
static const struct bind_field job_fields[] = {
    {.key = "apiVersion", .kind = BIND_STRING, .required = true, JOB(api_version)},
    {.key = "kind", .kind = BIND_STRING, .required = true, JOB(kind)},
    {.key = "metadata",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &kube_metadata_lenient_table,
     JOB(metadata)},
    {.key = "spec", .kind = BIND_STRUCT, .required = true, .table = &spec_table, JOB(spec)},
    {.key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER},
};
const struct bind_table mpi_v1alpha1_table =
    BIND_TABLE_LENIENT("the MPIJob", struct mpi_v1alpha1_job, job_fields);

enum { LAUNCHER, WORKER, N_ROLES };

struct lowering {
    struct binder b;
    const struct read_options *opts;
    const struct mpi_v1alpha1_spec *in;
    struct job_spec *out;
    struct role *roles;
};

/* --- how many ------------------------------------------------------------------------------- */

bool mpi_v1alpha1_total_ok(int64_t total)
{
    return total == 1 || total == 2 || total == 4 || (total > 0 && total % 8 == 0);
}

static bool stands_before(const struct node *a, const struct node *b)
{
    return a->pos.line != b->pos.line ? a->pos.line < b->pos.line : a->pos.column < b->pos.column;
}

/* Exactly one of three keys says how many workers there are. */
static bool check_one_count(struct lowering *l)
{
    static const char *const keys[] = {"gpus", "processingUnits", "replicas"};
    const struct node *first = NULL, *last = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *key = node_key(l->in->at, keys[i]);

        if (node_absent(l->in->at, keys[i]))
            continue;
        first = !first || stands_before(key, first) ? key : first;
        last = !last || stands_before(last, key) ? key : last;
    }
    if (!first)
        diag_at(l->b.ds, node_label(l->in->at), "E0103", "write `replicas`, or `gpus` for a total",
                "one of `gpus`, `processingUnits` and `replicas` is required in spec");
    else if (first != last)
        diag_at(l->b.ds, last, "E0106", "keep one of them",
                "`%s` conflicts with `%s` (line %u): exactly one of gpus, processingUnits and "
                "replicas is allowed",
                last->text, first->text, first->pos.line);
    return first && first == last;
}

static const char *resource_type(struct lowering *l)
{
    static const char *const types[] = {"nvidia.com/gpu", "cpu"};

    if (!l->in->resource)
        return types[0];
    bind_word(&l->b, node_get(l->in->at, "processingResourceType"), "processingResourceType",
              l->in->resource, types, ARRAY_SIZE(types));
    return l->in->resource;
}

/* A total is spread over nodes: fewer than a node has are one worker, else nodes must be full. */
static int64_t spread(struct lowering *l, const char *key, int64_t total, int64_t per_node)
{
    const struct node *at = node_get(l->in->at, key);
    struct role *worker = &l->roles[WORKER];

    worker->replicas_at = at;
    if (!mpi_v1alpha1_total_ok(total)) {
        diag_at(l->b.ds, at, "E0501", NULL, "`%s` must be 1, 2, 4 or a multiple of 8, not %lld",
                key, (long long)total);
        return 0;
    }
    if (total < per_node) {
        worker->replicas = 1;
        return total;
    }
    if (total % per_node != 0) {
        diag_at(l->b.ds, at, "E0502",
                arena_printf(l->b.a,
                             "use --gpus-per-node or `%sPerNode` to change the number per node",
                             key),
                "%lld is not a multiple of %lld, the number per node", (long long)total,
                (long long)per_node);
        return 0;
    }
    worker->replicas = (int32_t)(total / per_node);
    return per_node;
}

/* A process per unit, unless slotsPerWorker says otherwise. at: what the units come from. */
static int32_t slots_for(struct lowering *l, int64_t units, const struct node *at)
{
    if (l->in->slots)
        return l->in->slots;
    if (units > LIMIT_SLOTS)
        diag_at(l->b.ds, at, "E0203", NULL, "a worker runs at most %d processes, not %lld",
                LIMIT_SLOTS, (long long)units);
    return units > 0 && units <= LIMIT_SLOTS ? (int32_t)units : 1;
}

/* The controller's allocateProcessingUnits(): workers, and units for each of them. */
static void lower_counts(struct lowering *l, const struct pod_container *c)
{
    const struct mpi_v1alpha1_spec *in = l->in;
    const char *type = resource_type(l);
    bool cpu = strcmp(type, "cpu") == 0;
    struct role *worker = &l->roles[WORKER];
    struct resources *res = &worker->res;
    const struct node *units_at = NULL;
    int64_t units = 0, asked = l->opts->gpus_per_node;

    if (!check_one_count(l))
        return;
    if (in->gpus) {
        int64_t per_node = in->gpus_per_node ? in->gpus_per_node
                           : asked           ? asked
                                             : KUBEFLOW_GPUS_PER_NODE;

        units = spread(l, "gpus", in->gpus, per_node);
    } else if (in->units) {
        units =
            spread(l, "processingUnits", in->units, in->units_per_node ? in->units_per_node : 1);
    } else {
        const struct node *limit = c && c->resources ? node_get(c->resources->limits, type) : NULL;

        worker->replicas = in->replicas;
        worker->replicas_at = node_get(in->at, "replicas");
        units_at = limit;
        if (limit) /* its form was checked with the container's resources */
            units = cpu ? res->cpu_limit_milli / 1000 : res->gpu;
    }
    if (units > 0 && !cpu) {
        res->gpu = units;
        if (in->gpus || in->units)
            res->gpu_at = node_get(in->at, in->gpus ? "gpus" : "processingUnits");
    }
    if (units > 0 && cpu && res->cpu_limit_milli == QUANTITY_UNSET)
        res->cpu_limit_milli = units * 1000;
    worker->slots = slots_for(l, units, units_at ? units_at : worker->replicas_at);
}

/* --- roles ---------------------------------------------------------------------------------- */

static void lower_launcher(struct lowering *l, const struct pod_container *c)
{
    struct role *launcher = &l->roles[LAUNCHER];
    const struct role *worker = &l->roles[WORKER];

    pod_share_role(worker, launcher);
    mpi_mount_operator_files(l->b.a, launcher);
    kubeflow_lower_command(l->b.a, c, launcher);
}

/* The launcher is a Job of Kubernetes, which starts it again after a failure, six times unless the
 * file says otherwise. Nobody who tries a file here waits for that: only what the file says is
 * done. */
static void lower_limits(struct lowering *l)
{
    l->roles[LAUNCHER].restart = RESTART_ON_FAILURE;
    l->roles[LAUNCHER].restart_limit = l->in->backoff_limit;
    l->out->deadline_s = l->in->deadline;
}

static void lower_spec(struct lowering *l)
{
    const struct pod_template *t = l->in->template_;
    const struct pod_container *c =
        t && t->spec && t->spec->containers.n ? t->spec->containers.v : NULL;

    l->roles = ARENA_ARRAY(l->b.a, struct role, N_ROLES);
    l->roles[LAUNCHER] = (struct role){.name = "launcher", .kind = ROLE_LAUNCHER};
    l->roles[WORKER] = (struct role){.name = "worker", .kind = ROLE_HOST};
    for (size_t i = 0; i < N_ROLES; i++) {
        l->roles[i].replicas = l->roles[i].slots = 1;
        l->roles[i].slots_kind = SLOTS_NUMBER;
        l->roles[i].res = RESOURCES_UNSET;
        l->roles[i].grace_s = -1;
    }
    l->out->roles = l->roles;
    l->out->n_roles = N_ROLES;
    if (c) {
        pod_fill_role(&l->b, t, c, &l->roles[WORKER]);
        pod_note_unused(&l->b, t, c);
        lower_launcher(l, c);
        l->out->container = c->name;
    } else if (t && !t->spec) {
        bind_missing(&l->b, t->at, "template", "spec", NULL);
    }
    lower_counts(l, c);
    lower_limits(l);
}

/* --- the document --------------------------------------------------------------------------- */

static bool detect(const struct node *root)
{
    const struct node *api = node_get(root, "apiVersion"), *kind = node_get(root, "kind");

    return api && api->type == NODE_STRING && strcmp(api->text, KUBEFLOW_V1ALPHA1) == 0 && kind &&
           kind->type == NODE_STRING && strcmp(kind->text, "MPIJob") == 0;
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = &mpi_v1alpha1_table}, .opts = opts};
    size_t before = ds->n_errors;
    const struct mpi_v1alpha1_job *job = bind_map(&l.b, &mpi_v1alpha1_table, root);

    *ret = NULL;
    if (!job)
        return VERDICT_ACCEPT;
    l.out = ARENA_NEW(a, struct job_spec);
    *l.out = (struct job_spec){.dialect = kubeflow_mpi_v1alpha1.id,
                               .platform = platform_of(PLATFORM_MPIJOB_V1ALPHA1),
                               .framework = FRAMEWORK_MPI,
                               .file = doc->file,
                               .priority = -1};
    if (job->metadata)
        kube_lower_metadata(&l.b, job->metadata, l.out);
    l.in = job->spec;
    if (l.in)
        lower_spec(&l);
    if (l.out->n_roles)
        mpirun_check(&l.b, l.out, NULL, "increase `slotsPerWorker` or the number of workers");
    if (l.out->name && l.in)
        spec_validate(l.out, ds);
    if (ds->n_errors == before && l.out->name && l.in)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

const struct dialect kubeflow_mpi_v1alpha1 = {.id = "kubeflow-mpi-v1alpha1",
                                              .title = "Kubeflow's MPIJob, v1alpha1",
                                              .root_table = &mpi_v1alpha1_table,
                                              .detect = detect,
                                              .lower = lower};
