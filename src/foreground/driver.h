/* driver.h - one job from beginning to end in one loop: core, journal, engine and live view.
 *
 * The loop's body is engine/turn.h; here are its surroundings: the terminal, signals, the control
 * socket, the watch for hangs.
 */
#ifndef FOREGROUND_DRIVER_H
#define FOREGROUND_DRIVER_H

#include "base/err.h"
#include "engine/engine.h"
#include "job/job.h"
#include "foreground/log_gaps.h"
#include "rundir/rundir.h"

struct drive_options {
    const struct engine_class *engine;
    struct job_rules rules;
    int64_t hang_timeout_ms; /* 0: never looked for */
    int stdin_fd;            /* for rank 0 of a job without a file; -1 = /dev/null */
    bool colour[2];          /* of the live prefixes, on stdout and stderr */
    bool no_prefix;
    bool no_status;        /* no line at the bottom of a terminal */
    bool attach;           /* another muster has started the job: continue with its journal */
    int cancel;            /* attach: cancel it at once; 2: without a grace period */
    bool detach;           /* leave it to itself as soon as all processes have started */
    int64_t keep_s;        /* how long the platform keeps a job that was left; 0: it cannot */
    struct log_gaps *gaps; /* gets what is missing from logs */
    void (*note)(const char *text);
    void (*table)(const char *text); /* lines, the first one a sentence */
    /* What there is to start was asked for: a moment for what nobody waits for. Or NULL. */
    void (*begun)(void *ctx);
    /* The job has ended; its last output may still be on its way to somebody who does not read. */
    void (*ended)(void *ctx, const struct job *job);
    void *ctx; /* of begun and ended */
};

/* From now on SIGINT, SIGTERM and SIGHUP wait until drive() hears them: a run directory must not be
 * left behind by one that comes between its making and the loop. */
void drive_hold_signals(void);

/* Runs the job until nothing of it is left and returns it, ended; or, if it was detached, with
 * another phase than JOB_ENDED. SIGINT, SIGTERM and SIGHUP stop it, SIGQUIT detaches if keep_s is
 * set, SIGUSR1 and SIGUSR2 are passed on. On failure before anything has started: NULL, e is set;
 * with `attach` the job is then as it was. */
struct job *drive(const struct plan *plan, const struct rundir *rd,
                  const struct drive_options *opts, struct err *e);

#endif
