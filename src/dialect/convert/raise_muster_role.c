/* raise_muster_role.c - a role in Muster's own form. */
#include <string.h>

#include "dialect/muster/muster_v1.h"
#include "kube/pod.h"
#include "dialect/convert/raise_muster.h"

static void put_text(struct raising *r, struct node *map, const char *key, const char *text)
{
    make_put(r->a, map, key, make_text(r->a, text));
}

static void put_flag(struct raising *r, struct node *map, const char *key, bool flag)
{
    if (flag)
        make_put(r->a, map, key, make_bool(r->a, true));
}

/* --- the command ---------------------------------------------------------------------------- */

static bool has_variables(const char *const *argv)
{
    for (; *argv; argv++)
        if (strstr(*argv, "$(") || strstr(*argv, "$$"))
            return true;
    return false;
}

static void put_command(struct raising *r, const struct role *role, struct node *map)
{
    if (role->shell) {
        put_text(r, map, "command", role->shell);
        if (role->shell_kind != SHELL_SH)
            put_text(r, map, "shell", mv1_shells[role->shell_kind]);
    } else if (role->argv) {
        make_put(r->a, map, "command", make_texts(r->a, role->argv));
        put_flag(r, map, "expand", role->expand_argv && has_variables(role->argv));
    } else {
        make_put(r->a, map, "args", make_texts(r->a, role->args));
    }
    if (role->shell_secret)
        loss_add(r->losses, arena_printf(r->a, "roles.%s.command", role->name),
                 "it contains a secret of the file; written as ***");
}

/* --- environment, volumes ------------------------------------------------------------------- */

static struct node *variable(struct raising *r, const struct env_entry *e)
{
    struct node *map = make_map(r->a);

    switch (e->source) {
    case ENV_LITERAL:
        return make_text(r->a, e->value);
    case ENV_SECRET:
    case ENV_CONFIG_MAP:
        put_text(r, map, e->source == ENV_SECRET ? "secret" : "configMap", e->ref_name);
        put_text(r, map, "key", e->ref_key);
        break;
    case ENV_FIELD:
        put_text(r, map, "field", e->ref_key);
        break;
    case ENV_RESOURCE:
        put_text(r, map, "resource", e->ref_key);
        put_text(r, map, "divisor", e->ref_name);
        break;
    }
    put_flag(r, map, "optional", e->optional);
    return map;
}

static void put_env(struct raising *r, struct node *map, const struct env_entry *v, size_t n,
                    const struct env_entry *from, size_t n_from)
{
    struct node *env = make_map(r->a), *list = make_seq(r->a);

    for (size_t i = 0; i < n; i++)
        make_put(r->a, env, v[i].name, variable(r, &v[i]));
    if (n)
        make_put(r->a, map, "env", env);
    for (size_t i = 0; i < n_from; i++) {
        struct node *item = make_map(r->a);

        put_text(r, item, from[i].source == ENV_SECRET ? "secret" : "configMap", from[i].ref_name);
        if (from[i].name && *from[i].name)
            put_text(r, item, "prefix", from[i].name);
        put_flag(r, item, "optional", from[i].optional);
        make_add(r->a, list, item);
    }
    if (n_from)
        make_put(r->a, map, "envFrom", list);
}

static struct node *mount(struct raising *r, const struct mount *m)
{
    static const char *const keys[] = {[VOLUME_HOST_PATH] = "hostPath",
                                       [VOLUME_CONFIG_MAP] = "configMap",
                                       [VOLUME_SECRET] = "secret",
                                       [VOLUME_CLAIM] = "claim"};
    struct node *map = make_map(r->a), *items = make_map(r->a);

    put_text(r, map, "path", m->path);
    put_text(r, map, "name", m->volume);
    if (m->source == VOLUME_EMPTY_DIR)
        put_text(r, map, "emptyDir", m->memory ? "memory" : "disk");
    else if (m->source == VOLUME_OTHER)
        put_flag(r, map, "other", true);
    else
        put_text(r, map, keys[m->source], m->from);
    put_text(r, map, "subPath", m->sub_path);
    put_flag(r, map, "expandSubPath", m->expand_sub_path);
    for (size_t i = 0; i < m->n_items; i++)
        put_text(r, items, m->items[i].key, m->items[i].path);
    if (items->n)
        make_put(r->a, map, "items", items);
    make_put(r->a, map, "size", make_text(r->a, m->size ? kube_bytes(r->a, m->size) : NULL));
    if (m->mode)
        make_put(r->a, map, "mode", make_int(r->a, m->mode));
    put_flag(r, map, "readOnly", m->read_only);
    put_flag(r, map, "optional", m->optional);
    return map;
}

static void put_mounts(struct raising *r, struct node *map, const struct mount *v, size_t n)
{
    struct node *list = n ? make_seq(r->a) : NULL;

    for (size_t i = 0; i < n; i++)
        if (v[i].source != VOLUME_OPERATOR)
            make_add(r->a, list, mount(r, &v[i]));
    make_put(r->a, map, "mounts", list);
    make_drop_empty(map, "mounts");
}

static void put_init(struct raising *r, struct node *map, const struct role *role)
{
    struct node *list = role->n_init ? make_seq(r->a) : NULL;

    for (size_t i = 0; i < role->n_init; i++) {
        const struct init_command *in = &role->init[i];
        struct node *item = make_map(r->a);

        put_text(r, item, "name", in->name);
        put_text(r, item, "image", in->image);
        make_put(r->a, item, "command", make_texts(r->a, in->argv));
        make_put(r->a, item, "args", make_texts(r->a, in->args));
        put_text(r, item, "workdir", in->workdir);
        put_env(r, item, in->env, in->n_env, in->env_from, in->n_env_from);
        put_mounts(r, item, in->mounts, in->n_mounts);
        make_add(r->a, list, item);
    }
    make_put(r->a, map, "init", list);
}

/* --- counts --------------------------------------------------------------------------------- */

static const struct node *amount(struct raising *r, const char *request, const char *limit)
{
    struct node *map = make_map(r->a);

    if (!request)
        return make_text(r->a, limit);
    put_text(r, map, "request", request);
    put_text(r, map, "limit", limit);
    return map;
}

static const char *cpu(struct raising *r, int64_t milli)
{
    return milli < 0 ? NULL : kube_cpu(r->a, milli);
}

static const char *bytes(struct raising *r, int64_t n)
{
    return n < 0 ? NULL : kube_bytes(r->a, n);
}

static void put_resources(struct raising *r, struct node *map, const struct resources *res)
{
    struct node *all = make_map(r->a);

    make_put(r->a, all, "cpu",
             amount(r, cpu(r, res->cpu_request_milli), cpu(r, res->cpu_limit_milli)));
    make_put(r->a, all, "memory",
             amount(r, bytes(r, res->memory_request), bytes(r, res->memory_limit)));
    if (res->gpu > 0)
        make_put(r->a, all, "gpu", make_int(r->a, res->gpu));
    if (res->shm_at || r->spec->platform.environment != PLATFORM_OPENPAI) /* that has a default */
        make_put(r->a, all, "shm", make_text(r->a, bytes(r, res->shm)));
    if (all->n)
        make_put(r->a, map, "resources", all);
}

/* Those of the frameworks are the form's own business, unless another platform has its numbers for
 * them. */
static void put_ports(struct raising *r, struct node *map, const struct role *role)
{
    static const char *const own[] = {"MASTER_PORT", "TF_CONFIG", "RDZV_PORT"};
    struct node *ports = make_map(r->a);
    bool elsewhere = r->spec->platform.environment != PLATFORM_MUSTER;

    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_request *p = &role->ports[i];
        struct node *port = make_map(r->a);
        bool frameworks = false;

        for (size_t k = 0; k < ARRAY_SIZE(own) && !elsewhere; k++)
            frameworks = frameworks || strcmp(own[k], p->label) == 0;
        if (p->count != 1)
            make_put(r->a, port, "count", make_int(r->a, p->count));
        if (p->begin_at)
            make_put(r->a, port, "from", make_int(r->a, p->begin_at));
        if (p->usual)
            make_put(r->a, port, "usual", make_int(r->a, p->usual));
        put_flag(r, port, "firstOnly", p->first_only);
        if (!frameworks)
            make_put(r->a, ports, p->label, port->n ? port : make_text(r->a, "any"));
    }
    if (ports->n)
        make_put(r->a, map, "ports", ports);
}

static void put_completion(struct raising *r, struct node *map, const struct role *role)
{
    int32_t failed = role->min_failed, succeeded = role->min_succeeded;

    if (failed < 0 || failed > role->replicas)
        put_text(r, map, "failsAfter", "never");
    else if (failed > 1)
        make_put(r->a, map, "failsAfter", make_int(r->a, failed));
    if (role->first_decides)
        put_text(r, map, "succeedsAfter", "first");
    else if (succeeded > 0 && succeeded == role->replicas)
        put_text(r, map, "succeedsAfter", "all");
    else if (succeeded > 0 && succeeded < role->replicas)
        make_put(r->a, map, "succeedsAfter", make_int(r->a, succeeded));
}

static void put_restart(struct raising *r, struct node *map, const struct role *role)
{
    struct node *restart = make_map(r->a);
    int32_t limit = role->restart_limit;

    if (role->restart == RESTART_NEVER)
        return;
    if (role->restart != RESTART_BY_CLASS && limit == -1)
        limit = r->spec->has_restart_budget ? r->spec->restart_budget : INT32_MAX;
    put_text(r, restart, "policy", mv1_policies[role->restart]);
    if (limit >= 0 && limit < INT32_MAX)
        make_put(r->a, restart, "limit", make_int(r->a, limit));
    else
        put_text(r, restart, "limit", limit == -2 ? "always" : "forever");
    make_put(r->a, map, "restart", restart);
}

/* --- all together --------------------------------------------------------------------------- */

static enum role_kind usual_kind(const struct job_spec *job, const struct role *role)
{
    if (job->framework != FRAMEWORK_MPI)
        return ROLE_PLAIN;
    return strcmp(role->name, mv1_kinds[ROLE_LAUNCHER]) == 0 ? ROLE_LAUNCHER : ROLE_HOST;
}

struct node *raise_muster_role(struct raising *r, const struct role *role)
{
    struct node *map = make_map(r->a);

    if (role->kind != usual_kind(r->spec, role))
        put_text(r, map, "kind", mv1_kinds[role->kind]);
    if (role->replicas != 1)
        make_put(r->a, map, "replicas", make_int(r->a, role->replicas));
    if (role->slots_kind == SLOTS_AUTO)
        put_text(r, map, "slots", r->spec->nproc ? r->spec->nproc : "auto");
    else if (role->slots_kind == SLOTS_NUMBER && (role->slots != 1 || role->kind == ROLE_HOST))
        make_put(r->a, map, "slots", make_int(r->a, role->slots));
    put_flag(r, map, "ownSlots", role->own_slots && role->slots_kind != SLOTS_UNSET);
    put_flag(r, map, "hostsRanks", role->hosts_ranks);
    put_text(r, map, "image", role->image);
    put_command(r, role, map);
    put_text(r, map, "workdir", role->workdir);
    put_env(r, map, role->env, role->n_env, role->env_from, role->n_env_from);
    put_resources(r, map, &role->res);
    put_ports(r, map, role);
    put_mounts(r, map, role->mounts, role->n_mounts);
    put_init(r, map, role);
    put_restart(r, map, role);
    put_completion(r, map, role);
    put_flag(r, map, "endsAlone", role->ends_alone);
    if (role->grace_s >= 0)
        put_text(r, map, "grace", arena_printf(r->a, "%ds", role->grace_s));
    make_put(r->a, map, "template", raise_muster_template(r, role));
    return map;
}

bool muster_makes_role(struct raising *r, const struct role *role)
{
    struct role made = spec_new_role(role->name, ROLE_LAUNCHER);
    struct spec_differences ds;
    struct job_spec x = *r->spec, y = *r->spec;
    const struct role *host = NULL;

    for (size_t i = 0; i < r->spec->n_roles && !host; i++)
        if (r->spec->roles[i].kind == ROLE_HOST)
            host = &r->spec->roles[i];
    if (role->kind != ROLE_LAUNCHER || !host || !r->spec->mpi ||
        host->template_at != role->template_at)
        return false;
    pod_share_role(host, &made);
    x.roles = role;
    y.roles = &made;
    x.n_roles = y.n_roles = 1;
    spec_diff(r->a, &x, &y, NULL, 0, &ds);
    return ds.n == 0;
}
