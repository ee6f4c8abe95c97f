/* usage_watch.h - looks at what the ranks of a run use, for RUN_DIR/usage.jsonl (inspect/usage_log.h).
 */
#ifndef FOREGROUND_USAGE_WATCH_H
#define FOREGROUND_USAGE_WATCH_H

#include <uv.h>

struct usage_watch;

/* Both stay the caller's. It does not keep the loop running. */
struct usage_watch *usage_watch_new(uv_loop_t *loop, const char *run_id, int run_fd);
/* NULL is fine. The loop must turn once more. */
void usage_watch_free(struct usage_watch *w);

#endif
