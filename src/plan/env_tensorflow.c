/* env_tensorflow.c - TF_CONFIG: the whole cluster, and which of its tasks this process is.
 *
 * No key "chief" is made up: where the file has none, worker 0 is the chief by convention.
 */
#include <string.h>

#include "base/strbuf.h"
#include "doc/json.h"
#include "plan/env.h"
#include "plan/tasks.h"

#define TF_PORT "TF_CONFIG"

/* TensorFlow's word for a role, in the order in which the platforms write them: by name. An
 * evaluator is a task, but none of the cluster's. */
static const struct task_type {
    const char *type, *role;
    bool outside;
} types[] = {
    {"chief", "chief", false}, {"evaluator", "evaluator", true},  {"master", "master", false},
    {"ps", "ps", false},       {"ps", "parameter_server", false}, {"worker", "worker", false},
};

static const char *type_of(const struct process *process, const struct role *role)
{
    if (process->task)
        return process->task->type;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (!strcmp(types[i].role, role->name))
            return types[i].type;
    return role->name;
}

/* HOST:PORT. On a cluster of Kubeflow's the host is the name of the replica's Service. */
static const char *address_of(struct arena *a, const struct plan *plan, const struct replica *rp)
{
    const struct plan_port *port = plan_port(rp, TF_PORT);
    const char *host = rp->named ? plan_service(a, plan, rp) : NULL;

    return arena_printf(a, "%s:%d", host ? host : plan_reachable(rp), port ? port->numbers[0] : 0);
}

static void write_addresses(struct json *j, struct arena *a, const struct plan *plan,
                            const struct role *role)
{
    const struct replica *first = role ? plan_replica(plan, role, 0) : NULL;

    json_array(j);
    for (int32_t i = 0; first && i < role->replicas; i++)
        json_str(j, address_of(a, plan, &first[i]));
    json_end(j);
}

/* The addresses of tasks that share replicas; false if the role has none of that type. */
static bool write_tasks(struct json *j, struct arena *a, const struct plan *plan,
                        const struct role *role, const char *type)
{
    for (size_t i = 0; i < role->n_tasks; i++) {
        const struct task *task = &role->tasks[i];

        if (strcmp(task->type, type) != 0)
            continue;
        json_key(j, type);
        json_array(j);
        for (int32_t k = 0; k < task->count; k++)
            json_str(j, task_address(a, plan, role, task, k, true));
        json_end(j);
        return true;
    }
    return false;
}

/* Kubeflow's operator lists evaluators all the same. */
static bool is_outside(const struct plan *plan, const struct task_type *type)
{
    return type->outside && !plan->facts->site.operated;
}

static void write_cluster(struct json *j, struct arena *a, const struct plan *plan,
                          const struct role *mine)
{
    json_object(j);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const struct role *role = spec_role(plan->spec, types[i].role);

        if (write_tasks(j, a, plan, mine, types[i].role) || !role || is_outside(plan, &types[i]))
            continue;
        json_key(j, types[i].type);
        write_addresses(j, a, plan, role);
    }
    json_end(j);
}

/* Workers may come and go: each knows itself and the parameter servers, and these nobody else. */
static void write_sparse_cluster(struct json *j, struct arena *a, const struct plan *plan,
                                 const struct replica *rp, const char *type)
{
    bool worker = strcmp(type, "worker") == 0;

    json_object(j);
    json_key(j, "worker");
    json_object(j);
    if (worker)
        json_kv_str(j, arena_printf(a, "%d", rp->index), address_of(a, plan, rp));
    json_end(j);
    json_key(j, "ps");
    if (strcmp(type, "ps") == 0) {
        json_array(j);
        json_str(j, address_of(a, plan, rp));
        json_end(j);
    } else {
        /* Kubeflow's operator tells a chief of nobody. */
        write_addresses(j, a, plan,
                        worker || !plan->facts->site.operated ? spec_role(plan->spec, "ps") : NULL);
    }
    json_end(j);
}

/* Kubeflow's operator gives none to a job of one replica, which TensorFlow takes for a local one.
 */
static bool has_cluster(const struct plan *plan)
{
    return plan->spec->platform.environment != PLATFORM_TFJOB || plan->n_replicas != 1;
}

void env_tensorflow(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb);
    const char *type = type_of(process, rp->role);
    bool sparse = plan->spec->sparse_cluster;

    if (!has_cluster(plan))
        return;
    json_object(&j);
    json_key(&j, "cluster");
    if (sparse)
        write_sparse_cluster(&j, set->arena, plan, rp, type);
    else
        write_cluster(&j, set->arena, plan, rp->role);
    json_key(&j, "task");
    json_object(&j);
    json_kv_str(&j, "type", type);
    json_kv_int(&j, "index", process->task ? process->task_index : rp->index);
    json_end(&j);
    if (!sparse)
        json_kv_str(&j, "environment", "cloud");
    json_end(&j);
    env_put(set, "TF_CONFIG", arena_strndup(set->arena, sb.buf, sb.len), ORIGIN_FRAMEWORK, NULL);
}
