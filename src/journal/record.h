/* record.h - what a job was made of, recorded beside its journal: as much of the plan as the core,
 * the report and the status views read, and the rules of the caller.
 *
 * With it a journal can be folded by any later Muster, on any machine, without the job file:
 * nothing is planned again. No environment and no secret is in it; commands are as `explain` shows
 * them. Lines of JSON: the job and its roles, then one line per replica, so that its size is that
 * of the job. doc/design/records.md says why it is the result of planning and not what planning
 * begins with.
 */
#ifndef JOURNAL_RECORD_H
#define JOURNAL_RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "job/job.h"

#define RECORD_NAME "job.jsonl"
#define RECORD_VERSION 1

void record_write(struct strbuf *out, const struct plan *plan, const struct job_rules *given);

/* The plan is in a, good for job_new() and for whatever reads a job, not for starting anything.
 * -EINVAL if the text is no such record; numbers in it cannot lead outside of the plan. */
int record_read(struct arena *a, const char *text, size_t len, const struct plan **ret_plan,
                struct job_rules *ret_rules, struct err *e);

/* A short name for a record, by its text: the journal's first line has that of the job's. */
#define RECORD_MARK 17
const char *record_mark(const char *text, size_t len, char out[RECORD_MARK]);

#endif
