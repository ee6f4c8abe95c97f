/* tries.h - which of a launcher's mpiruns counts. Internal to job/.
 *
 * A script that calls mpirun again with the same program tries again, and its last try counts. An
 * mpirun with another program, with more ranks, or at the same time excuses nothing; nor does any
 * if the launcher ends with the status of a rank that failed before.
 */
#ifndef JOB_TRIES_H
#define JOB_TRIES_H

#include "job/job.h"

/* Is there a later mpirun that tried the same again after this one had ended? */
bool launch_tried_again(const struct job *job, uint32_t launch);

/* When something went wrong in it: the first rank that did not end with 0, the loss of a daemon, a
 * signal; of an mpirun that started no rank that loss, or its own end. 0 = nothing did. */
ns_t launch_failed_at(const struct launch *l);

/* The first mpirun that failed without starting a rank and was not tried again; NULL: none. */
const struct launch *launch_without_ranks(const struct job *job);

#endif
