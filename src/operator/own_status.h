/* own_status.h - the status of a MusterJob: what `muster show` tells of a run, as an object.
 *
 *   phase        Pending, Running, Paused, Succeeded, Failed; Invalid: the spec is not a valid job
 *   waiting      what it waits for, with numbers; not there: nothing
 *   attempt      the number of the present one
 *   verdict      one sentence, once it has ended; of a retry: why the last attempt failed
 *   exitCode     as that of `muster run`
 *   cause        the first failure: replica, rank, kind, exitCode or signal, message
 *   roles        per role, replicas by what they are doing
 *   platform     the status in the words of the platform that the job was written for
 *   startTime, completionTime
 *   conditions   Accepted, Running, Paused, Succeeded, Failed
 *
 * Pure: the same job gives the same text.
 */
#ifndef OPERATOR_OWN_STATUS_H
#define OPERATOR_OWN_STATUS_H

#include "doc/json.h"
#include "job/job.h"

/* refusal: why nothing is done for the job now; or NULL. */
void own_status(const struct job *job, int64_t generation, const char *refusal, struct json *j);

/* Of an object that is not a valid job: why, as `muster validate` says it. */
void own_status_invalid(const char *why, int64_t generation, ns_t at, struct json *j);

#endif
