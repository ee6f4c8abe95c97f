/* pytorch.c - lowers Kubeflow's PyTorchJob into the job model.
 *
 *   v1     spec{runPolicy, pytorchReplicaSpecs{Master, Worker}, nprocPerNode, elasticPolicy}
 *   older  spec{cleanPodPolicy, backoffLimit, …, pytorchReplicaSpecs}: policies beside the
 *          replicas; some v1 files are still written so. Torchrun did not exist, hence no PET_*
 *          there.
 *
 * A replica's command runs once; if it is torchrun, it starts the processes of the node itself.
 *
 * Not here: the environment (plan/env_torch.c).
 */
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "dialect/dialect.h"
#include "dialect/kubeflow/kubeflow.h"

#define MANAGER "kubeflow.org/training-operator"

struct rdzv_conf {
    const struct node *at;
    const char *key, *value;
};

struct elastic { /* numbers are -1 if absent */
    const struct node *at;
    int32_t min_replicas, max_replicas, max_restarts, n_proc, port;
    const char *backend, *host, *id;
    BIND_LIST(struct rdzv_conf) conf;
    bool standalone;
};

struct pytorch_spec {
    const struct node *at;
    const struct kubeflow_run_policy *run_policy;
    struct kubeflow_run_policy old;
    const struct kubeflow_replicas *replicas;
    const struct elastic *elastic;
    const char *nproc;
};

struct pytorch_job {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct pytorch_spec *spec;
};

/* --- tables --------------------------------------------------------------------------------- */

#define AT(type, member) .offset = offsetof(struct type, member)
#define NUMBER(name, low, high, member, words)                                                     \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .min = (low), .max = (high), .def = -1,                   \
        AT(elastic, member), .doc = (words)                                                        \
    }
#define TEXT(type, name, member, words)                                                            \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, AT(type, member), .doc = (words)                       \
    }

static const struct bind_field conf_fields[] = {
    {.key = "key",
     .kind = BIND_STRING,
     .required = true,
     AT(rdzv_conf, key),
     .doc = "The name of the option."},
    {.key = "value",
     .kind = BIND_STRING,
     .required = true,
     AT(rdzv_conf, value),
     .doc = "Its value."},
};
static const struct bind_table conf_table =
    BIND_TABLE("a rdzvConf entry", struct rdzv_conf, conf_fields);

static const struct bind_field elastic_fields[] = {
    NUMBER("minReplicas", 1, INT32_MAX, min_replicas, "Minimum number of nodes for torchrun."),
    NUMBER("maxReplicas", 1, INT32_MAX, max_replicas, "Maximum number of nodes for torchrun."),
    NUMBER("maxRestarts", 0, INT32_MAX, max_restarts, "Maximum number of restarts by torchrun."),
    NUMBER("nProcPerNode", 1, LIMIT_SLOTS, n_proc, "An old spelling of spec.nprocPerNode."),
    NUMBER("rdzvPort", 1, UINT16_MAX, port, "The port of the rendezvous."),
    TEXT(elastic, "rdzvBackend", backend, "c10d (default), etcd or etcd-v2."),
    TEXT(elastic, "rdzvHost", host, "Host of the rendezvous (default: worker 0)."),
    TEXT(elastic, "rdzvId", id, "The name of the rendezvous."),
    {.key = "rdzvConf",
     .kind = BIND_STRUCTS,
     .table = &conf_table,
     AT(elastic, conf),
     .doc = "Options of the rendezvous."},
    {.key = "standalone",
     .kind = BIND_BOOL,
     AT(elastic, standalone),
     .doc = "Run torchrun with --standalone."},
    {.key = "metrics", .kind = BIND_NOTED, .why = "has no effect: replicas are not scaled"},
};
static const struct bind_table elastic_table =
    BIND_TABLE("elasticPolicy", struct elastic, elastic_fields);

static const struct bind_field types_fields[] = {
    KUBEFLOW_TYPE("Master", KUBEFLOW_MASTER, &kubeflow_replica_table),
    KUBEFLOW_TYPE("Worker", KUBEFLOW_WORKER, &kubeflow_replica_table),
};
static const struct bind_table types_table =
    KUBEFLOW_TYPES_TABLE("pytorchReplicaSpecs", types_fields);

static const struct bind_field spec_fields[] = {
    {.key = "pytorchReplicaSpecs",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &types_table,
     AT(pytorch_spec, replicas),
     .doc = "The replicas by type, in any letter case."},
    {.key = "runPolicy",
     .kind = BIND_STRUCT,
     .table = &kubeflow_run_policy_table,
     AT(pytorch_spec, run_policy),
     .doc = "Policies of the whole job. Old files have some of them next to the replicas."},
    {.key = "elasticPolicy",
     .kind = BIND_STRUCT,
     .table = &elastic_table,
     AT(pytorch_spec, elastic),
     .doc = "Settings of torchrun's elastic rendezvous."},
    TEXT(pytorch_spec, "nprocPerNode", nproc,
         "Processes per replica for torchrun: a quoted number, \"auto\", \"cpu\" or \"gpu\"."),
    KUBEFLOW_OLD_POLICIES(struct pytorch_spec, old),
};
static const struct bind_table spec_table = BIND_TABLE("spec", struct pytorch_spec, spec_fields);

static const struct bind_field job_fields[] = {
    {.key = "apiVersion",
     .kind = BIND_STRING,
     .required = true,
     AT(pytorch_job, api_version),
     .doc = "kubeflow.org/v1, or v1beta2, v1beta1 and v1alpha2 of the same group."},
    {.key = "kind",
     .kind = BIND_STRING,
     .required = true,
     AT(pytorch_job, kind),
     .doc = "PyTorchJob."},
    {.key = "metadata",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &kube_metadata_table,
     AT(pytorch_job, metadata),
     .doc = "The job's name and namespace."},
    {.key = "spec",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &spec_table,
     AT(pytorch_job, spec),
     .doc = "The job."},
    {.key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER},
};
static const struct bind_table job_table =
    BIND_TABLE("the PyTorchJob", struct pytorch_job, job_fields);

static const struct kubeflow_kind kind = {.container = "pytorch",
                                          .port = "pytorchjob-port",
                                          .number = 23456,
                                          .restart = RESTART_ON_FAILURE};

struct lowering {
    struct binder b;
    const struct pytorch_spec *in;
    bool old; /* policies beside the replicas: from before torchrun */
    struct job_spec *out;
    struct role *roles;
    struct role *of[KUBEFLOW_TYPES];
};

/* --- processes of a node -------------------------------------------------------------------- */

static bool in_range(const char *text, uint32_t *ret)
{
    return num_u32(text, ret) == 0 && *ret >= 1 && *ret <= LIMIT_SLOTS;
}

/* A number, or a word that torchrun itself makes a number of. */
static void lower_nproc(struct lowering *l)
{
    static const char *const words[] = {"auto", "cpu", "gpu"};
    const struct node *at = node_get(l->in->at, "nprocPerNode");
    uint32_t n = 0;

    if (l->old)
        return;
    l->out->nproc = l->in->nproc ? l->in->nproc : "auto";
    if (l->in->elastic && l->in->elastic->n_proc > 0 && !l->in->nproc) {
        n = (uint32_t)l->in->elastic->n_proc;
    } else if (l->in->nproc && !in_range(l->in->nproc, &n)) {
        size_t i = 0;

        while (i < ARRAY_SIZE(words) && strcmp(l->in->nproc, words[i]) != 0)
            i++;
        if (i == ARRAY_SIZE(words))
            diag_at(
                l->b.ds, at, "E0209", NULL,
                "`nprocPerNode` must be \"auto\", \"cpu\", \"gpu\" or a number from 1 to %d, not "
                "\"%.80s\"",
                LIMIT_SLOTS, l->in->nproc);
    }
    for (size_t i = 0; i < l->out->n_roles; i++) {
        l->roles[i].own_slots = true;
        l->roles[i].slots_kind = n ? SLOTS_NUMBER : SLOTS_AUTO;
        l->roles[i].slots = n ? (int32_t)n : 1;
    }
}

/* Each process of a node wants a GPU of its own, if there are any. */
static void check_gpus(struct lowering *l)
{
    const struct node *at = node_get(l->in->at, "nprocPerNode");
    bool by_gpu = l->in->nproc && strcmp(l->in->nproc, "gpu") == 0;

    for (size_t i = 0; l->in->nproc && i < l->out->n_roles; i++) {
        const struct role *role = &l->roles[i];

        if (by_gpu && role->res.gpu <= 0)
            diag_at(l->b.ds, at, "W0345", "request GPUs in its limits, or use \"auto\"",
                    "torchrun starts one process per GPU, but the %s requests none", role->name);
        else if (role->res.gpu > 0 && role->slots > role->res.gpu)
            diag_at(l->b.ds, at, "W0345", NULL, "%d processes in a %s that requests %lld GPU%s",
                    role->slots, role->name, (long long)role->res.gpu,
                    role->res.gpu == 1 ? "" : "s");
    }
}

/* --- elastic jobs --------------------------------------------------------------------------- */

static const char *const *conf_texts(struct arena *a, const struct elastic *in)
{
    const char **texts = ARENA_ARRAY(a, const char *, in->conf.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < in->conf.n; i++) {
        const struct rdzv_conf *c = &in->conf.v[i];

        if (c->key && c->value)
            texts[n++] = arena_printf(a, "%s=%s", c->key, c->value);
    }
    return n ? texts : NULL;
}

/* Where one of the two numbers stands, or the policy that it follows from. */
static const struct node *said_at(const struct elastic_spec *e, const char *key)
{
    return node_absent(e->at, key) ? node_label(e->at) : node_get(e->at, key);
}

/* torchrun waits for the first number of nodes, and takes no more than the second. */
static void check_range(struct lowering *l, const struct elastic_spec *e)
{
    const struct role *worker = l->of[KUBEFLOW_WORKER];
    int32_t nodes = worker->replicas + (l->of[KUBEFLOW_MASTER] ? 1 : 0);

    if (e->min_replicas > e->max_replicas)
        diag_at(l->b.ds, said_at(e, "minReplicas"), "E0341", NULL,
                "`minReplicas` is %d, above `maxReplicas`, which is %d", e->min_replicas,
                e->max_replicas);
    else if (nodes < e->min_replicas)
        diag_at(l->b.ds, said_at(e, "minReplicas"), "W0343", "lower it, or raise `replicas`",
                "torchrun waits for %d nodes, but there are %d", e->min_replicas, nodes);
    else if (nodes > e->max_replicas)
        diag_at(l->b.ds, said_at(e, "maxReplicas"), "W0343", "raise it, or lower `replicas`",
                "torchrun accepts %d nodes, but there are %d", e->max_replicas, nodes);
}

static void check_backend(struct lowering *l, const struct elastic *in)
{
    static const char *const backends[] = {"c10d", "etcd", "etcd-v2", "static"};

    for (size_t i = 0; in->backend && i < ARRAY_SIZE(backends); i++) {
        if (strcmp(in->backend, backends[i]) == 0)
            return;
    }
    if (in->backend)
        diag_at(l->b.ds, node_get(in->at, "rdzvBackend"), "W0342", "c10d needs no extra service",
                "\"%.80s\" is not a rendezvous backend of torchrun", in->backend);
}

static void lower_elastic(struct lowering *l)
{
    const struct elastic *in = l->in->elastic;
    const struct role *worker = l->of[KUBEFLOW_WORKER];
    struct elastic_spec *out;

    if (!in)
        return;
    if (!worker) {
        diag_at(l->b.ds, node_label(in->at), "E0342", NULL, "`elasticPolicy` requires a Worker");
        return;
    }
    if (in->n_proc > 0 && l->in->nproc)
        diag_at(l->b.ds, node_get(in->at, "nProcPerNode"), "E0106", "keep `nprocPerNode`",
                "`nProcPerNode` repeats `nprocPerNode`");
    else if (in->n_proc > 0)
        diag_at(l->b.ds, node_label(node_get(in->at, "nProcPerNode")), "W0203",
                "use spec.nprocPerNode, a string", "`nProcPerNode` is an old spelling");
    check_backend(l, in);
    out = ARENA_NEW(l->b.a, struct elastic_spec);
    *out = (struct elastic_spec){
        .min_replicas = in->min_replicas,
        .max_replicas = in->max_replicas,
        .max_restarts = in->max_restarts,
        .n_proc = in->n_proc,
        .port = in->port,
        .backend = in->backend && *in->backend ? in->backend : "c10d",
        .host = in->host && *in->host ? in->host : NULL,
        .id = in->id && *in->id ? in->id : NULL,
        .conf = conf_texts(l->b.a, in),
        .standalone = in->standalone,
        .at = in->at,
    };
    /* each stands in for the other; without both the number is fixed */
    if (out->max_replicas < 0)
        out->max_replicas = out->min_replicas < 0 ? worker->replicas : out->min_replicas;
    if (out->min_replicas < 0)
        out->min_replicas = out->max_replicas;
    check_range(l, out);
    l->out->elastic = out;
}

/* --- roles ---------------------------------------------------------------------------------- */

static void check_count(struct lowering *l, const struct role *role, bool one)
{
    if (role && (one ? role->replicas != 1 : role->replicas < 1))
        diag_at(l->b.ds, role->replicas_at, "E0203", NULL,
                "`replicas` of the %s must be %s, not %d", one ? "Master" : "Worker",
                one ? "1" : "at least 1", role->replicas);
}

/* The store that everyone meets at: at the master, or where torchrun's rendezvous is. */
static void lower_ports(struct lowering *l)
{
    struct role *master = l->of[KUBEFLOW_MASTER], *worker = l->of[KUBEFLOW_WORKER];
    const struct kubeflow_replicas *in = l->in->replicas;
    const struct elastic_spec *e = l->out->elastic;

    if (master)
        kubeflow_add_port(&l->b, &kind, in->of[KUBEFLOW_MASTER], "MASTER_PORT", master);
    if (e && !e->host) {
        struct port_request *port =
            kubeflow_add_port(&l->b, &kind, in->of[KUBEFLOW_WORKER], "RDZV_PORT", worker);

        port->first_only = true;
        if (e->port > 0)
            port->usual = e->port;
    }
}

/* The master's success is the job's. Without one all workers have to succeed; of an elastic job's,
 * any: its workers end together, or were not needed. */
static void lower_completion(struct lowering *l)
{
    struct role *master = l->of[KUBEFLOW_MASTER], *worker = l->of[KUBEFLOW_WORKER];

    if (master)
        master->min_succeeded = master->replicas;
    else if (worker)
        worker->min_succeeded = l->out->elastic ? 1 : worker->replicas;
    kubeflow_leave_alone(l->out, l->of);
}

static void lower_spec(struct lowering *l)
{
    struct kubeflow_run_policy old = l->in->old;
    const enum kubeflow_type *order;

    old.at = l->in->at;
    kubeflow_lower_policies(&l->b, l->in->run_policy, &old, MANAGER, l->out);
    if (!l->in->replicas)
        return;
    l->roles = kubeflow_lower_roles(&l->b, l->in->replicas, &kind, l->out, &order);
    for (size_t i = 0; i < l->out->n_roles; i++)
        l->of[order[i]] = &l->roles[i];
    check_count(l, l->of[KUBEFLOW_MASTER], true);
    check_count(l, l->of[KUBEFLOW_WORKER], false);
    lower_nproc(l);
    check_gpus(l);
    kubeflow_check_budget(&l->b, l->out, l->in->run_policy, &old);
    lower_elastic(l);
    lower_ports(l);
    lower_completion(l);
}

/* --- the document --------------------------------------------------------------------------- */

static bool detect(const struct node *root)
{
    return kubeflow_detect(root, "PyTorchJob");
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = &job_table}};
    size_t before = ds->n_errors;
    const struct pytorch_job *job;

    (void)opts;
    *ret = NULL;
    l.b.lenient = kubeflow_is_old(root);
    job = bind_map(&l.b, &job_table, root);
    if (!job)
        return VERDICT_ACCEPT;
    l.out = kubeflow_new_job(&l.b, doc, root, &kubeflow_pytorch, PLATFORM_PYTORCHJOB, "PyTorchJob",
                             job->metadata);
    l.out->framework = FRAMEWORK_PYTORCH;
    l.in = job->spec;
    if (l.in) {
        l.old = l.b.lenient || (kubeflow_has_old_policies(l.in->at) && !l.in->run_policy &&
                                !l.in->nproc && !l.in->elastic);
        lower_spec(&l);
    }
    *ret = kubeflow_finish(l.out, ds, before);
    return VERDICT_ACCEPT;
}

const struct dialect kubeflow_pytorch = {.id = "kubeflow-pytorch",
                                         .title = "Kubeflow's PyTorchJob",
                                         .root_table = &job_table,
                                         .detect = detect,
                                         .lower = lower};
