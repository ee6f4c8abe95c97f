/* kubeflow.c - see kubeflow.h. */
#include "dialect/kubeflow/kubeflow.h"

#include <string.h>
#include <strings.h>

/* --- tables --------------------------------------------------------------------------------- */

#define AT(type, member) .offset = offsetof(struct type, member)
#define NOTED(name)                                                                                \
    {                                                                                              \
        .key = (name), .kind = BIND_NOTED                                                          \
    }

static const struct bind_field scheduling_fields[] = {
    {.key = "queue",
     .kind = BIND_STRING,
     AT(kubeflow_scheduling, queue),
     .doc = "The queue of the job."},
    NOTED("minAvailable"),
    NOTED("minResources"),
    NOTED("priorityClass"),
    NOTED("scheduleTimeoutSeconds"),
};
static const struct bind_table scheduling_table =
    BIND_TABLE("schedulingPolicy", struct kubeflow_scheduling, scheduling_fields);
static const struct bind_table scheduling_lenient_table =
    BIND_TABLE_LENIENT("schedulingPolicy", struct kubeflow_scheduling, scheduling_fields);

#define POLICY(member) .offset = offsetof(struct kubeflow_run_policy, member)
#define RUN_POLICY_ROWS(scheduling_rows)                                                           \
    KUBEFLOW_POLICIES(0),                                                                          \
        {.key = "schedulingPolicy",                                                                \
         .kind = BIND_STRUCT,                                                                      \
         .table = (scheduling_rows),                                                               \
         POLICY(scheduling),                                                                       \
         .doc = "Options for a gang scheduler."},                                                  \
        {.key = "suspend", .kind = BIND_BOOL, POLICY(suspend), .doc = "The job starts paused."},   \
    {                                                                                              \
        .key = "managedBy", .kind = BIND_STRING, POLICY(managed_by),                               \
        .doc = "The controller that manages the job. Muster runs the job in any case."             \
    }

static const struct bind_field run_policy_fields[] = {RUN_POLICY_ROWS(&scheduling_table)};
static const struct bind_field run_policy_lenient_fields[] = {
    RUN_POLICY_ROWS(&scheduling_lenient_table)};
const struct bind_table kubeflow_run_policy_table =
    BIND_TABLE("runPolicy", struct kubeflow_run_policy, run_policy_fields);
const struct bind_table kubeflow_run_policy_lenient_table =
    BIND_TABLE_LENIENT("runPolicy", struct kubeflow_run_policy, run_policy_lenient_fields);

static const struct bind_field replica_fields[] = {
    {.key = "replicas",
     .kind = BIND_INT,
     .max = INT32_MAX,
     .def = -1,
     AT(kubeflow_replica, replicas),
     .doc = "The number of replicas (default 1)."},
    {.key = "restartPolicy",
     .kind = BIND_STRING,
     AT(kubeflow_replica, restart),
     .doc = "Never, OnFailure, Always or ExitCode (restart on exit code 128 and above)."},
    {.key = "template",
     .kind = BIND_STRUCT,
     .table = &pod_template_table,
     AT(kubeflow_replica, template_),
     .doc = "The pod template of a replica."},
};
const struct bind_table kubeflow_replica_table =
    BIND_TABLE("a replica spec", struct kubeflow_replica, replica_fields);
const struct bind_table kubeflow_replica_lenient_table =
    BIND_TABLE_LENIENT("a replica spec", struct kubeflow_replica, replica_fields);

const char *const kubeflow_roles[KUBEFLOW_TYPES] = {
    [KUBEFLOW_LAUNCHER] = "launcher", [KUBEFLOW_MASTER] = "master",
    [KUBEFLOW_CHIEF] = "chief",       [KUBEFLOW_PS] = "ps",
    [KUBEFLOW_WORKER] = "worker",     [KUBEFLOW_EVALUATOR] = "evaluator",
};

/* --- policies ------------------------------------------------------------------------------- */

static const char *const old_keys[] = {"cleanPodPolicy", "ttlSecondsAfterFinished",
                                       "activeDeadlineSeconds", "backoffLimit"};

bool kubeflow_has_old_policies(const struct node *spec)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_keys); i++) {
        if (!node_absent(spec, old_keys[i]))
            return true;
    }
    return false;
}

/* Live objects of old operators have both places filled in; only a contradiction is worth a word.
 */
static void check_said_twice(const struct binder *b, const struct node *policy,
                             const struct node *spec)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_keys); i++) {
        const char *key = old_keys[i];

        if (!node_absent(policy, key) && !node_absent(spec, key) &&
            !node_equal(node_get(policy, key), node_get(spec, key)))
            diag_at(b->ds, node_key(spec, key), "W0340", "keep only the one in runPolicy",
                    "`%s` has no effect: runPolicy overrides it", key);
    }
}

static void lower_clean_up(const struct binder *b, const struct kubeflow_run_policy *p,
                           struct job_spec *out)
{
    static const char *const words[] = {"None", "Running", "All"};
    static const enum clean_up means[] = {CLEAN_UP_NONE, CLEAN_UP_RUNNING, CLEAN_UP_ALL};

    if (!p->clean_pods || !*p->clean_pods)
        return;
    bind_word(b, node_get(p->at, "cleanPodPolicy"), "cleanPodPolicy", p->clean_pods, words,
              ARRAY_SIZE(words));
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(p->clean_pods, words[i]) == 0)
            out->clean_up = means[i];
    }
}

static void lower_deadline(const struct binder *b, const struct kubeflow_run_policy *p,
                           struct job_spec *out)
{
    if (p->deadline == 0)
        diag_at(b->ds, node_get(p->at, "activeDeadlineSeconds"), "W0341",
                "remove it, or set the number of seconds that the job may run",
                "a deadline of 0 seconds is ignored");
    if (p->deadline >= 0)
        out->deadline_s = p->deadline;
}

static void lower_manager(const struct binder *b, const struct kubeflow_run_policy *p,
                          const char *manager)
{
    const char *const words[] = {manager, "kueue.x-k8s.io/multikueue"};
    const struct node *at = node_get(p->at, "managedBy");

    if (!p->managed_by)
        return;
    bind_word(b, at, "managedBy", p->managed_by, words, ARRAY_SIZE(words));
    if (strcmp(p->managed_by, words[1]) == 0)
        diag_at(b->ds, node_label(at), "N0301", NULL,
                "`managedBy` hands the job to Kueue for another cluster; it is ignored here");
}

/* Classes are objects of a cluster; these are the usual ones. Others have the default priority. */
static void lower_priority_class(const struct kubeflow_scheduling *in, struct job_spec *out)
{
    static const struct {
        const char *name;
        int32_t priority;
    } classes[] = {{"low", 25},
                   {"low-priority", 25},
                   {"high", 75},
                   {"high-priority", 75},
                   {"system-cluster-critical", 100},
                   {"system-node-critical", 100}};
    const char *name = node_text(node_get(in->at, "priorityClass"), "");

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
        if (strcmp(classes[i].name, name) == 0)
            out->priority = classes[i].priority;
}

static void lower_policy(const struct binder *b, const struct kubeflow_run_policy *p,
                         const char *manager, struct job_spec *out)
{
    lower_clean_up(b, p, out);
    lower_deadline(b, p, out);
    lower_manager(b, p, manager);
    if (p->ttl >= 0) {
        out->has_ttl = true;
        out->ttl_s = p->ttl;
    }
    if (p->backoff_limit >= 0) {
        out->has_restart_budget = true;
        out->restart_budget = p->backoff_limit;
    }
    if (p->scheduling && p->scheduling->queue)
        out->queue = p->scheduling->queue;
    if (p->scheduling)
        lower_priority_class(p->scheduling, out);
    if (p->suspend) {
        out->pause = true;
        out->pause_at = node_key(p->at, "suspend");
    }
}

void kubeflow_lower_policies(const struct binder *b, const struct kubeflow_run_policy *policy,
                             const struct kubeflow_run_policy *old, const char *manager,
                             struct job_spec *out)
{
    if (old && policy)
        check_said_twice(b, policy->at, old->at);
    if (old)
        lower_policy(b, old, manager, out);
    if (policy)
        lower_policy(b, policy, manager, out);
}

/* --- replicas ------------------------------------------------------------------------------- */

static int type_of_key(const char *key)
{
    int i = 0;

    while (i < KUBEFLOW_TYPES && strcasecmp(key, kubeflow_roles[i]) != 0)
        i++;
    return i;
}

size_t kubeflow_order(const struct binder *b, const struct kubeflow_replicas *r,
                      enum kubeflow_type order[KUBEFLOW_TYPES])
{
    const struct node *first[KUBEFLOW_TYPES] = {NULL};
    size_t n = 0;

    for (size_t i = 0; i < r->at->n; i++) {
        const struct node *key = r->at->pairs[i].key;
        int type = type_of_key(key->text);

        if (type == KUBEFLOW_TYPES || !r->of[type])
            continue;
        if (first[type]) {
            diag_at(b->ds, key, "E0210", "keep one of them",
                    "`%s` is the same replica type as `%s` (line %u)", key->text, first[type]->text,
                    first[type]->pos.line);
            continue;
        }
        first[type] = key;
        order[n++] = (enum kubeflow_type)type;
    }
    return n;
}

/* Without a name somewhere the fault has been told already. */
static bool all_named(const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->containers.n; i++) {
        if (!spec->containers.v[i].name)
            return false;
    }
    return spec->containers.n > 0;
}

const struct pod_container *kubeflow_container(const struct binder *b,
                                               const struct kubeflow_replica *r, const char *name)
{
    const struct pod_template *t = r->template_;
    const struct pod_container *first, *c;
    const char *hint = NULL;

    if (!t) {
        if (node_absent(r->at, "template"))
            bind_missing(b, r->at, "a replica spec", "template", NULL);
        return NULL;
    }
    if (!t->spec) {
        if (node_absent(t->at, "spec"))
            bind_missing(b, t->at, "template", "spec", NULL);
        return NULL;
    }
    first = t->spec->containers.v;
    if (!first || t->spec->containers.n == 0)
        return NULL;
    c = name ? pod_find_container(t, name) : first;
    if (c && !c->image && node_absent(c->at, "image"))
        bind_missing(b, c->at, "a container", "image", NULL);
    if (c || !all_named(t->spec))
        return c;
    if (t->spec->containers.n == 1)
        hint = arena_printf(b->a, "rename `%s` to `%s`", first->name, name);
    diag_at(b->ds, node_key(t->spec->at, "containers"), "E0212", hint, "container `%s` not found",
            name);
    return NULL;
}

void kubeflow_lower_restart(const struct binder *b, const struct kubeflow_replica *r,
                            unsigned allowed, struct role *role)
{
    static const struct {
        const char *word;
        enum restart_policy means;
    } policies[] = {
        {"Never", RESTART_NEVER},
        {"OnFailure", RESTART_ON_FAILURE},
        {"Always", RESTART_ALWAYS},
        {"ExitCode", RESTART_EXIT_CODE},
    };
    const char *words[ARRAY_SIZE(policies)];
    size_t n = 0;

    role->restart_limit = -1;
    if (!r->restart || !*r->restart)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        if (!(allowed & 1u << policies[i].means))
            continue;
        words[n++] = policies[i].word;
        if (strcmp(r->restart, policies[i].word) == 0)
            role->restart = policies[i].means;
    }
    bind_word(b, node_get(r->at, "restartPolicy"), "restartPolicy", r->restart, words, n);
}

static const char *const *joined(struct arena *a, const char *const *command,
                                 const char *const *args)
{
    size_t n = 0, k = 0;
    const char **all;

    while (command[n])
        n++;
    while (args && args[k])
        k++;
    all = ARENA_ARRAY(a, const char *, n + k + 1);
    memcpy(all, command, n * sizeof(*all));
    if (k)
        memcpy(all + n, args, k * sizeof(*all));
    return all;
}

void kubeflow_lower_command(struct arena *a, const struct pod_container *c, struct role *role)
{
    role->expand_argv = true;
    role->command_at = node_get(c->at, c->command ? "command" : "args");
    if (c->command && c->command[0])
        role->argv = joined(a, c->command, c->args);
    else
        role->args = c->args;
}

/* --- roles ---------------------------------------------------------------------------------- */

/* The number of the container's port of that name, or 0. Its form is the pod template's business.
 */
static int32_t port_number(const struct pod_container *c, const char *name, const struct node **at)
{
    const struct node *ports = node_get(c->at, "ports");

    for (size_t i = 0; ports && ports->type == NODE_SEQ && i < ports->n; i++) {
        const struct node *label = node_get(ports->items[i], "name");
        const struct node *number = node_get(ports->items[i], "containerPort");

        if (label && label->type == NODE_STRING && strcmp(label->text, name) == 0 && number &&
            number->type == NODE_INT && number->i > 0 && number->i <= UINT16_MAX) {
            *at = number;
            return (int32_t)number->i;
        }
    }
    return 0;
}

struct port_request *kubeflow_add_port(const struct binder *b, const struct kubeflow_kind *kind,
                                       const struct kubeflow_replica *r, const char *label,
                                       struct role *role)
{
    const struct pod_container *c =
        r->template_ ? pod_find_container(r->template_, kind->container) : NULL;
    struct port_request *port = ARENA_NEW(b->a, struct port_request);
    int32_t said;

    *port = (struct port_request){.label = label, .count = 1};
    said = c ? port_number(c, kind->port, &port->at) : 0;
    port->usual = said ? said : kind->number;
    role->ports = port;
    role->n_ports = 1;
    return port;
}

static void lower_role(const struct binder *b, const struct kubeflow_replica *in,
                       const struct kubeflow_kind *kind, struct role *role)
{
    const struct pod_container *c = kubeflow_container(b, in, kind->container);

    if (in->replicas >= 0)
        role->replicas = in->replicas;
    role->replicas_at = node_get(in->at, "replicas");
    kubeflow_lower_restart(b, in, KUBEFLOW_RESTARTS, role);
    if (!c)
        return;
    pod_fill_role(b, in->template_, c, role);
    pod_note_unused(b, in->template_, c);
    kubeflow_lower_command(b->a, c, role);
}

static bool has_values(const struct node *map)
{
    for (size_t i = 0; i < map->n; i++) {
        if (map->pairs[i].value->type != NODE_NULL)
            return true;
    }
    return false;
}

struct role *kubeflow_lower_roles(const struct binder *b, const struct kubeflow_replicas *r,
                                  const struct kubeflow_kind *kind, struct job_spec *out,
                                  const enum kubeflow_type **ret_order)
{
    enum kubeflow_type *order = ARENA_ARRAY(b->a, enum kubeflow_type, KUBEFLOW_TYPES);
    size_t n = kubeflow_order(b, r, order);
    struct role *roles = ARENA_ARRAY(b->a, struct role, n);

    if (n == 0 && !has_values(r->at)) /* else those have been refused */
        diag_at(b->ds, node_label(r->at), "E0104", NULL, "no replica specs in `%s`",
                r->at->parent_key);
    for (size_t i = 0; i < n; i++) {
        roles[i] = spec_new_role(kubeflow_roles[order[i]], ROLE_PLAIN);
        roles[i].restart = kind->restart;
        lower_role(b, r->of[order[i]], kind, &roles[i]);
    }
    out->roles = roles;
    out->n_roles = n;
    out->container = kind->container;
    *ret_order = order;
    return roles;
}

void kubeflow_check_budget(const struct binder *b, const struct job_spec *out,
                           const struct kubeflow_run_policy *policy,
                           const struct kubeflow_run_policy *old)
{
    const struct node *at = policy ? node_get(policy->at, "backoffLimit") : NULL;

    if (!at && old)
        at = node_get(old->at, "backoffLimit");
    for (size_t i = 0; i < out->n_roles; i++) {
        if (out->roles[i].restart != RESTART_NEVER)
            return;
    }
    if (out->has_restart_budget && out->restart_budget > 0 && at)
        diag_at(b->ds, at, "N0340", "set `restartPolicy: OnFailure` to restart them",
                "`backoffLimit` has no effect: replicas are never restarted");
}

void kubeflow_leave_alone(const struct job_spec *out, struct role *const of[KUBEFLOW_TYPES])
{
    static const enum kubeflow_type types[] = {KUBEFLOW_MASTER, KUBEFLOW_CHIEF, KUBEFLOW_WORKER};

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (of[types[i]])
            of[types[i]]->ends_alone = out->clean_up == CLEAN_UP_NONE;
    }
}

/* --- names ---------------------------------------------------------------------------------- */

void kubeflow_check_name(const struct binder *b, const struct job_spec *out)
{
    static const char label[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    /* what else is wrong with a name is told for every dialect */
    if (out->name && out->name[0] >= '0' && out->name[0] <= '9' &&
        out->name[strspn(out->name, label)] == '\0')
        diag_at(b->ds, out->name_at, "E0201", "start the name with a letter",
                "the name \"%.80s\" starts with a digit, which is not allowed for a Service",
                out->name);
}

/* --- PyTorchJob and TFJob ------------------------------------------------------------------- */

bool kubeflow_detect(const struct node *root, const char *kind)
{
    const char *version = node_text(node_get(root, "apiVersion"), "");

    return strncmp(version, KUBEFLOW_GROUP, strlen(KUBEFLOW_GROUP)) == 0 &&
           strcmp(version, KUBEFLOW_GROUP "v1alpha1") != 0 &&
           strcmp(node_text(node_get(root, "kind"), ""), kind) == 0;
}

bool kubeflow_is_old(const struct node *root)
{
    return strcmp(node_text(node_get(root, "apiVersion"), ""), KUBEFLOW_GROUP "v1") != 0;
}

struct job_spec *kubeflow_new_job(const struct binder *b, const struct doc *doc,
                                  const struct node *root, const struct dialect *dialect,
                                  enum platform_kind platform, const char *kind,
                                  const struct kube_metadata *meta)
{
    struct job_spec *out = ARENA_NEW(b->a, struct job_spec);
    static const char *const versions[] = {KUBEFLOW_GROUP "v1", KUBEFLOW_GROUP "v1beta2",
                                           KUBEFLOW_GROUP "v1beta1", KUBEFLOW_GROUP "v1alpha2"};

    *out = (struct job_spec){.dialect = dialect->id,
                             .platform = platform_of(platform),
                             .file = doc->file,
                             .gang = true,
                             .clean_up = CLEAN_UP_NONE,
                             .priority = -1,
                             .root_at = root};
    if (*node_text(node_get(root, "apiVersion"), ""))
        bind_word(b, node_get(root, "apiVersion"), "apiVersion",
                  node_text(node_get(root, "apiVersion"), ""), versions, ARRAY_SIZE(versions));
    if (*node_text(node_get(root, "kind"), ""))
        bind_word(b, node_get(root, "kind"), "kind", node_text(node_get(root, "kind"), ""), &kind,
                  1);
    if (meta)
        kube_lower_metadata(b, meta, out);
    kubeflow_check_name(b, out);
    return out;
}

struct job_spec *kubeflow_finish(struct job_spec *job, struct diags *ds, size_t n_before)
{
    if (!job->name || !job->n_roles)
        return NULL;
    spec_validate(job, ds);
    return ds->n_errors == n_before ? job : NULL;
}
