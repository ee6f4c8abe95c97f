/* v2.c - lowers OpenPAI's job protocol v2 (YAML) into the job model.
 *
 * What is accepted is what the REST server of v1.8 accepts. The defaults are the ones it really
 * uses, not those of its manual: a job fails with the first failed task and succeeds when all
 * instances of one role have.
 *
 * Not here: prerequisites and secrets (v2_prerequisites.c), the text of a role's command
 * (v2_command.c). */
#include "dialect/openpai/v2.h"

#include <string.h>

#include "base/limits.h"
#include "dialect/openpai/openpai.h"

struct lowering {
    struct binder b;
    const struct read_options *opts;
    const struct pai2_job *in;
    struct job_spec *out;
    struct pai2_prerequisites prerequisites;
    const struct pai2_deployment *deployment; /* the default one, or NULL */
    size_t budget;
};

static int32_t number(struct lowering *l, const char *key, const struct node *node, int32_t min,
                      int32_t def)
{
    return pai_int(&l->b, &(struct pai_int){key, min, INT32_MAX, def, false}, node);
}

/* --- the head ------------------------------------------------------------------------------- */

static void lower_head(struct lowering *l)
{
    static const char *const types[] = {"job"};
    const struct pai2_job *in = l->in;
    const struct node *v = in->protocol;

    if (v && !(v->type == NODE_INT && v->i == 2) &&
        !(v->type == NODE_STRING && strcmp(v->text, "2") == 0))
        diag_at(l->b.ds, v, "E0209", NULL, "`protocolVersion` must be 2, not %s",
                node_words(l->b.a, v));
    if (in->type)
        bind_word(&l->b, node_get(in->at, "type"), "type", in->type, types, ARRAY_SIZE(types));
    if (in->version && in->version->type != NODE_STRING && in->version->type != NODE_INT &&
        in->version->type != NODE_FLOAT)
        bind_type_error(&l->b, "version", "a string or a number", NULL, in->version);
    l->out->name = in->name;
    l->out->name_at = node_get(in->at, "name");
    if (in->name)
        pai_check_name(&l->b, l->out->name_at, "name", in->name, "_-", false);
    l->out->retry = (struct retry_policy){.by_class = true,
                                          .max = number(l, "jobRetryCount", in->retries, 0, 0)};
    if (in->parameters && in->parameters->type != NODE_MAP)
        bind_type_error(&l->b, "parameters", "a mapping", NULL, in->parameters);
}

/* --- deployments ---------------------------------------------------------------------------- */

static void check_deployment(struct lowering *l, const struct pai2_deployment *d)
{
    if (!d->roles)
        return;
    if (d->roles->type != NODE_MAP) {
        bind_type_error(&l->b, "taskRoles", "a mapping", NULL, d->roles);
        return;
    }
    if (d->roles->n == 0)
        diag_at(l->b.ds, d->roles, "E0104", NULL, "`taskRoles` must not be empty");
    for (size_t i = 0; i < d->roles->n; i++) {
        const struct pair *p = &d->roles->pairs[i];

        pai_check_name(&l->b, p->key, "a task role's name", p->key->text, "_", true);
        if (!bind_map(&l->b, &pai2_deployment_role_table, p->value))
            continue;
        pai_reject_nulls(&l->b, &pai2_deployment_role_table, p->value, pai2_may_be_null);
        if (!node_get(l->in->roles, p->key->text))
            diag_at(l->b.ds, p->key, "W0309", NULL, "task role `%s` not found", p->key->text);
    }
}

static void lower_deployments(struct lowering *l)
{
    const char *want = l->in->defaults ? l->in->defaults->deployment : NULL;
    size_t n = l->in->deployments.n;

    if (n > LIMIT_KEYS) {
        diag_at(l->b.ds, node_get(l->in->at, "deployments"), "E0005", NULL,
                "more than %d deployments", LIMIT_KEYS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct pai2_deployment *d = &l->in->deployments.v[i];

        check_deployment(l, d);
        if (!d->name)
            continue;
        for (size_t k = 0; k < i; k++) {
            if (l->in->deployments.v[k].name && !strcmp(l->in->deployments.v[k].name, d->name))
                diag_at(l->b.ds, node_get(d->at, "name"), "E0305", NULL,
                        "duplicate deployment %s (first at line %u)", d->name,
                        l->in->deployments.v[k].at->pos.line);
        }
        if (want && strcmp(want, d->name) == 0 && !l->deployment)
            l->deployment = d;
    }
    if (want && !l->deployment)
        diag_at(l->b.ds, node_get(l->in->defaults->at, "deployment"), "E0306", NULL,
                "deployment \"%.80s\" not found", want);
    if (n && !want)
        diag_at(l->b.ds, node_key(l->in->at, "deployments"), "N0325", "set defaults.deployment",
                "no deployment is selected; none is used");
}

/* --- roles ---------------------------------------------------------------------------------- */

/* As OpenPAI reads a count: none, null and 0 are the default, less is "never". */
static int32_t completion(struct lowering *l, const char *key, const struct node *node,
                          int32_t instances, int32_t def)
{
    int32_t n = number(l, key, node, INT32_MIN, 0);

    if (n > instances)
        diag_at(l->b.ds, node, "W0307", NULL,
                "`%s` %d can never be reached: the role has %d instance%s", key, n, instances,
                instances == 1 ? "" : "s");
    return n == 0 ? def : n < 0 ? -1 : n;
}

/* A task of a gang is never retried alone. */
static void lower_task_retry(struct lowering *l, const struct node *at, struct role *role)
{
    int32_t n = number(l, "taskRetryCount", at, INT32_MIN, 0);

    if (!l->out->gang) {
        role->restart = RESTART_BY_CLASS;
        role->restart_limit = n;
    } else if (n != 0) {
        diag_at(l->b.ds, node_label(at), "N0320", "use `jobRetryCount` to retry the whole job",
                "`taskRetryCount` has no effect: tasks of a gang are not retried individually");
    }
}

/* A count that was meant as the number of a port. */
static void check_count(const struct lowering *l, const struct port_request *port)
{
    enum { MANY = 1024 }; /* the first number that anybody may listen at */

    if (port->count >= MANY)
        diag_at(l->b.ds, port->at, "W0315", "OpenPAI assigns the port numbers; 1 is probably meant",
                "%d ports `%s` per task: the value is a count, not a port number", port->count,
                port->label);
}

static void lower_ports(struct lowering *l, const struct node *map, struct role *role)
{
    struct port_request *ports = NULL;
    size_t n = 0;

    if (map && map->type != NODE_MAP) {
        bind_type_error(&l->b, "ports", "a mapping", NULL, map);
        map = NULL;
    }
    if (map && map->n == 0)
        diag_at(l->b.ds, map, "E0104", NULL, "`ports` must not be empty");
    if (map)
        ports = ARENA_ARRAY(l->b.a, struct port_request, map->n);
    for (size_t i = 0; map && i < map->n; i++) {
        const struct pair *p = &map->pairs[i];
        const struct pai_int count = {p->key->text, 0, LIMIT_PORTS, 1, false};

        if (!pai_check_name(&l->b, p->key, "a port's label", p->key->text, "_", true))
            continue;
        if (p->value->type == NODE_NULL)
            bind_missing(&l->b, map, "ports", p->key->text, NULL);
        ports[n++] = (struct port_request){
            .label = p->key->text, .count = pai_int(&l->b, &count, p->value), .at = p->value};
        check_count(l, &ports[n - 1]);
    }
    pai_set_ports(l->b.a, role, ports, n);
}

static void lower_resources(struct lowering *l, const struct pai2_role *in, struct role *role)
{
    const struct pai2_resources *res = in->resources;
    const struct node *shm = in->options ? in->options->shm : NULL;

    if (res) {
        pai_resources(role, number(l, "cpu", res->cpu, 0, 0),
                      number(l, "memoryMB", res->memory, 0, 0), number(l, "gpu", res->gpu, 0, 0),
                      number(l, "shmMB", shm, 0, PAI2_SHM_MB), shm);
        role->res.cpu_limit_at = res->cpu;
        role->res.memory_limit_at = res->memory;
    }
    if (shm && role->res.memory_limit >= 0 && role->res.shm > role->res.memory_limit) {
        diag_at(l->b.ds, shm, "W0308", NULL, "`shmMB` exceeds `memoryMB`, which limits it");
        role->res.shm = role->res.memory_limit;
    }
    if (in->options && in->options->infiniband)
        pai_warn_rdma(&l->b, node_get(in->options->at, "infiniband"), "infiniband");
    lower_ports(l, res ? res->ports : NULL, role);
}

static void lower_references(struct lowering *l, const struct pai2_role *in, struct role *role)
{
    const struct node *list = node_get(in->at, "prerequisites");
    const struct pai2_prerequisite *image;

    if (in->image) {
        image = pai2_refer(&l->b, &l->prerequisites, node_get(in->at, "dockerImage"), "dockerimage",
                           in->image);
        if (image && image->uri && image->uri->type == NODE_STRING)
            role->image = image->uri->text;
    }
    if (in->data)
        pai2_refer(&l->b, &l->prerequisites, node_get(in->at, "data"), "data", in->data);
    if (in->output)
        pai2_refer(&l->b, &l->prerequisites, node_get(in->at, "output"), "output", in->output);
    if (in->script)
        pai2_refer(&l->b, &l->prerequisites, node_get(in->at, "script"), "script", in->script);
    for (size_t i = 0; in->prerequisites && in->prerequisites[i]; i++)
        pai2_refer(&l->b, &l->prerequisites, list->items[i], NULL, in->prerequisites[i]);
}

static void lower_role(struct lowering *l, const struct pair *p, struct role *role)
{
    const struct pai2_role *in;

    *role = pai_role(p->key->text, SHELL_BASH_STRICT);
    pai_check_name(&l->b, p->key, "a task role's name", p->key->text, "_", true);
    in = bind_map(&l->b, &pai2_role_table, p->value);
    if (!in)
        return;
    pai_reject_nulls(&l->b, &pai2_role_table, p->value, pai2_may_be_null);
    role->replicas = number(l, "instances", in->instances, 1, 1);
    role->replicas_at = in->instances ? in->instances : p->key;
    role->min_failed =
        completion(l, "minFailedInstances", in->completion ? in->completion->min_failed : NULL,
                   role->replicas, 1);
    role->min_failed_at = in->completion ? in->completion->min_failed : NULL;
    role->min_succeeded = completion(l, "minSucceededInstances",
                                     in->completion ? in->completion->min_succeeded : NULL,
                                     role->replicas, role->replicas);
    lower_task_retry(l, in->task_retries, role);
    lower_resources(l, in, role);
    lower_references(l, in, role);
    role->command_at = node_get(in->at, "commands");
    if (in->commands) {
        const struct node *deployed =
            l->deployment ? node_get(l->deployment->roles, p->key->text) : NULL;
        struct diags again; /* what is wrong with the deployment was told before */

        diags_init(&again, l->b.a);
        pai2_compose(
            &(struct pai2_command){
                .b = l->b,
                .opts = l->opts,
                .job = l->in,
                .role = in,
                .role_name = p->key->text,
                .prerequisites = &l->prerequisites,
                .deployment = deployed ? bind_map(&(struct binder){.a = l->b.a, .ds = &again},
                                                  &pai2_deployment_role_table, deployed)
                                       : NULL,
                .budget = &l->budget,
            },
            role);
        diags_release(&again);
    }
}

static void lower_roles(struct lowering *l)
{
    const struct node *map = l->in->roles;
    const struct node **at;
    struct role *roles;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "taskRoles", "a mapping", NULL, map);
        return;
    }
    if (map->n == 0)
        diag_at(l->b.ds, map, "E0104", NULL, "`taskRoles` must not be empty");
    roles = ARENA_ARRAY(l->b.a, struct role, map->n);
    at = ARENA_ARRAY(l->b.a, const struct node *, map->n);
    for (size_t i = 0; i < map->n; i++) {
        at[i] = map->pairs[i].key;
        lower_role(l, &map->pairs[i], &roles[i]);
    }
    pai_check_roles(&l->b, roles, map->n, at);
    l->out->roles = roles;
    l->out->n_roles = map->n;
}

/* --- extras --------------------------------------------------------------------------------- */

static void lower_hived(struct lowering *l, const struct node *hived)
{
    static const char *const classes[] = {"prod", "test", "oppo", "crit"};
    static const int32_t priorities[] = {50, 25, 0, 100};
    const struct node *class = node_get(hived, "jobPriorityClass");
    const struct node *roles = node_get(hived, "taskRoles");

    diag_at(l->b.ds, node_label(hived), "N0301", NULL,
            "`hivedScheduler` has no effect in a local run");
    if (class && class->type == NODE_STRING)
        bind_word(&l->b, class, "jobPriorityClass", class->text, classes, ARRAY_SIZE(classes));
    for (size_t i = 0; class && class->type == NODE_STRING && i < ARRAY_SIZE(classes); i++)
        if (strcmp(classes[i], class->text) == 0)
            l->out->priority = priorities[i];
    for (size_t i = 0; roles && roles->type == NODE_MAP && i < roles->n; i++) {
        const struct node *key = roles->pairs[i].key;

        if (!node_get(l->in->roles, key->text))
            diag_at(l->b.ds, key, "W0309", NULL, "task role `%s` not found", key->text);
    }
}

/* Free form: what OpenPAI itself reads is told, everything else is the user's own. */
static void lower_extras(struct lowering *l)
{
    static const struct {
        const char *key, *why;
    } noted[] = {
        {"storages", "is not mounted locally"},
        {"jobStatusChangeNotification", "has no effect locally"},
    };
    const struct node *extras = l->in->extras, *gang = node_get(extras, "gangAllocation");
    const struct node *hived = node_get(extras, "hivedScheduler");

    if (!extras)
        return;
    if (extras->type != NODE_MAP) {
        bind_type_error(&l->b, "extras", "a mapping", NULL, extras);
        return;
    }
    if (gang && gang->type == NODE_BOOL)
        l->out->gang = gang->i;
    if (hived)
        lower_hived(l, hived);
    for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
        const struct node *key = node_key(extras, noted[i].key);

        if (key)
            diag_at(l->b.ds, key, "N0301", NULL, "`%s` %s", noted[i].key, noted[i].why);
    }
    pai2_check_plugins(&l->b, l->in);
}

/* --- all together --------------------------------------------------------------------------- */

static void lower_job(struct lowering *l)
{
    const struct pai2_defaults *defaults = l->in->defaults;
    struct pai_spec *pai = ARENA_NEW(l->b.a, struct pai_spec);

    pai->version = 2;
    l->out->pai = pai;
    l->out->queue = defaults && defaults->virtual_cluster && *defaults->virtual_cluster
                        ? defaults->virtual_cluster
                        : "default";
    lower_head(l);
    pai2_read_prerequisites(&l->b, l->in, &l->prerequisites);
    l->out->secret_texts = pai2_secret_texts(&l->b, l->in, &l->prerequisites);
    lower_deployments(l);
    lower_extras(l);
    lower_roles(l);
}

static bool detect(const struct node *root)
{
    return node_get(root, "protocolVersion") != NULL && !node_get(root, "apiVersion");
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = &pai2_job_table},
                         .opts = opts,
                         .budget = LIMIT_COMMANDS_BYTES};
    size_t before = ds->n_errors;

    *ret = NULL;
    l.in = bind_map(&l.b, &pai2_job_table, root);
    if (!l.in)
        return VERDICT_ACCEPT;
    pai_reject_nulls(&l.b, &pai2_job_table, root, pai2_may_be_null);
    l.out = pai_new_job(a, &openpai_v2, doc);
    lower_job(&l);
    *ret = pai_finish(l.out, ds, before);
    pai2_hide_secrets(&l.b, l.in, &l.prerequisites);
    return VERDICT_ACCEPT;
}

const struct dialect openpai_v2 = {.id = "openpai-v2",
                                   .title = "OpenPAI's job protocol, version 2",
                                   .root_table = &pai2_job_table,
                                   .detect = detect,
                                   .lower = lower};
