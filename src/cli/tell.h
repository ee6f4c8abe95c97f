/* tell.h - what `run` says to a person, all on stderr: stdout is the job's. */
#ifndef CLI_TELL_H
#define CLI_TELL_H

#include "base/err.h"
#include "base/strvec.h"
#include "job/job.h"
#include "foreground/log_gaps.h"
#include "spec/adjust.h"

/* With true: no notes, no warnings, and of a job that succeeds no verdict. */
void tell_quietly(bool quiet);

/* "muster: error: …" */
void tell_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "muster: note: …", "muster: warning: …" */
void tell_note(const char *text);
void tell_table(const char *text); /* its lines but the first are indented */
void tell_warning(const char *text);

/* What options changed, all of it. */
void tell_changes(const struct changes *changes);

/* What the job needs and this machine does not have: an error for each. */
void tell_missing(struct arena *a, const struct plan *plan);
/* The end of a job that could not begin for want of it. */
void tell_not_started(const struct job *job);

/* What the verdict is told from, beside the job. */
struct verdict_context {
    const char *run_dir;
    const char *log; /* of what failed first; or NULL, or "" */
    const struct strvec *tail;
    const char *other; /* what another process says, or "" */
    const struct log_gaps *gaps;
    const char *missing; /* which of the run's records were removed while it ran, or "" */
    bool seen;           /* the lines of the log are on the screen already, and are not repeated */
};

/* The verdict: outcome, first failure with the last lines of its log, who was stopped because of
 * it, where the logs are and what they lack. */
void tell_verdict(const struct job *job, const struct verdict_context *ctx);

/* The job goes on without us: how to come back, and until when. */
void tell_detached_note(const char *id, const char *until);

/* "  outputs: DIR", if there are any. */
void tell_outputs(const struct strvec *outputs);
/* That the layer of --overlay is gone, if it is. */
void tell_discarded(const struct plan *plan);

/* report_file.c: can a report be written there, as far as can be known before the job runs? */
int tell_check_file(const char *path, struct err *e);
/* report_file.c: writes a report: "-" is stdout; a regular or new file by temp + rename with mode
 * 0600; anything else (a pipe, a symbolic link, /dev/stderr) in place. -EPERM if a link or pipe is
 * neither the caller's nor root's. */
int tell_write_file(const char *path, const char *data, size_t n, struct err *e);

#endif
