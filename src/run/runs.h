/* runs.h - the runs there are: living ones by their sockets, ended ones by what they left.
 *
 * A run lives as long as its run directory is locked (rundir.h); whoever gets a shared lock knows that
 * its records are complete. A run without a report that lives no more was killed together with its
 * muster: it is lost.
 */
#ifndef RUN_RUNS_H
#define RUN_RUNS_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "doc/tree.h"

struct run_ref {
    const char *id, *name, *dialect; /* "" where it is not known */
    const char *dir;                 /* the run directory */
    const char *scratch;             /* of a living one; NULL otherwise */
    const char *state; /* the phase, the outcome; "starting", "silent", "refused", "lost",
                                        "unreadable" */
    bool alive;
    bool refused;        /* it lives, and is not ours to ask */
    int exit_code;       /* of an ended one; -1 = none is known */
    ns_t started, ended; /* 0 = not (known) */
    const char *verdict; /* of an ended one, or "" */
};

struct runs { /* in the arena, oldest first */
    struct run_ref *v;
    size_t n;
};

/* All runs of this user. What cannot be read is not in the list. */
void runs_list(struct arena *a, struct runs *ret);

/* One run by its directory. -ENOENT if that is none. */
int runs_at(struct arena *a, const char *dir, struct run_ref *ret, struct err *e);

/* The run a person means: a directory (with a '/' in it), an id or the beginning of one, a job's name;
 * NULL: the only one that runs. Of several with one name, the only one that runs is meant.
 * -ENOENT or -EEXIST (several): e tells what there is. */
int runs_find(struct arena *a, const char *word, struct run_ref *ret, struct err *e);

/* Opens the run directory. With `wait`, after the run has ended; else *ret_ended says whether it has.
 * The descriptor or -errno. */
int runs_open(const struct run_ref *run, bool wait, bool *ret_ended, struct err *e);

/* Asks a living run (ask.h) for something without further words; *ret_body may be NULL. */
int runs_ask(const struct run_ref *run, const char *request, struct strbuf *ret_body,
             struct err *e);

/* The report of a run as text: the one it left, or the one so far. */
int runs_report(const struct run_ref *run, struct strbuf *ret, struct err *e);

/* A JSON text as a tree, as far as it can be read; NULL if it cannot. */
const struct node *runs_json(struct arena *a, const char *text, size_t len);

#endif
