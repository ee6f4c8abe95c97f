/* runs.h - finds runs: running ones by their sockets, ended ones by their run directories, those
 * that wait to be started by asking the daemon.
 *
 * A run is alive while its run directory is locked (rundir.h); with a shared lock, its records are
 * complete. A run that has ended without a report that can be read is read from its journal
 * (replay.h): if that has
 * no end either, the run is detached if its platform still keeps it (journal/away.h); else it was
 * killed with its muster process and is lost. A request to a run takes
 * at most LIMIT_ASK_MS, and a run whose muster process is stopped (Ctrl-Z) is not waited for.
 */
#ifndef CLIENT_RUNS_H
#define CLIENT_RUNS_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "doc/tree.h"

struct run_ref {
    const char *id, *name, *dialect; /* "" if unknown */
    const char *dir;                 /* the run directory */
    const char *scratch;             /* only if alive; NULL otherwise */
    const char *state;               /* the phase, the outcome; "starting", "ending", "stopped",
                        * "not responding", "refused", "detached", "lost", "unreadable", "waiting"
                        * (in the daemon's queue), "no daemon" */
    const char *remark;              /* on the state: "supervisor stopped"; or "" */
    bool alive;
    bool refused;        /* alive, but of another user */
    pid_t pid;           /* of its muster process if stopped or not responding; else 0 */
    pid_t muster;        /* of its muster process if it responds; else 0 */
    int exit_code;       /* after the end; -1 = unknown */
    ns_t started, ended; /* 0 = not yet or unknown */
    ns_t now;            /* the time of a responding run, unaffected by clock changes; or 0 */
    const char *verdict; /* after the end, or "" */
    bool no_report;      /* ended; known only from its journal */
    const char *fault; /* what is wrong with its records: "its report cannot be read: …"; or "" */
    ns_t kept_until;   /* detached: the platform keeps it until then; else 0 */
    /* Of a job of the daemon. Its run directory is there once it has started; before, it is alive
     * and has none. */
    bool served;
    const char *queue; /* NULL: not of a daemon that answers */
    int priority;
    ns_t submitted;
    const char *array, *matrix; /* id of the first job of its array, "lr=0.1 seed=1"; or NULL */
    const char *waiting;        /* why it has not started: "needs 4 GPUs, 2 free"; NULL: it has */
    const char *held_up; /* started and paused: why it does not continue by itself yet; or NULL */
};

struct runs { /* in the arena, in the order in which they started */
    struct run_ref *v;
    size_t n, cap;
    uint32_t *slots;      /* while they are gathered: a hash of their ids, twice as large as v */
    struct err fault;     /* code 0, or the first directory of runs that could not be read */
    const char *unlisted; /* why jobs that wait in the daemon may be missing; NULL: none are */
};

/* Lists all runs of this user. Unreadable ones are omitted, and so are those of a directory that
 * cannot be read: then ret->fault says which and why. */
void runs_list(struct arena *a, struct runs *ret);

/* The id of the array that word ("@ID") means, with the id of one of its jobs. */
const char *runs_array(const struct runs *runs, const char *word);
bool runs_in_array(const struct run_ref *run, const char *array);

/* The same of those that have not ended, without reading what others have left. */
void runs_living(struct arena *a, struct runs *ret);

/* Finds a run by its directory. -ENOENT if it is not a run directory. */
int runs_at(struct arena *a, const char *dir, struct run_ref *ret, struct err *e);

/* Which run to use if several have the name, or none is given. */
enum runs_want {
    RUNS_NEWEST,       /* the newest; for verbs that only read */
    RUNS_LIVING,       /* the only running one; for verbs that act on it */
    RUNS_LIVING_FIRST, /* the same; if none is running, the newest */
    RUNS_ONLY,         /* must be given and unique; for verbs that delete */
};

/* Finds a run by a directory (with a '/' in it), an id or a prefix of it, or the name of a job;
 * NULL: not given. -ENOENT or -EEXIST (several): e lists the candidates. */
int runs_find(struct arena *a, const char *word, enum runs_want want, struct run_ref *ret,
              struct err *e);

/* Opens the run directory, with `wait` after the run has ended; otherwise *ret_ended is whether it
 * has. Returns the descriptor or -errno. */
int runs_open(const struct run_ref *run, bool wait, bool *ret_ended, struct err *e);

/* Is the run stopped or not responding? Then e describes it, with the remedy. */
bool runs_is_stuck(const struct run_ref *run, struct err *e);

/* Sends a request without parameters to a running job (ask.h); ret_body may be NULL. */
int runs_ask(const struct run_ref *run, const char *request, struct strbuf *ret_body,
             struct err *e);

/* The same for a verb that acts on it. A run that is about to listen, or has just ended, does not
 * answer; then it is looked at again, and *run is what it is now. -ESRCH: it has ended. */
int runs_request(struct arena *a, struct run_ref *run, const char *request, struct err *e);

/* The report of a run as text: the final one, the current one, or one made from its journal. */
int runs_report(const struct run_ref *run, struct strbuf *ret, struct err *e);

#endif
