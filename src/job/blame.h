/* blame.h - a rank that was ended, and whoever made mpirun end it. Internal to job/.
 *
 * mpirun ends all its ranks when one of them fails, aborts or leaves without MPI_Finalize, when it
 * loses a daemon, and when it is signalled. doc/design/who-failed-first.md says how each is
 * recognised.
 */
#ifndef JOB_BLAME_H
#define JOB_BLAME_H

#include "job/job.h"

/* Has it ended, not well, and by itself: neither we nor mpirun had told it to, and it had its
 * daemon? */
bool rank_failed(const struct launch *l, uint32_t rank);
/* Did rank a, which has failed, do so before b? Of two at one time the lower number, so that the
 * order of reports does not matter. */
bool rank_failed_before(const struct launch *l, uint32_t a, uint32_t b);
/* The first in time of these, -1 = none. */
int32_t rank_first_failed(const struct launch *l);

/* Has mpirun told ranks to end because one had left with 0? Hydra's proxy ends those beside it, and
 * mpiexec may wait for the others for ever. */
bool blame_has_leaver(const struct launch *l);

/* The process that calls mpirun: the launcher. Where there is none, the task that failed first; a
 * task that ends with 0 over failed ranks is trusted. NULL: nobody. */
const struct proc *blame_caller(const struct job *job);

/* Why the mpirun that counts ended its ranks: what was reported, else what their ends show. NONE:
 * it did not, or nothing explains it. */
struct blame blame_find(const struct job *job);

/* Was it a rank that ended itself by way of MPI: MPI_Abort, or MPI's error handler? */
static inline bool blame_is_abort(const struct blame *b)
{
    return b->kind == BLAME_ABORT || b->kind == BLAME_ERROR;
}

#endif
