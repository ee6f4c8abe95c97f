/* expire.h - when an object that has ended is deleted (ttlSecondsAfterFinished), and what the batch
 * Job of a launcher says: pure functions. */
#ifndef OPERATOR_EXPIRE_H
#define OPERATOR_EXPIRE_H

#include "base/clock.h"
#include "doc/tree.h"

/* By the cluster's clock; 0: it is kept, or its status does not say when it ended. */
ns_t expire_at(const struct node *object);

enum job_end { JOB_GOES_ON, JOB_COMPLETE, JOB_FAILED };
/* *ret_text: why it has failed, in its own words; in the object. */
enum job_end job_end_of(const struct node *batch_job, const char **ret_text);

#endif
