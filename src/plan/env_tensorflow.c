/* env_tensorflow.c - TF_CONFIG: the whole cluster, and which of its tasks this process is.
 *
 * No key "chief" is made up: where the file has none, worker 0 is the chief by convention.
 */
#include <string.h>

#include "base/strbuf.h"
#include "doc/json.h"
#include "plan/env.h"

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

static const char *type_of(const struct role *role)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (!strcmp(types[i].role, role->name))
            return types[i].type;
    return role->name;
}

static void write_addresses(struct json *j, struct arena *a, const struct plan *plan,
                            const struct role *role)
{
    const struct replica *first = plan_replica(plan, role, 0);

    json_array(j);
    for (int32_t i = 0; i < role->replicas; i++) {
        const struct plan_port *port = plan_port(&first[i], TF_PORT);

        json_str(j,
                 arena_printf(a, "%s:%d", plan_reachable(&first[i]), port ? port->numbers[0] : 0));
    }
    json_end(j);
}

void env_tensorflow(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb);

    json_object(&j);
    json_key(&j, "cluster");
    json_object(&j);
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const struct role *role = spec_role(plan->spec, types[i].role);

        if (!role || types[i].outside)
            continue;
        json_key(&j, types[i].type);
        write_addresses(&j, set->arena, plan, role);
    }
    json_end(&j);
    json_key(&j, "task");
    json_object(&j);
    json_kv_str(&j, "type", type_of(rp->role));
    json_kv_int(&j, "index", rp->index);
    json_end(&j);
    json_kv_str(&j, "environment", "cloud");
    json_end(&j);
    env_put(set, "TF_CONFIG", arena_strndup(set->arena, sb.buf, sb.len), ORIGIN_FRAMEWORK, NULL);
}
