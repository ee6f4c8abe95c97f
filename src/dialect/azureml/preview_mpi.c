/* preview_mpi.c - how many workers an MpiJob has, and how many processes each takes.
 *
 * The preview never said how the processes per node are told; the launcher's own command, the GPU
 * limit and the number of instances do, in this order of trust:
 *
 *   processes per worker   processes_per_node, the worker's GPU limit, what mpirun is told per node
 *                          (-N, --map-by ppr), -np over the workers, 1
 *   workers                num_replicas, instance_count, -np over the processes per worker, 1 */
#include "dialect/azureml/preview_lower.h"

#include <string.h>

#include "base/limits.h"
#include "dialect/mpirun.h"

int32_t azp_per_node(struct azp *l, const struct azp_role *in, const struct node **ret_at)
{
    const struct node *first = NULL;
    int32_t n = 0;

    for (size_t i = 0; in && i < ARRAY_SIZE(azp_per_node_keys); i++) {
        const struct node *at = node_get(in->at, azp_per_node_keys[i]);

        if (!in->per_node[i])
            continue;
        if (first && in->per_node[i] != n)
            diag_at(l->b.ds, node_label(at), "E0106", "keep one of the two",
                    "`%s` repeats `%s` (line %u)", at->parent_key, first->parent_key,
                    first->pos.line);
        n = in->per_node[i];
        first = at;
    }
    if (ret_at)
        *ret_at = first;
    return n;
}

struct counting {
    struct azp *l;
    struct mpirun_call call;
    const struct node *command; /* the launcher's, or NULL */
    struct role *worker;
};

static const char *plural(int64_t n, const char *many)
{
    return n == 1 ? "" : many;
}

/* a / b, rounded up; a remainder is worth a warning. */
static int32_t divide(struct counting *c, int32_t processes, int32_t by, const char *what)
{
    int32_t n = processes / by + (processes % by != 0);

    if (processes % by)
        diag_at(c->l->b.ds, c->command, "W0407", NULL,
                "%d processes is not a multiple of %d: %d %s, not all full", processes, by, n,
                what);
    return n;
}

/* Processes per worker by what does not depend on the number of workers; 0 if nothing tells. */
static int32_t told_slots(struct counting *c, const struct azp_out *worker)
{
    struct diags *ds = c->l->b.ds;
    const struct node *at = NULL;
    int32_t n = azp_per_node(c->l, worker->in, &at);
    int64_t gpus = worker->role->res.gpu;

    if (n) {
        diag_at(ds, at, "N0401", NULL, "each worker runs %d process%s (`%s`)", n, plural(n, "es"),
                at->parent_key);
        return n;
    }
    if (worker->gpu_at && gpus > LIMIT_SLOTS) {
        diag_at(ds, worker->gpu_at, "E0203", NULL, "a worker runs at most %d processes, not %lld",
                LIMIT_SLOTS, (long long)gpus);
        return 1;
    }
    if (worker->gpu_at && gpus > 0) {
        diag_at(ds, worker->gpu_at, "N0401", NULL,
                "each worker runs %lld process%s, one per GPU of its limit", (long long)gpus,
                plural(gpus, "es"));
        return (int32_t)gpus;
    }
    if (c->call.per_node)
        diag_at(ds, c->command, "N0401", NULL, "each worker runs %d process%s (option of %s)",
                c->call.per_node, plural(c->call.per_node, "es"), c->call.program);
    return c->call.per_node;
}

static int32_t worker_count(struct counting *c, const struct azp_out *worker, int32_t slots)
{
    const struct azp_compute *compute = c->l->job->compute;
    int32_t n;

    if (worker->in && worker->in->num_replicas) {
        worker->role->replicas_at = node_get(worker->in->at, "num_replicas");
        return worker->in->num_replicas;
    }
    if (compute && compute->instance_count) {
        worker->role->replicas_at = node_get(compute->at, "instance_count");
        return compute->instance_count;
    }
    worker->role->replicas_at = c->command;
    if (!slots || !c->call.np)
        return 1;
    n = divide(c, c->call.np, slots, "workers");
    diag_at(c->l->b.ds, c->command, "N0401", "set compute.instance_count",
            "%d worker%s: the %d processes of %s, %d per worker", n, plural(n, "s"), c->call.np,
            c->call.program, slots);
    return n;
}

/* -np over the workers. */
static int32_t shared_slots(struct counting *c)
{
    int32_t workers = c->worker->replicas, n = 1;

    if (c->call.np)
        n = divide(c, c->call.np, workers, "in each worker");
    if (c->call.np)
        diag_at(c->l->b.ds, c->command, "N0401", "set worker.processes_per_node",
                "each worker runs %d process%s: the %d of %s on %d worker%s", n, plural(n, "es"),
                c->call.np, c->call.program, workers, plural(workers, "s"));
    else
        diag_at(c->l->b.ds, c->command, "N0401", "set worker.processes_per_node",
                "each worker runs 1 process; the number is not set");
    return n;
}

void azp_count_mpi(struct azp *l, const struct azp_out *launcher, const struct azp_out *worker)
{
    struct counting c = {.l = l, .command = launcher->role->command_at, .worker = worker->role};
    const char *text = launcher->role->shell;
    int32_t slots;
    int64_t room;

    if (!text)
        return;
    if (!mpirun_in_shell(l->b.a, text, &c.call))
        diag_at(l->b.ds, c.command, "N0403", NULL,
                "the launcher's command does not call mpirun, mpiexec or horovodrun");
    slots = told_slots(&c, worker);
    worker->role->replicas = worker_count(&c, worker, slots);
    worker->role->slots = slots ? slots : shared_slots(&c);
    room = (int64_t)worker->role->replicas * worker->role->slots;
    if (c.call.np > room && !strstr(text, "oversubscribe"))
        diag_at(l->b.ds, c.command, "W0408", "raise compute.instance_count",
                "%s starts %d processes, but the workers have %lld slots", c.call.program,
                c.call.np, (long long)room);
}
