/* raise_training.c - writes a job as Kubeflow's PyTorchJob or TFJob.
 *
 * Roles become replica types. Where names agree that is plain; a single role of another name
 * becomes the one that runs the program, and in a PyTorchJob its first replica the master, because
 * that is whose address everyone is told.
 */
#include <string.h>
#include <strings.h>

#include "dialect/convert/raise.h"

struct type {
    const char *key;
    const char *names[3]; /* roles that become it */
};

static const struct type torch_types[] = {{"Master", {"master"}}, {"Worker", {"worker"}}};
static const struct type tf_types[] = {
    {"Chief", {"chief"}},
    {"Master", {"master"}},
    {"PS", {"ps", "parameter_server", "ps_server"}},
    {"Worker", {"worker"}},
    {"Evaluator", {"evaluator"}},
};

struct kind {
    const char *name, *api, *specs, *container;
    enum framework framework;
    enum restart_policy restart; /* without one */
    const struct type *types;
    size_t n_types;
};

static const struct kind torch = {"PyTorchJob", "kubeflow.org/v1",      "pytorchReplicaSpecs",
                                  "pytorch",    FRAMEWORK_PYTORCH,      RESTART_ON_FAILURE,
                                  torch_types,  ARRAY_SIZE(torch_types)};
static const struct kind tf = {"TFJob",      "kubeflow.org/v1",    "tfReplicaSpecs",
                               "tensorflow", FRAMEWORK_TENSORFLOW, RESTART_NEVER,
                               tf_types,     ARRAY_SIZE(tf_types)};

static const struct type *type_of(const struct kind *kind, const char *role)
{
    for (size_t i = 0; i < kind->n_types; i++)
        for (size_t k = 0; k < ARRAY_SIZE(kind->types[i].names) && kind->types[i].names[k]; k++)
            if (strcasecmp(kind->types[i].names[k], role) == 0)
                return &kind->types[i];
    return NULL;
}

/* A program is written for one framework's variables. False after a refusal. */
static bool fits(struct raising *r, const struct kind *kind)
{
    const struct job_spec *job = r->spec;

    if (job->framework != kind->framework && job->framework != FRAMEWORK_NONE)
        return loss_refuse(r->losses, "E0701", NULL,
                           "processes of the job are started as by %s, which a %s does not do",
                           framework_name(job->framework), kind->name);
    for (size_t i = 0; i < job->n_roles; i++) {
        if (job->n_roles > 1 && !type_of(kind, job->roles[i].name))
            return loss_refuse(r->losses, "E0702", NULL,
                               "a %s has no replica type for the role `%s`", kind->name,
                               job->roles[i].name);
        for (size_t k = 0; job->n_roles > 1 && k < i; k++)
            if (type_of(kind, job->roles[k].name) == type_of(kind, job->roles[i].name))
                return loss_refuse(r->losses, "E0702", NULL,
                                   "in a %s, roles `%s` and `%s` would become the same", kind->name,
                                   job->roles[k].name, job->roles[i].name);
    }
    return true;
}

static void put_role(struct raising *r, const struct kind *kind, struct node *specs,
                     const char *type, const struct role *role, int32_t replicas)
{
    const struct pod_wish wish = {.container = kind->container, .image = true};
    char *lower = arena_strdup(r->a, type);

    for (char *c = lower; *c; c++)
        *c = (char)(*c | 0x20);
    loss_pair(r->losses, role->name, lower);
    make_put(r->a, specs, type, raise_replica(r, role, replicas, kind->restart, &wish));
}

static struct node *begin(struct raising *r, const struct kind *kind, struct node **ret_spec)
{
    struct node *root = raise_object(r, kind->api, kind->name);

    *ret_spec = make_below(r->a, root, "spec");
    make_put(r->a, *ret_spec, "runPolicy", raise_run_policy(r));
    return root;
}

/* --- PyTorchJob ----------------------------------------------------------------------------- */

static struct node *rdzv_conf(struct arena *a, const char *const *conf)
{
    struct node *list = conf ? make_seq(a) : NULL;

    for (; conf && *conf; conf++) {
        struct node *item = make_map(a);
        size_t n = strcspn(*conf, "=");

        make_put(a, item, "key", make_text(a, arena_strndup(a, *conf, n)));
        make_put(a, item, "value", make_text(a, *conf + n + ((*conf)[n] == '=')));
        make_add(a, list, item);
    }
    return list;
}

static void put_number(struct arena *a, struct node *map, const char *key, int32_t n)
{
    if (n >= 0)
        make_put(a, map, key, make_int(a, n));
}

static struct node *elastic_policy(struct arena *a, const struct elastic_spec *e)
{
    struct node *map = make_map(a);

    put_number(a, map, "minReplicas", e->min_replicas);
    put_number(a, map, "maxReplicas", e->max_replicas);
    put_number(a, map, "maxRestarts", e->max_restarts);
    put_number(a, map, "nProcPerNode", e->n_proc);
    put_number(a, map, "rdzvPort", e->port);
    make_put(a, map, "rdzvBackend", make_text(a, e->backend));
    make_put(a, map, "rdzvHost", make_text(a, e->host));
    make_put(a, map, "rdzvId", make_text(a, e->id));
    make_put(a, map, "rdzvConf", rdzv_conf(a, e->conf));
    if (e->standalone)
        make_put(a, map, "standalone", make_bool(a, true));
    return map;
}

/* How many processes torchrun starts in each replica. Without a word it would be one per GPU. */
static void put_nproc(struct raising *r, struct node *spec)
{
    const struct job_spec *job = r->spec;
    const struct role *role = &job->roles[0];

    if (job->elastic && job->elastic->n_proc > 0)
        return;
    if (job->nproc && strchr("cg", job->nproc[0]))
        make_put(r->a, spec, "nprocPerNode", make_text(r->a, job->nproc));
    else if (role->slots_kind == SLOTS_NUMBER)
        make_put(r->a, spec, "nprocPerNode",
                 make_text(r->a, arena_printf(r->a, "%d", role->slots)));
    for (size_t i = 0; i < job->n_roles; i++) {
        const char *name = job->roles[i].name;

        if (job->roles[i].slots > 1 && !job->roles[i].own_slots)
            loss_add(r->losses, arena_printf(r->a, "roles.%s.own_slots", name),
                     "a PyTorchJob starts one process per replica; the image's entry point must "
                     "start the other %d, as torchrun does",
                     job->roles[i].slots - 1);
        else if (job->roles[i].own_slots && job->roles[i].slots != role->slots)
            loss_add(
                r->losses, arena_printf(r->a, "roles.%s.slots", name),
                "a PyTorchJob has one number for all replicas, %d; the torchrun command has %d",
                role->slots, job->roles[i].slots);
    }
}

const struct node *raise_pytorchjob(struct arena *a, const struct job_spec *job,
                                    struct losses *losses)
{
    struct raising r = {a, job, losses};
    const struct role *only = &job->roles[0];
    struct node *root, *spec, *specs;

    if (!fits(&r, &torch))
        return NULL;
    root = begin(&r, &torch, &spec);
    if (job->elastic)
        make_put(a, spec, "elasticPolicy", elastic_policy(a, job->elastic));
    put_nproc(&r, spec);
    specs = make_below(a, spec, torch.specs);
    if (job->n_roles > 1 || strcmp(job->dialect, "kubeflow-pytorch") == 0) {
        for (size_t i = 0; i < job->n_roles; i++)
            put_role(&r, &torch, specs, type_of(&torch, job->roles[i].name)->key, &job->roles[i],
                     job->roles[i].replicas);
    } else if (job->framework == FRAMEWORK_NONE && !(only->own_slots && only->replicas > 1)) {
        /* nobody asks for the master's address */
        put_role(&r, &torch, specs, "Worker", only, only->replicas);
    } else {
        put_role(&r, &torch, specs, "Master", only, 1);
        if (only->replicas > 1)
            put_role(&r, &torch, specs, "Worker", only, only->replicas - 1);
    }
    return root;
}

/* --- TFJob ---------------------------------------------------------------------------------- */

/* Without a chief the first worker decides, unless all workers are to. */
static bool wants_all_workers(const struct job_spec *job)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct type *type = type_of(&tf, job->roles[i].name);
        const char *key = type ? type->key : "Worker";

        if (strcmp(key, "Chief") == 0 || strcmp(key, "Master") == 0)
            return false;
        if (strcmp(key, "Worker") == 0 && job->roles[i].first_decides)
            return false;
    }
    return true;
}

const struct node *raise_tfjob(struct arena *a, const struct job_spec *job, struct losses *losses)
{
    struct raising r = {a, job, losses};
    struct node *root, *spec, *specs;

    if (!fits(&r, &tf))
        return NULL;
    root = begin(&r, &tf, &spec);
    if (wants_all_workers(job))
        make_put(a, spec, "successPolicy", make_text(a, "AllWorkers"));
    if (job->sparse_cluster)
        make_put(a, spec, "enableDynamicWorker", make_bool(a, true));
    specs = make_below(a, spec, tf.specs);
    for (size_t i = 0; i < job->n_roles; i++) {
        const struct type *type = type_of(&tf, job->roles[i].name);

        put_role(&r, &tf, specs, type ? type->key : "Worker", &job->roles[i],
                 job->roles[i].replicas);
    }
    return root;
}
