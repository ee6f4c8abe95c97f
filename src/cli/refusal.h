/* refusal.h - a job that was accepted and never began: what is said, and its report.
 *
 * A taken port, a missing secret or GPU, an image or an input that is not here: the file is good
 * and Muster does not start it. Whoever reads reports finds one all the same, with the cause and
 * every replica "never-started". Nothing of the run stays behind.
 */
#ifndef CLI_REFUSAL_H
#define CLI_REFUSAL_H

#include "base/err.h"
#include "cli/job_options.h"
#include "engine/engine.h"
#include "job/job.h"

struct refusal {
    const struct job_spec *spec;
    const char *file; /* the job file; NULL: none */
    const struct job_options *options;
    const struct engine_class *engine;
    const char *isolate; /* as asked for */
    const char *run_id;
    const char *report; /* FILE, or NULL: nobody wants it */
};

/* Prints the error (WHAT: WHY, or WHY) and how much more is missing as far as known, writes the
 * report, and returns the exit code. */
int refusal_tell(const struct refusal *r, enum cause_kind kind, const char *what,
                 const struct err *why);

#endif
