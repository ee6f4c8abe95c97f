/* report.h - the report of CONTRACTS §4. Of a job that has not ended: what is known so far, with no
 * outcome, exit code and cause, and its phase instead of a verdict. */
#ifndef JOB_REPORT_H
#define JOB_REPORT_H

#include "doc/json.h"
#include <errno.h>

#include "job/job.h"

/* A log that could not be written to its end, or was truncated. */
struct log_gap {
    char *log;
    int error;     /* errno, or LOG_TRUNCATED */
    int64_t bytes; /* that are missing */
};
#define LOG_TRUNCATED ENODATA /* as the error: somebody else has truncated it */
const char *log_gap_reason(const struct log_gap *gap);

struct report_context {
    const char *engine;
    /* last lines of the cause's log, secrets masked, NULL-terminated; or NULL */
    const char *const *log_tail;
    const char *const *const *past_tails; /* the same of job->n_past earlier attempts; or NULL */
    const struct log_gap *gaps;
    size_t n_gaps;
    const char *const *outputs; /* paths of what the job left, NULL-terminated; or NULL */
    bool recorded;     /* the plan is a record's: it has nothing that a hint could be made of */
    bool killed;       /* its muster was killed: of a job that has not ended this is all there is */
    const char *other; /* what another process says of why it failed; or NULL, or "" */
    const char *aside; /* one more clause for the verdict; or NULL, or "" */
};

/* "exit_code" (null if negative) and "signal" (null if 0) of an end. */
void report_kv_code(struct json *j, int code, int sig);

void report_write(const struct job *job, const struct report_context *ctx, struct json *j);

#endif
