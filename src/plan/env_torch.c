/* env_torch.c - torch's rendezvous by environment: for the ranks of `run -n` and for jobs whose
 * framework is PyTorch.
 *
 * A job's node process gets WORLD_SIZE, RANK and LOCAL_RANK too, as if it were a rank itself: a
 * plain `python train.py` needs them, and torchrun or torch.distributed.launch overwrite them for
 * the processes they start.
 */
#include "plan/env.h"

const struct replica *env_torch_master(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan_port(&plan->replicas[i], "MASTER_PORT"))
            return &plan->replicas[i];
    return &plan->replicas[0];
}

void env_torch(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct replica *master = env_torch_master(plan);
    const struct plan_port *port = plan_port(master, "MASTER_PORT");
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        {"RANK", process->id},
        {"LOCAL_RANK", (uint32_t)process->slot},
        {"WORLD_SIZE", plan->n_processes},
        {"LOCAL_WORLD_SIZE", rp->n_processes},
        {"NODE_RANK", rp->id},
        {"MASTER_PORT", port ? (uint32_t)port->numbers[0] : 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        env_putf(set, ORIGIN_FRAMEWORK, numbers[i].name, "%u", numbers[i].value);
    env_put(set, "MASTER_ADDR", plan_reachable(master), ORIGIN_FRAMEWORK, NULL);
}
