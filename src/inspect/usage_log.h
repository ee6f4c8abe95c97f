/* usage_log.h - what each rank of a run has used over its time, as a file of the run directory.
 *
 * RUN_DIR/usage.jsonl has a line per look:
 *
 *     {"ms":1000,"of":[["worker-0",0,cpu_ms,memory,read,written],…]}
 *
 * ms since the run was created; a rank of null is what else runs in the replica. Looks become rarer
 * as the run gets older, so that a week of training has hundreds of lines and not hundreds of
 * thousands; the more ranks, the rarer. The file is a picture, not a record: it ends at
 * LIMIT_USAGE_BYTES, a line that cannot be written is left out, and a job that puts a link or a
 * pipe in its place has no picture. A run that ends within a second has no file.
 */
#ifndef INSPECT_USAGE_LOG_H
#define INSPECT_USAGE_LOG_H

#include "base/clock.h"
#include "inspect/usage.h"
#include "rundir/rundir.h"

struct usage_log {
    const char *run_id; /* the caller's */
    int run_fd;         /* the caller's */
    ns_t began, next;   /* clock_mono(); next: when the next line is due */
};

/* age: how long the run has existed; more than 0 after a restart of the daemon. */
void usage_log_begin(struct usage_log *log, const char *run_id, int run_fd, ns_t now, ns_t age);

/* Adds a line with what u has just seen of the run, if one is due. */
void usage_log_add(struct usage_log *log, const struct usage *u, ns_t now);

#endif
