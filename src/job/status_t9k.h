/* status_t9k.h - a job's status as T9k's controller would write it.
 *
 * T9k's words keep T9k's meaning: Succeeded is "mpirun ended with 0", Failed is "the launcher or a
 * replica did not". What really happened is the verdict's business, beside it.
 */
#ifndef JOB_STATUS_T9K_H
#define JOB_STATUS_T9K_H

#include "doc/json.h"
#include "job/job.h"

/* Writes one JSON object: phase, conditions, tasks, aggregate. */
void status_t9k(const struct job *job, struct json *j);

#endif
