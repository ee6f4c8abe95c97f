/* places.h - where run directories and scratch directories are, also where the usual places cannot
 * be used.
 *
 *   run directories   $XDG_STATE_HOME/muster/runs, else ~/.local/state/muster/runs;
 *                     if it cannot be written: SCRATCH/state/runs
 *   SCRATCH           $XDG_RUNTIME_DIR/muster, if that directory is ours; else /tmp/muster-UID;
 *                     if somebody else has that: /tmp/muster-UID.XXXXXX
 *
 * With MUSTER_HOME both are below it: runs and run; if its path is too long for sockets, SCRATCH is
 * /tmp/muster-UID-HASH. The daemon has the directory `daemon` of each: its database beside the run
 * directories, its socket in SCRATCH.
 *
 * Nothing is made here: whether a place can be used is found out by looking. Sockets are made below
 * SCRATCH, so the path is short and nobody else may be able to put something there first.
 */
#ifndef RUNDIR_PLACES_H
#define RUNDIR_PLACES_H

#include <stdbool.h>

#include "base/strvec.h"

/* Where a new run goes, as heap strings. If that is not the usual place, a sentence in notes says
 * so. */
char *places_scratch(struct strvec *notes);
char *places_runs(const char *scratch, struct strvec *notes);

/* $MUSTER_HOME, or NULL. */
const char *places_home(void);
/* Where the daemon keeps its database, as a heap string; NULL: nothing says where. */
char *places_daemon_state(void);

/* Where the daemon of all users has its socket, as a heap string: $MUSTER_SYSTEM, else /run/muster.
 * NULL: MUSTER_HOME is set, or MUSTER_SYSTEM is empty; then it is not used. */
char *places_system(void);
/* SCRATCH of daemons that it has started for this user, as a heap string; NULL: there is none. */
char *places_system_scratch(void);

/* Everywhere where there may be runs, the usual place first. */
void places_all_runs(struct strvec *ret);
void places_all_scratch(struct strvec *ret);

/* n letters and digits that cannot be mistaken for each other, and a NUL. */
void places_random(char *out, size_t n);

/* Is it a directory of ours with mode 0700, and no symbolic link? */
bool places_is_private(const char *path);

#endif
