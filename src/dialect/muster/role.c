/* role.c - lowers one role of Muster's own form. Most of it is copying; what is decided here
 * is the meaning of the short forms.
 *
 * Not here: variables, volumes and init commands (pod.c), MPI (mpi.c). */
#include <string.h>

#include "base/limits.h"
#include "dialect/muster/muster_v1.h"
#include "kube/pod.h"

/* --- the command ---------------------------------------------------------------------------- */

static void lower_command(const struct binder *b, const struct mv1_role *in, struct role *role)
{
    int shell = mv1_word(in->shell, mv1_shells);

    role->shell_kind = shell > 0 ? (enum shell_kind)shell : SHELL_SH;
    role->expand_argv = in->expand;
    role->args = in->args;
    role->command_at = in->command;
    if (!in->command)
        return;
    if (in->command->type == NODE_STRING) { /* read as a list would be: the same faults are told */
        if (mv1_argv(b, in->command, SHELL_SH))
            role->shell = in->command->text;
    } else {
        role->argv = mv1_argv(b, in->command, SHELL_SH);
        if (in->shell)
            diag_at(b->ds, node_key(in->at, "shell"), "W0602", "write `command` as one text",
                    "`shell` has no effect: a list is executed directly");
    }
    if (role->args)
        diag_at(b->ds, node_key(in->at, "args"), "E0106", "put them into `command`",
                "`args` require an image's entry point, but there is a `command`");
}

/* --- counts --------------------------------------------------------------------------------- */

static void lower_slots(const struct binder *b, const struct mv1_role *in, struct role *role)
{
    static const int32_t words[] = {-SLOTS_AUTO, -SLOTS_UNSET, -SLOTS_AUTO, -SLOTS_AUTO};
    int32_t slots = role->kind == ROLE_HOST ? -SLOTS_UNSET : 1;

    if (in->slots)
        mv1_number(b, in->slots, 1, LIMIT_SLOTS, mv1_slots_words, words, &slots);
    role->slots_kind = slots > 0 ? SLOTS_NUMBER : (enum slots_kind) - slots;
    role->slots = slots > 0 ? slots : 1;
}

enum { SUCCESS_ALL = -10, SUCCESS_FIRST = -11 };

static void check_reachable(const struct binder *b, const struct node *at, int32_t count,
                            const struct role *role)
{
    if (count > role->replicas)
        diag_at(b->ds, at, "E0603", NULL, "`%s` can never be reached: there are %d replicas of %s",
                at->parent_key, role->replicas, role->name);
}

static void lower_completion(const struct binder *b, const struct mv1_role *in, struct role *role)
{
    static const int32_t never[] = {-1}, successes[] = {SUCCESS_ALL, SUCCESS_FIRST, -1};

    if (in->fails_after &&
        mv1_number(b, in->fails_after, 1, INT32_MAX, mv1_never, never, &role->min_failed))
        check_reachable(b, in->fails_after, role->min_failed, role);
    role->min_failed_at = in->fails_after;
    if (!in->succeeds_after || !mv1_number(b, in->succeeds_after, 1, INT32_MAX, mv1_successes,
                                           successes, &role->min_succeeded))
        return;
    check_reachable(b, in->succeeds_after, role->min_succeeded, role);
    role->first_decides = role->min_succeeded == SUCCESS_FIRST;
    if (role->first_decides)
        role->min_succeeded = 0;
    else if (role->min_succeeded == SUCCESS_ALL)
        role->min_succeeded = role->replicas;
}

/* The tables say -1 and -2 for `forever` and `always` where OpenPAI's numbers are meant. */
static void lower_restart(const struct binder *b, const struct node *at, struct role *role)
{
    static const int32_t repeats[] = {INT32_MAX, INT32_MAX}, by_class[] = {-1, -2};
    const struct mv1_restart *in;
    struct mv1_restart word = {0};
    size_t n = 0;
    int policy;

    if (!at)
        return;
    if (at->type == NODE_MAP) {
        in = bind_map(b, &mv1_restart_table, at);
    } else if (bind_string(b, "restart", at, &word.policy)) {
        while (mv1_policies[n])
            n++;
        bind_word(b, at, "restart", word.policy, mv1_policies, n);
        in = &word;
    } else {
        return;
    }
    policy = mv1_word(in->policy, mv1_policies);
    if (policy < 0)
        return;
    role->restart = (enum restart_policy)policy;
    role->restart_limit =
        role->restart == RESTART_NEVER || role->restart == RESTART_BY_CLASS ? 0 : 3;
    if (in->limit)
        mv1_number(b, in->limit, 0, INT32_MAX, mv1_repeats,
                   role->restart == RESTART_BY_CLASS ? by_class : repeats, &role->restart_limit);
}

/* --- ports ---------------------------------------------------------------------------------- */

static void lower_port(const struct binder *b, const struct pair *p, struct port_request *ret)
{
    static const int32_t any[] = {0};
    const struct node *node = p->value;

    *ret = (struct port_request){.label = p->key->text, .count = 1, .at = node};
    if (node->type == NODE_MAP) {
        const struct mv1_port *in = bind_map(b, &mv1_port_table, node);

        ret->count = in->count;
        ret->begin_at = in->from;
        ret->usual = in->usual;
        ret->first_only = in->first_only;
    } else if (node->type != NODE_NULL) {
        mv1_number(b, node, 1, 65535, mv1_any_port, any, &ret->begin_at);
    }
    if (ret->begin_at && ret->begin_at + ret->count > 65536)
        diag_at(b->ds, node, "E0308", NULL, "%d ports from %d exceed 65535", ret->count,
                ret->begin_at);
}

static void lower_ports(const struct binder *b, const struct mv1_role *in, struct role *role)
{
    struct port_request *ports;

    if (!in->ports)
        return;
    if (in->ports->type != NODE_MAP) {
        bind_type_error(b, "ports", "a mapping", "write LABEL: any", in->ports);
        return;
    }
    ports = ARENA_ARRAY(b->a, struct port_request, in->ports->n);
    for (size_t i = 0; i < in->ports->n; i++) {
        const struct pair *p = &in->ports->pairs[i];

        if (!p->key->len || strlen(p->key->text) != p->key->len)
            diag_at(b->ds, p->key, "E0104", NULL, "a port's label must not be empty");
        else
            lower_port(b, p, &ports[role->n_ports++]);
    }
    role->ports = ports;
}

/* --- resources ------------------------------------------------------------------------------ */

static void lower_amount(const struct binder *b, const struct node *node, bool milli,
                         int64_t *ret_request, int64_t *ret_limit, const struct node **ret_limit_at)
{
    struct mv1_amount plain = {.limit = node};
    const struct mv1_amount *in = &plain;

    if (!node)
        return;
    if (node->type == NODE_MAP)
        in = bind_map(b, &mv1_amount_table, node);
    if (in->request)
        pod_quantity(b, node->parent_key, in->request, milli, ret_request);
    if (in->limit && pod_quantity(b, node->parent_key, in->limit, milli, ret_limit))
        *ret_limit_at = in->limit;
}

static void lower_resources(const struct binder *b, const struct mv1_resources *in,
                            struct resources *res)
{
    if (!in)
        return;
    lower_amount(b, in->cpu, true, &res->cpu_request_milli, &res->cpu_limit_milli,
                 &res->cpu_limit_at);
    lower_amount(b, in->memory, false, &res->memory_request, &res->memory_limit,
                 &res->memory_limit_at);
    if (in->gpu)
        pod_quantity(b, "gpu", in->gpu, false, &res->gpu);
    res->gpu_at = in->gpu;
    if (in->shm && pod_quantity(b, "shm", in->shm, false, &res->shm))
        res->shm_at = in->shm;
}

/* --- all together --------------------------------------------------------------------------- */

/* In an MPI job the role called launcher is one, and ranks run in all others. */
static enum role_kind kind_of(const struct mv1_role *in, enum framework framework)
{
    int said = mv1_word(in->kind, mv1_kinds);

    if (said >= 0)
        return (enum role_kind)said;
    if (framework != FRAMEWORK_MPI)
        return ROLE_PLAIN;
    return strcmp(in->at->parent_key, mv1_kinds[ROLE_LAUNCHER]) == 0 ? ROLE_LAUNCHER : ROLE_HOST;
}

void mv1_lower_role(const struct binder *b, const struct mv1_role *in, enum framework framework,
                    struct role *role)
{
    int64_t grace = -1;

    *role = (struct role){
        .name = in->at->parent_key,
        .kind = kind_of(in, framework),
        .replicas = in->replicas,
        .replicas_at = node_get(in->at, "replicas") ? node_get(in->at, "replicas") : in->at,
        .workdir = in->workdir,
        .workdir_at = node_get(in->at, "workdir"),
        .image = in->image,
        .res = RESOURCES_UNSET,
        .restart = RESTART_NEVER,
        .template_at = in->template_,
        .own_slots = in->own_slots,
        .hosts_ranks = in->hosts_ranks,
        .ends_alone = in->ends_alone,
    };
    if (in->template_ && in->template_->type != NODE_MAP)
        bind_type_error(b, "template", "a mapping", NULL, in->template_);
    if (in->grace && mv1_duration(b, in->grace, &grace) && grace > INT32_MAX)
        diag_at(b->ds, in->grace, "E0203", NULL, "`grace` must be at most %d s", INT32_MAX);
    role->grace_s = (int32_t)grace;
    lower_command(b, in, role);
    lower_slots(b, in, role);
    lower_completion(b, in, role);
    lower_restart(b, in->restart, role);
    lower_ports(b, in, role);
    lower_resources(b, in->resources, &role->res);
    mv1_lower_env(b, in->env, &role->env, &role->n_env);
    mv1_lower_env_from(b, in->env_from.v, in->env_from.n, &role->env_from, &role->n_env_from);
    mv1_lower_mounts(b, in->mounts.v, in->mounts.n, "mount", &role->mounts, &role->n_mounts);
    mv1_lower_init(b, in, role);
}
