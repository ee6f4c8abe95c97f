/* env_torch.c - torch's rendezvous by environment, for the ranks of `run -n`. */
#include "plan/env.h"

void env_torch(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct plan_port *port = plan_port(&plan->replicas[0], "MASTER_PORT");
    const struct {
        const char *name;
        int32_t value;
    } numbers[] = {
        {"RANK", process->rank},     {"LOCAL_RANK", process->slot},
        {"WORLD_SIZE", plan->world}, {"LOCAL_WORLD_SIZE", (int32_t)rp->n_processes},
        {"NODE_RANK", rp->index},    {"MASTER_PORT", port ? port->numbers[0] : 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        env_put(set, numbers[i].name, arena_printf(set->arena, "%d", numbers[i].value),
                ORIGIN_FRAMEWORK, NULL);
    env_put(set, "MASTER_ADDR", plan_reachable(&plan->replicas[0]), ORIGIN_FRAMEWORK, NULL);
}
