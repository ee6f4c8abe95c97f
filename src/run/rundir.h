/* rundir.h - the directories of a run: what it leaves behind, and what it needs while it lives.
 *
 *   run directory  STATE/muster/runs/RUN_ID   0700: logs/, journal.jsonl, exits, hostfile, peers.json,
 *                                             report.json, scratch ->; Azure ML also outputs/, user_logs/
 *   scratch        RUNTIME/muster/RUN_ID      0700: sockets, MPI sessions, bin/ (ssh, rsh,
 *                                             muster-rank -> the shim; python ->
 *                                             python3 where there is none); short; removed at the end
 *
 * Locks held on both say that the run lives. The newest LIMIT_RUNS_KEPT run directories are kept;
 * scratch directories of runs that were killed altogether go with the next run.
 */
#ifndef RUN_RUNDIR_H
#define RUN_RUNDIR_H

#include "base/err.h"
#include "plan/plan.h"

struct rundir {
    char *run_id, *path, *scratch; /* heap */
    int fd, logs_fd;               /* the run directory (locked) and its logs */
    int scratch_fd;                /* locked too */
};
#define RUNDIR_INIT                                                                                \
    {                                                                                              \
        .fd = -1, .logs_fd = -1, .scratch_fd = -1                                                  \
    }

/* Where a run of this id would be, without making anything. override: --run-dir, or NULL. */
int rundir_name(const char *run_id, const char *override, struct rundir *ret, struct err *e);

/* Where run directories and scratch directories are, as heap strings. */
char *rundir_runs_home(void);
char *rundir_scratch_home(void);

/* A new id, ordered by time: "20261115-200000-k3x9". */
char *rundir_new_id(void);

/* Makes both directories. */
int rundir_make(struct rundir *rd, struct err *e);

/* Writes what processes expect to find: bin/, hostfile, peers.json. */
int rundir_fill(const struct rundir *rd, const struct plan *plan, struct err *e);

/* Removes the scratch directory, those of dead runs, and runs beyond the newest ones. */
void rundir_finish(struct rundir *rd);

void rundir_release(struct rundir *rd);

#endif
