/* journal.h - the events of a job, on disk before anything is done because of them.
 *
 * One JSON object per line in RUN_DIR/journal.jsonl. Events are added to a batch; one commit per
 * turn of the loop writes the batch with one write(). A foreground run does not fsync: its journal
 * has to survive muster, not the machine.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/err.h"
#include "job/job.h"

struct journal;

#define JOURNAL_NAME "journal.jsonl"

/* Creates the file below dirfd. */
int journal_open(int dirfd, struct journal **ret, struct err *e);
void journal_close(struct journal *jn); /* NULL is fine; commits nothing */

void journal_add(struct journal *jn, const struct job *job, const struct event *ev);

/* Writes the batch. On failure the batch is kept and -errno returned. */
int journal_commit(struct journal *jn, struct err *e);

#endif
