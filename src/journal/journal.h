/* journal.h - the events of a job, on disk before anything is done because of them.
 *
 * One JSON object per line in RUN_DIR/journal.jsonl. Events are added to a batch; one commit per
 * turn of the loop writes the batch with one write(). A foreground run does not fsync: its journal
 * has to survive muster, not the machine.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "job/job.h"

struct journal;

#define JOURNAL_NAME "journal.jsonl"

/* Creates the file below dirfd. */
int journal_open(int dirfd, struct journal **ret, struct err *e);
void journal_close(struct journal *jn); /* NULL is fine; commits nothing */

void journal_add(struct journal *jn, const struct job *job, const struct event *ev);

/* Writes the batch. On failure the batch is kept and -errno returned. */
int journal_commit(struct journal *jn, struct err *e);

/* --- the text --------------------------------------------------------------------------------- */

/* What journal_add() adds: one line with its newline. */
void journal_line(struct strbuf *out, const struct job *job, const struct event *ev);

extern const char *const journal_stops[]; /* the words for enum stop_reason */
extern const size_t journal_n_stops;

/* One line (len bytes, without the newline) back into an event; its texts live in a. -EINVAL if it is
 * no such line; keys that are not known are passed over. */
int journal_read_line(struct arena *a, const char *line, size_t len, struct event *ret,
                      struct err *e);

/* Could this event happen to this job? False: folding it would reach outside of the plan. */
bool journal_fits(const struct job *job, const struct event *ev);

/* Folds a whole journal into a job that nothing has happened to. A last line without its newline was
 * being written when its writer died: nothing was done because of it, and it is left out. *ret_len is
 * the length of what counts. */
int journal_replay(struct job *job, const char *text, size_t len, size_t *ret_len, struct err *e);

#endif
