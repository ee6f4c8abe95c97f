/* journal.h - the events of a job, recorded before they take effect.
 *
 * Events are added to a batch; one commit per turn of the loop makes the batch durable. There are
 * several kinds: JSON lines in the run directory (jsonl.c), memory for a simulation, later a
 * database.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "job/job.h"

struct journal;

struct journal_ops {
    /* job: before the event is applied */
    void (*add)(struct journal *jn, const struct job *job, const struct event *ev);
    /* On failure the batch is kept for the next commit, and -errno returned. */
    int (*commit)(struct journal *jn, struct err *e);
    void (*close)(struct journal *jn); /* commits nothing */
};

struct journal { /* the first member of each kind */
    const struct journal_ops *ops;
};

static inline void journal_add(struct journal *jn, const struct job *job, const struct event *ev)
{
    jn->ops->add(jn, job, ev);
}

static inline int journal_commit(struct journal *jn, struct err *e)
{
    return jn->ops->commit(jn, e);
}

static inline void journal_close(struct journal *jn) /* NULL is fine */
{
    if (jn)
        jn->ops->close(jn);
}

/* Keeps nothing: for a job whose state is elsewhere. */
extern struct journal journal_none;

/* Creates or continues RUN_DIR/journal.jsonl below dirfd, one JSON object per line; with the first
 * event also the record of the job's definition (record.h). Not fsynced: both must survive muster,
 * not the machine. If a commit fails within a line (disk full), the next one writes that line
 * again. */
#define JOURNAL_NAME "journal.jsonl"
int journal_open_jsonl(int dirfd, struct journal **ret, struct err *e);

/* Reads the journal of a run directory, without an incomplete last line. */
int journal_text(int dirfd, struct strbuf *ret, struct err *e);

/* Rebuilds the job of a run directory from its record and journal; the job and its plan (in a) are
 * for reading only. -ENOENT: no record or no journal. -EINVAL: they are invalid, belong to
 * different jobs, or the journal has no event yet. The caller frees the job. */
int journal_load(struct arena *a, int dirfd, struct job **ret, struct err *e);

/* The same for a job that goes on: folds the journal into a new job, whose plan and rules must be
 * those of the record. -ESTALE: they are not. journal_open_jsonl() then appends. */
int journal_resume(int dirfd, struct job *job, struct err *e);

/* Version of the format. In version 1 the reader computed restarts and the cause itself. */
#define JOURNAL_VERSION 2

/* --- the text --------------------------------------------------------------------------------- */

/* An event as one line, with its newline. */
void journal_line(struct strbuf *out, const struct job *job, const struct event *ev);

extern const char *const journal_stops[]; /* the words for enum stop_reason */
extern const size_t journal_n_stops;

/* Parses one line (len bytes, without the newline); the strings of the event are in a. -EINVAL if
 * it is not a valid line; unknown keys are ignored. */
int journal_read_line(struct arena *a, const char *line, size_t len, struct event *ret,
                      struct err *e);

/* Does this event fit this job? If not, folding it would access memory outside of the plan. */
bool journal_fits(const struct job *job, const struct event *ev);

/* Folds a whole journal into a new job. An incomplete last line is ignored: its writer died before
 * the event took effect. *ret_len is the length of the complete lines. */
int journal_replay(struct job *job, const char *text, size_t len, size_t *ret_len, struct err *e);

#endif
