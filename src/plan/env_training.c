/* env_training.c - what a first run with a framework falls over, or is slow by, where all hosts are
 * one machine: rows as in env_mpi.c, defaults, each with its reason.
 *
 * Not here: how processes find each other (env_torch.c, env_pytorchjob.c, env_tensorflow.c, …).
 */
#include "plan/env.h"

/* How many processes compute at the same time, as far as that is known. */
static int64_t n_computing(const struct plan *plan)
{
    int64_t n = 0;

    if (plan->world > 0)
        return plan->world;
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];
        const struct role *role = rp->role;

        if (rp->n_processes == 1 && role->slots_kind == SLOTS_NUMBER && role->slots > 1)
            n += role->slots; /* torchrun starts them */
        else
            n += rp->n_processes;
    }
    return n > 0 ? n : 1;
}

int64_t env_threads(const struct plan *plan)
{
    int64_t each = plan->facts->machine.cpus / n_computing(plan);

    return each > 0 ? each : 1;
}

/* mpirun binds its ranks to cores, and OpenMP takes what it is bound to: only a rank for which
 * there is no whole core has to be told. */
static bool cores_are_shared(const struct plan *plan)
{
    return n_computing(plan) > 1 && (!plan->calls_mpi || env_threads(plan) == 1);
}

static bool is_torch(const struct plan *plan)
{
    return plan->spec->framework == FRAMEWORK_PYTORCH || plan->spec->pai || plan->spec->ranks;
}

static bool is_elastic(const struct plan *plan)
{
    return plan->spec->elastic;
}

static const struct env_default defaults[] = {
    {.name = "PYTHONUNBUFFERED",
     .value = "1",
     .why = "shows Python output immediately and completely"},
    {.name = "OMP_NUM_THREADS",
     .where = THREADS,
     .when = cores_are_shared,
     .why = "otherwise each process uses every core"},
    {.name = "GLOO_SOCKET_IFNAME",
     .where = INTERFACE,
     .when = is_torch,
     .why = "connects the replicas"},
    {.name = "NCCL_SOCKET_IFNAME",
     .where = INTERFACE,
     .when = is_torch,
     .why = "connects the replicas"},
    {.name = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
     .value = "1",
     .when = is_elastic,
     .why = "otherwise ranks of a new round find stale entries in the agent's store"},
};

void env_training(struct env_set *set, const struct plan *plan, const struct process *process)
{
    (void)process;
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        env_put_default(set, plan, &defaults[i]);
}
