/* ranks.h - what the container of a launcher says of its ranks in its termination message, which
 * shim/records.h describes: read, and made observations.
 *
 * The message is written by a program in the user's container: what does not fit is left out.
 */
#ifndef OPERATOR_RANKS_H
#define OPERATOR_RANKS_H

#include "base/arena.h"
#include "job/job.h"

/* The line of a message that is about ranks, without its prefix; NULL: there is none. */
const char *ranks_line(struct arena *a, const char *message);

/* Calls `observe` for what the line says of the launcher's start that ended at `end`: the failed
 * ranks, and that their mpiruns are over. Launches are counted on from job->n_launches. */
void ranks_observe(const struct job *job, const char *line, ns_t end,
                   void (*observe)(void *ctx, const struct observation *o), void *ctx);

#endif
