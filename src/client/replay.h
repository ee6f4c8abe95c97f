/* replay.h - a run that left no report, told from its record and its journal.
 *
 * Its muster was killed or could not write the report, or the report was damaged since. What is
 * told is what the journal holds, no more: where that has no end, who had ended how by then, and
 * what was still running.
 */
#ifndef CLIENT_REPLAY_H
#define CLIENT_REPLAY_H

#include "client/runs.h"

/* What is known of the run. Its state is the outcome if the journal has the end, else `state`.
 * Where nothing can be replayed, -errno, and name and start as far as the first line has them. */
int replay_fill(struct arena *a, int dir_fd, const char *state, struct run_ref *ret, struct err *e);

/* The report: the one that would have been written, or, without an end, what is known. */
int replay_report(int dir_fd, const char *dir, struct strbuf *ret, struct err *e);

#endif
