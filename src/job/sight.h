/* sight.h - what is known of replicas that are not there yet, or not to be seen. Internal to job/.
 *
 * A replica that waits has a reason, and one that is out of sight is neither running nor ended:
 * both are told, and nothing follows from either. Losing sight of a replica restarts nothing and
 * fails nothing; whatever is heard of it later brings it back.
 */
#ifndef JOB_SIGHT_H
#define JOB_SIGHT_H

#include "job/job.h"

void sight_release(struct job *job); /* the memory of an attempt */

bool sight_waiting_is_new(const struct job *job, const struct observation *o);
bool sight_loss_is_new(const struct job *job, const struct observation *o);
/* An observation that is nothing new otherwise may show that a replica is there after all. */
void sight_regain(const struct job *job, const struct observation *o, struct events *out);

bool sight_any_lost(const struct job *job);

/* Of every event, before anything else of it is folded. */
void sight_apply(struct job *job, const struct event *e);
void sight_apply_waiting(struct job *job, const struct event *e);

#endif
