/* snapshot.h - the state of a job as text: for an object in a cluster, where there is no journal,
 * and for a journal that is cut.
 *
 * Lines of JSON: for each attempt before the present one, and then for that, a line with what is
 * the job's and the attempt's, and a line for every process, rank, replica or role of which there
 * is something to tell. What has its first value is not written, so that the text has the size of
 * what has happened. The plan is not in it: the caller has it, or its record (journal/record.h).
 */
#ifndef JOB_SNAPSHOT_H
#define JOB_SNAPSHOT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "job/job.h"

#define SNAPSHOT_VERSION 1

void job_save(const struct job *job, struct strbuf *out);

/* A job in the state that was saved; the caller frees it. -EINVAL if the text is no snapshot of a
 * job of this plan: whatever it says, nothing in the job leads outside of the plan. */
int job_load(const struct plan *plan, const struct job_rules *rules, const char *text, size_t len,
             struct job **ret, struct err *e);

/* Does the cause name nobody whom the plan and the launches of the job do not have? */
bool job_cause_fits(const struct job *job, const struct cause *c);

#endif
