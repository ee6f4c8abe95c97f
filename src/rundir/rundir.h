/* rundir.h - the directories of a run: what it leaves behind, and what it needs while it lives.
 *
 *   run directory  STATE/muster/runs/RUN_ID   0700: logs/, marks, journal.jsonl, exits,
 *                                             usage.jsonl, hostfile, peers.json,
 *                                             report.json, command.json, scratch ->;
 *                                             Azure ML also outputs/, user_logs/
 *   scratch        RUNTIME/muster/RUN_ID      0700: sockets, MPI sessions, bin/ (ssh, rsh,
 *                                             muster-rank -> the shim; python ->
 *                                             python3 where there is none), run -> the run
 *                                             directory; short; removed at the end
 *
 * Locks held on both say that the run lives. places.h says which directories STATE and RUNTIME are,
 * retention.h which run directories are kept; scratch directories of runs that were killed
 * altogether go with the next run.
 */
#ifndef RUNDIR_RUNDIR_H
#define RUNDIR_RUNDIR_H

#include "base/err.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "plan/plan.h"
#include "rundir/retention.h"

/* What was seen of a job that hung (inspect/hang.h). */
#define HANG_TEXT "hang.txt"
#define HANG_JSON "hang.json"
/* The job file as it was: of a run that another muster may attach to, until its end; of a
 * job of the daemon. */
#define RUNDIR_JOB_FILE "job-file"
#define RUNDIR_PLAN "plan.json"    /* the plan, as `explain -o json` shows it */
#define RUNDIR_USAGE "usage.jsonl" /* what each rank has used over time (inspect/usage_log.h) */
#define RUNDIR_SERVED "served"     /* of a run of the daemon: it goes on without a muster process */
#define RUNDIR_LINK "run"          /* in the scratch directory: which run directory it belongs to */

struct rundir {
    char *run_id, *path, *scratch; /* heap */
    int fd, logs_fd;               /* the run directory (locked) and its logs */
    int scratch_fd;                /* locked too */
    struct strvec notes;           /* where they are not in the usual place: why, and where */
};
#define RUNDIR_INIT                                                                                \
    {                                                                                              \
        .fd = -1, .logs_fd = -1, .scratch_fd = -1, .notes = STRVEC_INIT                            \
    }

/* Where a run of this id would be, without making anything. override: --run-dir, or NULL. */
int rundir_name(const char *run_id, const char *override, struct rundir *ret, struct err *e);

/* A new id, ordered by time: "20261115-200000-k3x9". */
char *rundir_new_id(void);

/* Makes both directories. */
int rundir_make(struct rundir *rd, struct err *e);

/* Takes over the directories of a run that goes on without its muster. -EBUSY: somebody else has
 * it. */
int rundir_open(struct rundir *rd, struct err *e);
/* The same for a run whose supervisor is here: the scratch directory, with its sockets, stays. It
 * is made again if it is gone. */
int rundir_adopt(struct rundir *rd, struct err *e);
/* Before it, for a run that may live: its scratch directory is where the run directory says, also
 * if it would be somewhere else now, with another $XDG_RUNTIME_DIR. Only one of ours counts that
 * belongs to this run. */
void rundir_find_scratch(struct rundir *rd);
/* The run goes on without us: removes the scratch directory. */
void rundir_leave(struct rundir *rd);

/* Writes what processes expect to find: bin/, hostfile, peers.json. */
int rundir_fill(const struct rundir *rd, const struct plan *plan, struct err *e);

/* "its run directory was removed while it ran", of what the job has removed of its own records: the
 * directory, logs/, the journal. Or nothing. */
void rundir_missing(const struct rundir *rd, struct strbuf *out);

/* The text of RUNDIR_PLAN, which was written with the first attempt, as it is in this one. */
void rundir_plan_attempt(struct strbuf *text, uint32_t attempt);

/* The run has ended: removes the scratch directory, those of dead runs, and what retention says. */
void rundir_finish(struct rundir *rd, const struct retention *retention);

/* The run never began: removes what rundir_make() made. */
void rundir_discard(struct rundir *rd);

void rundir_release(struct rundir *rd);

#endif
