/* driver.h - one job from beginning to end in one loop: core, journal, engine and live view.
 *
 * The order of a turn is fixed: all observations of the turn are folded, the journal is committed,
 * then decisions are taken, committed and carried out.
 */
#ifndef RUN_DRIVER_H
#define RUN_DRIVER_H

#include "base/err.h"
#include "job/job.h"
#include "run/rundir.h"

struct drive_options {
    struct job_rules rules;
    int64_t hang_timeout_ms; /* 0: never looked for */
    int stdin_fd;            /* for a job of one process; -1 = /dev/null */
    bool colour;             /* of the live prefixes */
    void (*note)(const char *text);
};

/* Runs the job until nothing of it is left and returns it, ended. SIGINT, SIGTERM and SIGHUP stop
 * it, SIGUSR1 and SIGUSR2 are passed on. On failure before anything has started: NULL, e is set. */
struct job *drive(const struct plan *plan, const struct rundir *rd,
                  const struct drive_options *opts, struct err *e);

#endif
