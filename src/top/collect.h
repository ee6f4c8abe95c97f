/* collect.h - gathers what `muster top` shows: runs, journals, /proc, ends of logs.
 *
 * Jobs that have ended are read once and kept. Ranks come from the journal of a job, which is
 * folded again only when it has grown; last lines are read only for rows on the screen. So the
 * cost is that of what changes and what can be seen, not that of what there is.
 */
#ifndef TOP_COLLECT_H
#define TOP_COLLECT_H

#include "client/runs.h"
#include "top/state.h"

struct collector;

struct collector *collector_new(void);
void collector_free(struct collector *c); /* NULL is fine */

/* What there is now. ret lives in the arena, and until the next refresh. */
void collector_refresh(struct collector *c, struct arena *a, const struct top_state *st,
                       struct top_data *ret);
/* Adds what costs more: last lines and numbers of ranks of the rows on the screen. */
void collector_fill(struct collector *c, struct arena *a, const struct top_state *st,
                    const struct top_view *view, struct top_data *data);

/* The rows of one job; 0 and *ret_why if it has none. */
size_t collector_rows(struct collector *c, struct arena *a, const char *id, struct top_row **ret,
                      const char **ret_why);
/* The run with this id, or NULL. */
const struct run_ref *collector_run(const struct collector *c, const char *id);

/* The lines of the open log, by st->log_end. */
void collector_log(struct collector *c, struct arena *a, const struct top_state *st,
                   struct top_data *data);
/* Moves st->log_end by so many lines, less than 0: up; top: to the beginning. */
void collector_log_move(struct collector *c, struct top_state *st, int lines, bool begin);

/* Sends the request; e says what became of it. */
int collector_cancel(struct collector *c, const char *id, struct err *e);

#endif
