/* sight.h - what is known of replicas that are not there yet, or not to be seen. Internal to job/.
 *
 * A replica that waits has a reason, and one that is out of sight is neither running nor ended:
 * both are told, and of both nothing follows but that waiting has a limit, the start timeout.
 * Losing sight of a replica restarts nothing and fails nothing; whatever is heard of it later
 * brings it back. A removal is known before the processes of the replica end: it explains what
 * ends after it.
 */
#ifndef JOB_SIGHT_H
#define JOB_SIGHT_H

#include "job/job.h"

void sight_release(struct job *job); /* the memory of an attempt */

bool sight_waiting_is_new(const struct job *job, const struct observation *o);
bool sight_loss_is_new(const struct job *job, const struct observation *o);
bool sight_removal_is_new(const struct job *job, const struct observation *o);
/* An observation that is nothing new otherwise may show that a replica is there after all. */
void sight_regain(const struct job *job, const struct observation *o, struct events *out);

bool sight_any_lost(const struct job *job);
int32_t sight_first_removed(const struct job *job); /* replica, -1: none */

/* When the first replica that waits has waited for too long, and which that is; 0: never. */
ns_t sight_patience(const struct job *job, int32_t *ret_replica);

/* Of every event, before anything else of it is folded. */
void sight_apply(struct job *job, const struct event *e);
void sight_apply_waiting(struct job *job, const struct event *e);
void sight_keep_why(struct job *job, uint32_t replica,
                    const char *text); /* NULL: nothing to keep */

#endif
