/* live.h - the live view of a run: whole lines of every log, each with its prefix.
 *
 * The logs are the truth; the view follows them and never stands in a job's way: if the
 * terminal is slow the view lags, if it goes away the view ends.
 */
#ifndef RUN_LIVE_H
#define RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"

struct live;

/* Follows files below logs_fd (path: its name, for inotify). on_activity is called with the time
 * whenever a log has grown. */
struct live *live_new(uv_loop_t *loop, int logs_fd, const char *logs_path, bool colour,
                      void (*on_activity)(void *ctx, ns_t at), void *ctx);
void live_free(struct live *lv); /* the loop must turn once more afterwards */

/* Shows the file from its beginning, each line after "[prefix] ". shown = false: its growth only
 * counts as activity. The same name twice is once. */
void live_add(struct live *lv, const char *name, const char *prefix, bool shown);

/* Nobody writes to it any more: it is shown to its end before what is added from now on, and its last
 * line is completed. NULL, or a name that was never added: nothing. */
void live_over(struct live *lv, const char *name);

/* The line at the bottom of a terminal; NULL removes it. Ignored unless stderr is a terminal. */
void live_status(struct live *lv, const char *text);

/* Reads every log to its end and writes everything, blocking; unfinished lines are completed. */
void live_finish(struct live *lv);

#endif
