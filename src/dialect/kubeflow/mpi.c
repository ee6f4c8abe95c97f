/* mpi.c - lowers Kubeflow's MPIJob from v1alpha2 on into the job model.
 *
 * A launcher with a command of its own, and workers that only wait for its mpirun. The versions
 * differ in where policies stand, in what their operators demand, and in what the launcher is: a
 * Job of Kubernetes, which starts it again as often as backoffLimit says, or in v1 a bare Pod.
 *
 * Not here: v1alpha1, which has one template for both roles (mpi_v1alpha1.c). */
#include <string.h>

#include "dialect/dialect.h"
#include "dialect/kubeflow/mpi.h"
#include "dialect/mpirun.h"

struct version {
    const struct dialect *dialect;
    enum platform_kind platform;
    const struct bind_table *table;
    const char *manager;
    unsigned restarts;    /* bits of the restart policies that the operator takes */
    bool launcher_is_pod; /* else a Job */
    bool needs_worker;    /* its operator does not survive a job without any */
    bool is_service;      /* the job's name becomes a Service's */
};

struct lowering {
    struct binder b;
    const struct version *version;
    const struct mpi_spec_v *in;
    struct job_spec *out;
};

/* --- what is missing ------------------------------------------------------------------------ */

static void report_no_replicas(struct lowering *l)
{
    bool old = node_key(l->in->at, "template") || node_key(l->in->at, "gpus") ||
               node_key(l->in->at, "processingUnits");

    bind_missing(&l->b, l->in->at, "spec", "mpiReplicaSpecs",
                 old ? "this is the spec of a v1alpha1 job; use apiVersion " KUBEFLOW_V1ALPHA1
                     : NULL);
}

/* A worker that is there counts its replicas; what operators fill in for them is none. */
static void check_worker_count(struct lowering *l, const struct kubeflow_replica *r)
{
    if (node_absent(r->at, "replicas"))
        bind_missing(&l->b, r->at, "Worker", "replicas", NULL);
    else if (r->replicas == 0)
        diag_at(l->b.ds, node_get(r->at, "replicas"), "E0203",
                "remove Worker to run the launcher alone",
                "`replicas` of Worker must be at least 1");
}

static void check_launcher_count(struct lowering *l, const struct kubeflow_replica *r)
{
    if (!node_absent(r->at, "replicas") && r->replicas >= 0 && r->replicas != 1)
        diag_at(l->b.ds, node_get(r->at, "replicas"), "E0203", NULL,
                "`replicas` of the launcher must be 1, not %d", r->replicas);
}

/* --- roles ---------------------------------------------------------------------------------- */

/* The volumes that the operator adds to each pod, under the names it gives them. */
static const struct pod_volume *operator_volumes(struct lowering *l, size_t *ret_n)
{
    static const struct pod_empty_dir empty;
    struct pod_files *keys = ARENA_NEW(l->b.a, struct pod_files);
    struct pod_volume *v = ARENA_ARRAY(l->b.a, struct pod_volume, 3);

    *keys = (struct pod_files){
        /* nobody needs them here */
        .name = arena_printf(l->b.a, "%s-ssh", l->out->name ? l->out->name : ""),
        .optional = true,
    };
    v[0] = (struct pod_volume){.name = MPI_OPERATOR_VOLUME, .of_operator = true};
    v[1] = (struct pod_volume){.name = "ssh-auth", .secret = keys};
    v[2] = (struct pod_volume){.name = "mpi-job-kubectl", .empty_dir = &empty};
    *ret_n = 3;
    return v;
}

static void fill_role(struct lowering *l, const struct kubeflow_replica *r,
                      const struct pod_container *c, struct role *role)
{
    size_t n;
    const struct pod_volume *given = operator_volumes(l, &n);

    pod_fill_role_given(&l->b, r->template_, c, given, n, role);
    pod_note_unused(&l->b, r->template_, c);
}

/* A Job starts its pod again whatever the pod's own policy is, six times unless the file says
 * otherwise. Nobody who tries a file here waits for that: only what the file says is done. */
static void lower_restart(struct lowering *l, const struct kubeflow_replica *r,
                          struct role *launcher)
{
    const struct job_spec *out = l->out;

    kubeflow_lower_restart(&l->b, r, l->version->restarts, launcher);
    if (out->has_restart_budget)
        launcher->restart_limit = out->restart_budget;
    if (!l->version->launcher_is_pod) {
        launcher->restart = RESTART_ON_FAILURE;
        if (!out->has_restart_budget)
            launcher->restart_limit = 0;
        return;
    }
    if (launcher->restart == RESTART_EXIT_CODE) {
        diag_at(l->b.ds, node_get(r->at, "restartPolicy"), "W0311", "use OnFailure or Never",
                "an MPIJob does not support ExitCode; using Never");
        launcher->restart = RESTART_NEVER;
    }
    if (launcher->restart == RESTART_NEVER && out->has_restart_budget && out->restart_budget > 0)
        diag_at(l->b.ds, node_label(node_get(l->in->policy->at, "backoffLimit")), "W0312",
                "set `restartPolicy: OnFailure` in Launcher",
                "`backoffLimit` has no effect: the launcher is never restarted");
}

/* Of v2beta1 only: its operator takes 0, and the hostfile then has room for nobody. */
static int32_t slots_of(const struct lowering *l)
{
    return l->in->slots > 0 ? l->in->slots : 1;
}

static void lower_launcher(struct lowering *l, const struct kubeflow_replica *r, bool alone,
                           struct role *launcher)
{
    const struct pod_container *c = kubeflow_container(&l->b, r, NULL);

    launcher->kind = ROLE_LAUNCHER;
    launcher->hosts_ranks = l->in->launcher_is_worker;
    if (alone || launcher->hosts_ranks)
        launcher->slots = slots_of(l);
    check_launcher_count(l, r);
    lower_restart(l, r, launcher);
    if (!c)
        return;
    fill_role(l, r, c, launcher);
    mpi_mount_operator_files(l->b.a, launcher);
    if (l->version->launcher_is_pod && launcher->res.gpu > 0) {
        launcher->hosts_ranks =
            true; /* v1's operator puts a launcher with GPUs into the hostfile */
        launcher->slots = slots_of(l);
    }
    kubeflow_lower_command(l->b.a, c, launcher);
    l->out->container = c->name;
}

static void lower_worker(struct lowering *l, const struct kubeflow_replica *r, struct role *worker)
{
    const struct pod_container *c = kubeflow_container(&l->b, r, l->in->main_container);

    worker->kind = ROLE_HOST;
    worker->replicas = r->replicas;
    worker->replicas_at = node_get(r->at, "replicas");
    worker->slots = slots_of(l);
    kubeflow_lower_restart(&l->b, r, l->version->restarts, worker);
    if (!c)
        return;
    fill_role(l, r, c, worker);
    if (c->command || c->args)
        diag_at(l->b.ds, node_key(c->at, c->command ? "command" : "args"), "N0302", NULL,
                "the command of a worker is not run; mpirun starts ranks in it without a daemon");
}

static void lower_roles(struct lowering *l)
{
    const struct kubeflow_replicas *in = l->in->replicas;
    const struct kubeflow_replica *worker = in->of[KUBEFLOW_WORKER];
    enum kubeflow_type order[KUBEFLOW_TYPES];
    size_t n = kubeflow_order(&l->b, in, order);
    struct role *roles = ARENA_ARRAY(l->b.a, struct role, n);

    if (node_absent(in->at, "Launcher"))
        bind_missing(&l->b, in->at, "mpiReplicaSpecs", "Launcher", NULL);
    if (l->version->needs_worker && node_absent(in->at, "Worker"))
        bind_missing(&l->b, in->at, "mpiReplicaSpecs", "Worker", NULL);
    if (worker)
        check_worker_count(l, worker);
    if (l->in->slots == 0)
        diag_at(l->b.ds, node_get(l->in->at, "slotsPerWorker"), "W0314", "use 1, or omit it",
                "0 slots per worker: mpirun would refuse to start; using 1");
    for (size_t i = 0; i < n; i++) {
        struct role *role = &roles[i];

        *role = spec_new_role(kubeflow_roles[order[i]], ROLE_PLAIN);
        if (order[i] == KUBEFLOW_LAUNCHER)
            lower_launcher(l, in->of[order[i]], !worker, role);
        else
            lower_worker(l, in->of[order[i]], role);
    }
    l->out->roles = roles;
    l->out->n_roles = n;
    mpirun_check(&l->b, l->out, NULL, "increase `slotsPerWorker` or the number of workers");
}

/* --- the rest of spec ----------------------------------------------------------------------- */

static void lower_policies(struct lowering *l)
{
    struct kubeflow_run_policy old = l->in->old;

    old.at = l->in->at;
    if (l->version->launcher_is_pod) /* its table has no rows for the numbers, which are 0 then */
        old.ttl = old.deadline = old.backoff_limit = -1;
    kubeflow_lower_policies(&l->b, l->in->policy,
                            l->version->table == &mpi_v2beta1_table ? NULL : &old,
                            l->version->manager, l->out);
}

/* v1alpha2 has a word of its own for Intel's. */
static const char *implementation(const struct mpi_spec_v *in)
{
    if (!in->implementation)
        return "OpenMPI";
    return strcmp(in->implementation, "IntelMPI") == 0 ? "Intel" : in->implementation;
}

static void lower_spec(struct lowering *l)
{
    lower_policies(l);
    l->out->implementation = implementation(l->in);
    if (l->in->replicas)
        lower_roles(l);
    else if (node_absent(l->in->at, "mpiReplicaSpecs"))
        report_no_replicas(l);
}

/* --- the document --------------------------------------------------------------------------- */

static bool detect(const struct node *root, const char *version)
{
    const struct node *api = node_get(root, "apiVersion"), *kind = node_get(root, "kind");

    return api && api->type == NODE_STRING && strcmp(api->text, version) == 0 && kind &&
           kind->type == NODE_STRING && strcmp(kind->text, "MPIJob") == 0;
}

static enum verdict lower(const struct version *version, struct arena *a, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = version->table}, .version = version};
    size_t before = ds->n_errors;
    const struct mpi_job *job = bind_map(&l.b, version->table, root);

    *ret = NULL;
    if (!job)
        return VERDICT_ACCEPT;
    l.out = ARENA_NEW(a, struct job_spec);
    *l.out = (struct job_spec){.dialect = version->dialect->id,
                               .platform = platform_of(version->platform),
                               .framework = FRAMEWORK_MPI,
                               .file = doc->file,
                               .priority = -1,
                               .root_at = root};
    if (job->metadata)
        kube_lower_metadata(&l.b, job->metadata, l.out);
    l.in = job->spec;
    if (l.in)
        lower_spec(&l);
    if (l.out->name && version->is_service)
        kubeflow_check_name(&l.b, l.out);
    if (l.out->name && l.in)
        spec_validate(l.out, ds);
    if (ds->n_errors == before && l.out->name && l.in)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

#define DIALECT(name, version_text, table_at, ...)                                                 \
    static const struct version name##_version = {                                                 \
        .dialect = &kubeflow_##name, .table = (table_at), __VA_ARGS__};                            \
    static bool detect_##name(const struct node *root)                                             \
    {                                                                                              \
        return detect(root, "kubeflow.org/" version_text);                                         \
    }                                                                                              \
    static enum verdict lower_##name(struct arena *a, const struct read_options *opts,             \
                                     const struct doc *doc, const struct node *root,               \
                                     struct diags *ds, struct job_spec **ret)                      \
    {                                                                                              \
        (void)opts;                                                                                \
        return lower(&name##_version, a, doc, root, ds, ret);                                      \
    }                                                                                              \
    const struct dialect kubeflow_##name = {.id = "kubeflow-mpi-" version_text,                    \
                                            .title = "Kubeflow's MPIJob, " version_text,           \
                                            .root_table = (table_at),                              \
                                            .detect = detect_##name,                               \
                                            .lower = lower_##name}

DIALECT(mpi_v1alpha2, "v1alpha2", &mpi_v1alpha2_table, .platform = PLATFORM_MPIJOB_V1ALPHA2,
        .manager = "kubeflow.org/mpi-operator", .restarts = KUBEFLOW_RESTARTS,
        .needs_worker = true);
DIALECT(mpi_v1, "v1", &mpi_v1_table, .platform = PLATFORM_MPIJOB_V1,
        .manager = "kubeflow.org/training-operator", .restarts = KUBEFLOW_RESTARTS,
        .launcher_is_pod = true);
DIALECT(mpi_v2beta1, "v2beta1", &mpi_v2beta1_table, .platform = PLATFORM_MPIJOB_V2BETA1,
        .manager = "kubeflow.org/mpi-operator",
        .restarts = 1u << RESTART_NEVER | 1u << RESTART_ON_FAILURE, .is_service = true);
