/* live.h - the live view of a run: whole lines of every log, each with its prefix, a process's
 * stdout on stdout and its stderr on stderr.
 *
 * The logs are the truth; the view follows them and never stands in a job's way: if the
 * terminal is slow the view lags, if it goes away the view ends.
 *
 * A progress bar (lines ended by "\r") is drawn in place on a terminal. Elsewhere it becomes a line
 * at most once a second, and when it ends.
 */
#ifndef FOREGROUND_LIVE_H
#define FOREGROUND_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "rundir/rundir.h"

struct live;

struct live_options {
    bool colour[2]; /* of the prefixes, on stdout and stderr */
    bool by_rank;   /* colours differ by rank: there is one replica alone */
    bool no_prefix;
    bool no_status;
    /* Called with the time whenever a log has grown. */
    void (*on_activity)(void *ctx, ns_t at);
    int (*open_log)(void *ctx, const char *name); /* as struct engine_ops has it */
    void *ctx;
};

/* Follows logs of the run directory. */
struct live *live_new(uv_loop_t *loop, const struct rundir *rd, const struct live_options *opts);
void live_free(struct live *lv); /* the loop must turn once more afterwards */

/* Shows the file from its beginning, each line after "[prefix] ": REPLICA or REPLICA/RANK. shown =
 * false: its growth only counts as activity. The same name twice is once. */
void live_add(struct live *lv, const char *name, const char *prefix, bool shown);

/* Of all that was added so far, the whole lines that are there now were shown before. */
void live_resume(struct live *lv);

/* Nobody writes to it any more: it is shown to its end before what is added from now on, and its
 * last line is completed. NULL, or a name that was never added: nothing. */
void live_over(struct live *lv, const char *name);

/* Shows what the logs hold, as far as it is taken at once: what is said next is about it. */
void live_catch_up(struct live *lv);

/* Shows what its log could not take, after all that the log holds. Returns how many bytes of it are
 * not shown because the view does not keep up. */
int64_t live_unlogged(struct live *lv, const struct unlogged *u);

/* The line at the bottom of a terminal; NULL removes it. See foreground/screen.h. */
void live_status(struct live *lv, const char *text);

/* Somebody else is about to write to the terminal. */
void live_make_way(struct live *lv);

/* Can somebody else write a short text to stderr without waiting? */
bool live_takes_errors(const struct live *lv);

/* Reads every log to its end and writes everything; unfinished lines are completed. A stream that
 * nobody reads is given up; see screen_drain(). */
void live_finish(struct live *lv, bool (*hurried)(void));
bool live_gave_up(const struct live *lv, bool is_err);
/* Logs that the job has truncated: of those, how much was read that is not there any more. */
void live_cut(struct live *lv, void (*found)(void *ctx, const char *log, int64_t bytes), void *ctx);
/* Why not everything could be written there, as errno, or 0; see screen_error(). */
int live_error(const struct live *lv, bool is_err);

#endif
