/* env_shared.c - what keeps replicas apart that share one host name, one /tmp and one /dev/shm:
 * only at level `none`.
 *
 * Libraries name their files after the host. Two replicas that believe to be two hosts and are one
 * then write into each other's: Open MPI's shared memory crashes by it.
 */
#include "plan/env.h"
#include "plan/mpi.h"

/* mpirun hands its own parameters on to all ranks; what is not among them, each rank has from its
 * replica. A role whose replicas all name mpirun calls it in the first. */
static bool calls_mpirun(const struct replica *rp)
{
    return rp->index == 0 && role_calls_mpi(rp->role);
}

void env_shared(struct env_set *set, const struct plan *plan, const struct process *process)
{
    static const char *const names[] = {"TMPDIR", "OMPI_MCA_btl_vader_backing_directory",
                                        "OMPI_MCA_btl_sm_backing_directory"};
    const struct replica *rp = &plan->replicas[process->replica];
    const char *dir;

    if (!isolation_is(plan->facts, "none"))
        return;
    set->local = true;
    dir = arena_printf(set->arena, "%s/%s", plan->facts->site.scratch_dir, rp->name);
    for (size_t i = 0; i < (calls_mpirun(rp) ? 1 : ARRAY_SIZE(names)); i++)
        env_put(set, names[i], dir, ORIGIN_MUSTER, "replicas share this host's directories");
    set->local = false;
}
