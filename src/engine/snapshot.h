/* snapshot.h - the code of a job as it was when it was submitted.
 *
 *   snapshot      a copy of the directory, in the daemon's store until the job has ended
 *   working copy  a copy of that, below the run directory: the job runs there
 *
 * What .amlignore or .gitignore leaves out (data, checkpoints) and .git are links to where they
 * are, so that jobs find them and write there. At the end everything in the working copy that is
 * as it was is removed: what is left is the job's output.
 */
#ifndef ENGINE_SNAPSHOT_H
#define ENGINE_SNAPSHOT_H

#include "base/err.h"

/* Copies the directory `from` to `to`, which must not exist. -E2BIG: it is larger than
 * LIMIT_CODE_BYTES or LIMIT_CODE_FILES. On failure nothing is left. */
int snapshot_take(const char *from, const char *to, struct err *e);

/* Copies a snapshot with all that is in it; blocks of files are shared where the file system can.
 */
int snapshot_copy(const char *snapshot, const char *to, struct err *e);

/* Removes from a working copy what is the same in the snapshot, and what Python has compiled. */
void snapshot_prune(const char *snapshot, const char *copy);

#endif
