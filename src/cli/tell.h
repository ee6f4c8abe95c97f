/* tell.h - what `run` says to a person, all on stderr: stdout is the job's. */
#ifndef CLI_TELL_H
#define CLI_TELL_H

#include "base/err.h"
#include "base/strvec.h"
#include "job/job.h"
#include "spec/adjust.h"

/* "muster: error: …" */
void tell_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "muster: note: …" */
void tell_note(const char *text);

/* What options changed, all of it. */
void tell_changes(const struct changes *changes);

/* The plan's warnings, one line each; its notes are `explain`'s, here they are only counted. */
void tell_plan_notes(const struct plan *plan);

/* The verdict: outcome, first failure with the last lines of its log, who was stopped because of
 * it, where the logs are. log may be NULL; other is what another process says, or "". */
void tell_verdict(const struct job *job, const char *run_dir, const char *log,
                  const struct strvec *tail, const char *other);

/* Writes a report: "-" is stdout; a regular or new file by temp + rename with mode 0600; anything
 * else (a pipe, a symbolic link, /dev/stderr) in place. */
int tell_write_file(const char *path, const char *data, size_t n, struct err *e);

#endif
