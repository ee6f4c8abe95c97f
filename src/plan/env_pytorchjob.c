/* env_pytorchjob.c - what Kubeflow's operator gives the pods of a PyTorchJob, and what of it
 * torchrun gets in a job of Muster's own form.
 *
 * MASTER_ADDR and RANK are of nodes, for scripts that are started once on each; torchrun reads
 * PET_* and makes its own of them. A job without a master gets neither, as on a cluster: torchrun
 * finds the rendezvous by PET_RDZV_ENDPOINT. The operator before v1 knew no torchrun.
 */
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"

#define RDZV_PORT 23456 /* of a rendezvous elsewhere that the file gives no port for */

static bool is_master(const struct replica *rp)
{
    return strcmp(rp->role->name, "master") == 0;
}

static void put(struct env_set *set, const char *name, const char *value)
{
    env_put(set, name, value, ORIGIN_FRAMEWORK, NULL);
}

static void put_number(struct env_set *set, const char *name, int64_t value)
{
    env_putf(set, ORIGIN_FRAMEWORK, name, "%lld", (long long)value);
}

/* PET_NPROC_PER_NODE: the file's word, unless --nproc or --fit has said another number. */
static const char *nproc_of(struct arena *a, const struct plan *plan, const struct role *role)
{
    const char *word = plan->spec->nproc ? plan->spec->nproc : "auto";

    return role->slots_kind == SLOTS_NUMBER ? arena_printf(a, "%d", role->slots) : word;
}

/* In the order of the operator. */
static void put_master(struct env_set *set, const struct plan *plan, const struct replica *rp,
                       const struct replica *master)
{
    const struct plan_port *port = plan_port(master, "MASTER_PORT");
    int number = port ? port->numbers[0] : 0, rank = is_master(rp) ? 0 : rp->index + 1;
    bool old = !plan->spec->nproc;

    put_number(set, "MASTER_PORT", number);
    if (!old)
        put_number(set, "PET_MASTER_PORT", number);
    put(set, "MASTER_ADDR", old && is_master(rp) ? "localhost" : plan_reachable(master));
    if (!old)
        put(set, "PET_MASTER_ADDR", plan_reachable(master));
    put_number(set, "WORLD_SIZE",
               (int64_t)plan->n_replicas *
                   (rp->role->slots_kind == SLOTS_NUMBER ? rp->role->slots : 1));
    put_number(set, "RANK", rank);
    if (!old)
        put_number(set, "PET_NODE_RANK", rank);
}

static const char *joined(struct arena *a, const char *const *texts)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (; *texts; texts++)
        strbuf_addf(&sb, "%s%s", sb.len ? "," : "", *texts);
    return arena_strndup(a, sb.buf, sb.len);
}

/* first: where the rendezvous is, unless the file says another host. nproc: PET_NPROC_PER_NODE, if
 * it stands among these; or NULL. */
static void put_elastic(struct env_set *set, const struct plan *plan, const struct replica *first,
                        const struct plan_port *port, const char *nproc)
{
    const struct elastic_spec *e = plan->spec->elastic;
    int32_t nodes = (int32_t)plan->n_replicas;

    if (e->host)
        env_putf(set, ORIGIN_FRAMEWORK, "PET_RDZV_ENDPOINT", "%s:%d", e->host,
                 e->port > 0 ? e->port : RDZV_PORT);
    else
        env_putf(set, ORIGIN_FRAMEWORK, "PET_RDZV_ENDPOINT", "%s:%d", plan_reachable(first),
                 port ? port->numbers[0] : 0);
    put(set, "PET_RDZV_BACKEND", e->backend ? e->backend : "c10d");
    env_putf(set, ORIGIN_FRAMEWORK, "PET_NNODES", "%d:%d",
             e->min_replicas >= 0 ? e->min_replicas : nodes,
             e->max_replicas >= 0 ? e->max_replicas : nodes);
    if (e->max_restarts >= 0)
        put_number(set, "PET_MAX_RESTARTS", e->max_restarts);
    if (nproc)
        put(set, "PET_NPROC_PER_NODE", nproc);
    if (e->id)
        put(set, "PET_RDZV_ID", e->id);
    if (e->conf)
        put(set, "PET_RDZV_CONF", joined(set->arena, e->conf));
    if (e->standalone)
        put(set, "PET_STANDALONE", "");
}

void env_pytorchjob(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct role *master = spec_role(plan->spec, "master");
    bool old = !plan->spec->nproc, by_policy;
    const char *nproc;

    put(set, "PYTHONUNBUFFERED", old ? "0" : "1");
    if (master && master->replicas)
        put_master(set, plan, rp, plan_replica(plan, master, 0));
    if (old)
        return;
    nproc = nproc_of(set->arena, plan, rp->role);
    by_policy = plan->spec->elastic && plan->spec->elastic->n_proc > 0;
    if (!by_policy)
        put(set, "PET_NPROC_PER_NODE", nproc);
    if (plan->spec->elastic) {
        const struct role *worker = spec_role(plan->spec, "worker");
        const struct replica *first =
            worker && worker->replicas ? plan_replica(plan, worker, 0) : &plan->replicas[0];

        put_elastic(set, plan, first, plan_port(first, "RDZV_PORT"), by_policy ? nproc : NULL);
    } else {
        put_number(set, "PET_NNODES", plan->n_replicas);
    }
}

void env_torchrun(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct replica *master = env_torch_master(plan);
    const struct plan_port *port = plan_port(master, "MASTER_PORT");
    const struct elastic_spec *e = plan->spec->elastic;

    if (e && e->n_proc > 0)
        put_number(set, "PET_NPROC_PER_NODE", e->n_proc);
    else
        put(set, "PET_NPROC_PER_NODE", nproc_of(set->arena, plan, rp->role));
    if (e) {
        put_elastic(set, plan, master, port, NULL);
        return;
    }
    put_number(set, "PET_NNODES", plan->n_replicas);
    put_number(set, "PET_NODE_RANK", rp->id);
    put(set, "PET_MASTER_ADDR", plan_reachable(master));
    put_number(set, "PET_MASTER_PORT", port ? port->numbers[0] : 0);
}
