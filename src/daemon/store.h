/* store.h - what the daemon must not forget: its jobs and their events, in one SQLite database.
 *
 * Changes are collected in memory and written by store_commit() in one transaction, which is on the
 * disk when it returns (WAL, synchronous=FULL). So the jobs of one round of the loop share one
 * flush, whatever their number. A commit that fails changes nothing; the changes are kept, and the
 * next commit writes them again.
 *
 * The events of a job are lines as in journal.jsonl. They are removed when the job has ended: then
 * its run directory has them, and the row has the outcome. So is the request, which may hold
 * variables of the submitter.
 *
 * A database of a newer version is refused, an older one is migrated when it is opened.
 */
#ifndef DAEMON_STORE_H
#define DAEMON_STORE_H

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "journal/journal.h"

#define STORE_VERSION 2

enum stored_state { STORED_WAITING, STORED_STARTED, STORED_ENDED };

/* Of a started job: what it has of the machine. */
enum stored_standing {
    STANDING_HOLDS,
    STANDING_YIELDS,  /* told to pause, to make room for another job */
    STANDING_RELEASED /* paused: nothing of it runs, and it holds nothing */
};

struct stored { /* one job; texts belong to whoever made it */
    const char *id;
    int64_t number; /* from 1, in the order of submission */
    const char *name, *dialect, *queue;
    int priority;
    bool paused; /* waiting or released, and a person wants it to */
    enum stored_standing standing;
    int64_t turn;      /* its place in the line; 0: its number */
    const char *array; /* id of the first job of its array; "": none */
    int64_t array_index;
    const char *request; /* JSON: how to plan it; "" after its end */
    const char *shared;  /* store_add(): what the request begins with, not copied; or NULL */
    enum stored_state state;
    const char *site;               /* started: JSON, what planning has chosen; "" before */
    ns_t submitted, started, ended; /* real time; 0: not yet */
    const char *outcome;            /* ended: as in the report; "" before */
    int exit_code;                  /* -1 before */
};

struct store;

/* One process for each state directory: the descriptor holds the lock. -EBUSY: another has it. */
int daemon_lock(const char *dir, struct err *e);

/* Creates or opens the database. -EPROTO: made by a newer muster. -EBADMSG: damaged. */
int store_open(const char *path, struct store **ret, struct err *e);
void store_close(struct store *s); /* NULL is fine; commits nothing */

/* Calls fn for every job, in the order of submission. The texts live during the call. */
int store_each(struct store *s, void (*fn)(void *ctx, const struct stored *job), void *ctx,
               struct err *e);
/* Appends the committed events of a job, as lines. */
int store_events(struct store *s, int64_t number, struct strbuf *ret, struct err *e);
/* The highest number that was ever given. */
int64_t store_last_number(const struct store *s);

/* Changes; all take effect with the next commit. */
void store_add(struct store *s, const struct stored *job);
void store_update(struct store *s, const struct stored *job); /* all but its request */
void store_remove(struct store *s, int64_t number);
void store_add_event(struct store *s, int64_t number, const char *line, size_t len);

bool store_has_changes(const struct store *s);
int store_commit(struct store *s, struct err *e);
/* Forgets what was not committed of these jobs: they were refused instead. */
void store_forget(struct store *s, int64_t number);

/* The journal of one job: its events go to the store and, after the commit, to `copy` (the JSON
 * lines of its run directory), which is closed with it. Its commit() commits the whole store. */
struct journal *store_journal(struct store *s, int64_t number, struct journal *copy);

#endif
