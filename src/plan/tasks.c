/* tasks.c - see tasks.h. */
#include "plan/tasks.h"

static int64_t tasks_total(const struct role *role)
{
    int64_t n = 0;

    for (size_t i = 0; i < role->n_tasks; i++)
        n += role->tasks[i].count;
    return n;
}

int64_t tasks_in_replica(const struct role *role, int32_t index)
{
    int64_t total = tasks_total(role), n;

    if (!role->n_tasks)
        return role->slots;
    n = total / role->replicas + (index < total % role->replicas);
    return n ? n : 1;
}

struct task_place task_in_slot(const struct role *role, int32_t replica, int32_t slot)
{
    int64_t number = (int64_t)slot * role->replicas + replica;

    for (size_t i = 0; i < role->n_tasks; i++) {
        if (number < role->tasks[i].count)
            return (struct task_place){&role->tasks[i], (int32_t)number};
        number -= role->tasks[i].count;
    }
    return (struct task_place){0};
}

const char *task_address(struct arena *a, const struct plan *plan, const struct role *role,
                         const struct task *task, int32_t index, bool by_name)
{
    int64_t number = index;

    for (const struct task *t = role->tasks; t < task; t++)
        number += t->count;

    const struct replica *rp = plan_replica(plan, role, (int32_t)(number % role->replicas));
    const struct plan_port *port = plan_port(rp, "TF_CONFIG");
    int64_t slot = number / role->replicas;

    return arena_printf(a, "%s:%d", by_name ? plan_reachable(rp) : rp->address,
                        port && slot < port->n ? port->numbers[slot] : 0);
}
