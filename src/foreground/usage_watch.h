/* usage_watch.h - samples what the ranks of runs use, for RUN_DIR/usage.jsonl (usage_log.h).
 *
 * One sampler for all runs of a loop. It looks at a few hundred processes at a time, so that the
 * loop goes on meanwhile, and rests after each look for LIMIT_USAGE_REST times what it has cost:
 * a machine with very many processes is looked at less often. Without runs it does nothing.
 */
#ifndef FOREGROUND_USAGE_WATCH_H
#define FOREGROUND_USAGE_WATCH_H

#include <uv.h>

#include "base/clock.h"

struct usage_watch;
struct usage_watched;

/* It does not keep the loop running. run_id: the only run it will have; NULL: several. */
struct usage_watch *usage_watch_new(uv_loop_t *loop, const char *run_id);
/* NULL is fine. The loop must turn once more. */
void usage_watch_free(struct usage_watch *w);

/* run_id and run_fd stay the caller's until the run is removed. age: how long it has existed. */
struct usage_watched *usage_watch_add(struct usage_watch *w, const char *run_id, int run_fd,
                                      ns_t age);
void usage_watch_remove(struct usage_watch *w, struct usage_watched *run); /* NULL is fine */

#endif
