/* report.h - the report of CONTRACTS §4. Of a job that has not ended: what is known so far, with no
 * outcome, exit code and cause, and its phase instead of a verdict. */
#ifndef JOB_REPORT_H
#define JOB_REPORT_H

#include "doc/json.h"
#include "job/job.h"

struct report_context {
    const char *engine;
    const char *const
        *log_tail;     /* last lines of the cause's log, secrets masked, NULL-terminated; or
                                    NULL */
    const char *other; /* what another process says of why it failed; or NULL, or "" */
};

void report_write(const struct job *job, const struct report_context *ctx, struct json *j);

#endif
