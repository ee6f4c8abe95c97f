/* tf.c - lowers Kubeflow's TFJob into the job model.
 *
 *   v1     spec{runPolicy, tfReplicaSpecs{PS, Worker, Chief, Master, Evaluator}, successPolicy,
 *          enableDynamicWorker}
 *   older  spec{cleanPodPolicy, backoffLimit, …, tfReplicaSpecs}: policies beside the replicas
 *
 * Not here: TF_CONFIG (plan/env_tensorflow.c); v1alpha1, which was another form.
 */
#include <string.h>

#include "dialect/dialect.h"
#include "dialect/kubeflow/kubeflow.h"

#define MANAGER "kubeflow.org/training-operator"

struct tf_spec {
    const struct node *at;
    const struct kubeflow_run_policy *run_policy;
    struct kubeflow_run_policy old;
    const struct kubeflow_replicas *replicas;
    const char *success;
    bool dynamic;
};

struct tf_job {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct tf_spec *spec;
};

/* --- tables --------------------------------------------------------------------------------- */

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct bind_field types_fields[] = {
    KUBEFLOW_TYPE("Chief", KUBEFLOW_CHIEF, &kubeflow_replica_table),
    KUBEFLOW_TYPE("Master", KUBEFLOW_MASTER, &kubeflow_replica_table),
    KUBEFLOW_TYPE("PS", KUBEFLOW_PS, &kubeflow_replica_table),
    KUBEFLOW_TYPE("Worker", KUBEFLOW_WORKER, &kubeflow_replica_table),
    KUBEFLOW_TYPE("Evaluator", KUBEFLOW_EVALUATOR, &kubeflow_replica_table),
};
static const struct bind_table types_table = KUBEFLOW_TYPES_TABLE("tfReplicaSpecs", types_fields);

static const struct bind_field spec_fields[] = {
    {.key = "tfReplicaSpecs",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &types_table,
     AT(tf_spec, replicas),
     .doc = "The replicas by type, in any letter case."},
    {.key = "runPolicy",
     .kind = BIND_STRUCT,
     .table = &kubeflow_run_policy_table,
     AT(tf_spec, run_policy),
     .doc = "Policies of the whole job. Old files have some of them next to the replicas."},
    {.key = "successPolicy",
     .kind = BIND_STRING,
     AT(tf_spec, success),
     .doc = "AllWorkers: without a chief, all workers must succeed, not only worker 0."},
    {.key = "enableDynamicWorker",
     .kind = BIND_BOOL,
     AT(tf_spec, dynamic),
     .doc = "TF_CONFIG of a worker lists only itself and the parameter servers."},
    KUBEFLOW_OLD_POLICIES(struct tf_spec, old),
};
static const struct bind_table spec_table = BIND_TABLE("spec", struct tf_spec, spec_fields);

static const struct bind_field job_fields[] = {
    {.key = "apiVersion",
     .kind = BIND_STRING,
     .required = true,
     AT(tf_job, api_version),
     .doc = "kubeflow.org/v1, or v1beta2, v1beta1 and v1alpha2 of the same group."},
    {.key = "kind", .kind = BIND_STRING, .required = true, AT(tf_job, kind), .doc = "TFJob."},
    {.key = "metadata",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &kube_metadata_table,
     AT(tf_job, metadata),
     .doc = "The job's name and namespace."},
    {.key = "spec",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &spec_table,
     AT(tf_job, spec),
     .doc = "The job."},
    {.key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER},
};
static const struct bind_table job_table = BIND_TABLE("the TFJob", struct tf_job, job_fields);

static const struct kubeflow_kind kind = {
    .container = "tensorflow", .port = "tfjob-port", .number = 2222, .restart = RESTART_NEVER};

struct lowering {
    struct binder b;
    const struct tf_spec *in;
    struct job_spec *out;
    struct role *of[KUBEFLOW_TYPES];
};

/* --- when it is over ------------------------------------------------------------------------ */

static bool all_workers(struct lowering *l)
{
    static const char *const words[] = {"AllWorkers"};

    if (!l->in->success || !*l->in->success)
        return false;
    bind_word(&l->b, node_get(l->in->at, "successPolicy"), "successPolicy", l->in->success, words,
              ARRAY_SIZE(words));
    return true;
}

/* A chief or master decides; without one worker 0 does, or all workers if the file wants them. */
static void lower_completion(struct lowering *l)
{
    struct role *chief = l->of[KUBEFLOW_CHIEF], *worker = l->of[KUBEFLOW_WORKER];
    bool all = all_workers(l);

    chief = chief ? chief : l->of[KUBEFLOW_MASTER];
    if (chief)
        chief->min_succeeded = chief->replicas;
    else if (worker && all)
        worker->min_succeeded = worker->replicas;
    else if (worker)
        worker->first_decides = true;
    kubeflow_leave_alone(l->out, l->of);
    if (!chief && !worker && l->out->n_roles)
        diag_at(l->b.ds, node_label(l->in->replicas->at), "W0346", "add a Chief or a Worker",
                "a Chief or a Worker is required to determine the end of the job");
    if (chief && all)
        diag_at(l->b.ds, node_get(l->in->at, "successPolicy"), "W0344", NULL,
                "`successPolicy` has no effect: the %s determines success", chief->name);
}

/* Workers may come and go: the job fails only when none is left. */
static void lower_dynamic(struct lowering *l)
{
    struct role *worker = l->of[KUBEFLOW_WORKER];

    l->out->sparse_cluster = l->in->dynamic;
    if (l->in->dynamic && worker)
        worker->min_failed = worker->replicas;
}

/* --- roles ---------------------------------------------------------------------------------- */

static void check_chief(struct lowering *l)
{
    const struct kubeflow_replicas *in = l->in->replicas;

    if (in->of[KUBEFLOW_CHIEF] && in->of[KUBEFLOW_MASTER])
        diag_at(l->b.ds, node_label(in->of[KUBEFLOW_MASTER]->at), "E0343", "keep one of them",
                "Master is the old name of Chief, and there is a Chief");
    for (size_t i = 0; i < l->out->n_roles; i++) {
        const struct role *role = &l->out->roles[i];

        if (role->replicas > 1 && (role == l->of[KUBEFLOW_CHIEF] || role == l->of[KUBEFLOW_MASTER]))
            diag_at(l->b.ds, role->replicas_at, "W0347", "use 1, and more workers",
                    "%d replicas of the %s, but TensorFlow allows one", role->replicas, role->name);
    }
}

static void lower_spec(struct lowering *l)
{
    struct kubeflow_run_policy old = l->in->old;
    const enum kubeflow_type *order;
    struct role *roles;

    old.at = l->in->at;
    kubeflow_lower_policies(&l->b, l->in->run_policy, &old, MANAGER, l->out);
    if (!l->in->replicas)
        return;
    roles = kubeflow_lower_roles(&l->b, l->in->replicas, &kind, l->out, &order);
    for (size_t i = 0; i < l->out->n_roles; i++) {
        l->of[order[i]] = &roles[i];
        kubeflow_add_port(&l->b, &kind, l->in->replicas->of[order[i]], "TF_CONFIG", &roles[i]);
    }
    check_chief(l);
    kubeflow_check_budget(&l->b, l->out, l->in->run_policy, &old);
    lower_completion(l);
    lower_dynamic(l);
}

/* --- the document --------------------------------------------------------------------------- */

static bool detect(const struct node *root)
{
    return kubeflow_detect(root, "TFJob");
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = &job_table}};
    size_t before = ds->n_errors;
    const struct tf_job *job;

    (void)opts;
    *ret = NULL;
    l.b.lenient = kubeflow_is_old(root);
    job = bind_map(&l.b, &job_table, root);
    if (!job)
        return VERDICT_ACCEPT;
    l.out = kubeflow_new_job(&l.b, doc, root, &kubeflow_tf, PLATFORM_TFJOB, "TFJob", job->metadata);
    l.out->framework = FRAMEWORK_TENSORFLOW;
    if (l.b.lenient)
        l.out->clean_up = CLEAN_UP_RUNNING;
    l.in = job->spec;
    if (l.in)
        lower_spec(&l);
    *ret = kubeflow_finish(l.out, ds, before);
    return VERDICT_ACCEPT;
}

const struct dialect kubeflow_tf = {.id = "kubeflow-tf",
                                    .title = "Kubeflow's TFJob",
                                    .root_table = &job_table,
                                    .detect = detect,
                                    .lower = lower};
