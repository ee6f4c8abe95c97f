/* turn.h - one turn of a job's loop: what was reported becomes events, events become actions.
 *
 *   fold      observations become events, events become state and journal text
 *   commit    the events are in the journal; only then watchers hear them
 *   decide    what is due now becomes events, folded and committed in the same way
 *   carry out each decision is one call of the engine, after its commit
 *
 * The same turn drives a foreground run and the simulation. It has no clock and no event loop: time
 * is an argument, and the time of the next turn is returned. It never waits, so many turns can
 * share one loop. doc/design/turn.md has the reasons.
 */
#ifndef ENGINE_TURN_H
#define ENGINE_TURN_H

#include "base/err.h"
#include "engine/engine.h"
#include "journal/journal.h"

struct turn;

struct turn_host {
    /* The event was folded and committed, and so was the rest of its batch: job is the state after
     * the batch. The texts of ev are valid during the call. NULL: nobody watches. */
    void (*event)(void *ctx, const struct event *ev);
    /* The journal could not be written. The turn goes on, because a full disk must not end a job;
     * the journal keeps the batch for the next commit. NULL: nobody is told. */
    void (*commit_failed)(void *ctx, const struct err *e);
    void *ctx;
};

/* job, jn and en must outlive the turn and are not freed with it. */
struct turn *turn_new(struct job *job, struct journal *jn, struct engine *en,
                      const struct turn_host *host);
void turn_free(struct turn *t); /* NULL is fine; commits nothing */

/* Folds; takes effect in turn_run(). May be called from the host's and the
 * engine's functions, during a turn too. turn_event() is for events without an observation:
 * EVENT_CREATED. */
void turn_observe(struct turn *t, const struct observation *o);
void turn_event(struct turn *t, const struct event *ev);

/* For a job that has just been created: what cannot be executed is known before anything starts, so
 * these processes have failed already. */
void turn_missing(struct turn *t, ns_t now);

/* Commits what was folded, and calls the watchers. Only for hosts that observe something as a
 * result in the same turn; turn_run() starts with it. */
void turn_commit(struct turn *t);

/* Commits, decides and carries out until nothing is due at now. Returns when to call it again
 * if nothing is reported; 0: no need. */
ns_t turn_run(struct turn *t, ns_t now);

/* The same in two steps, for a host that commits the journals of many jobs at once:
 *
 *   turn_decide()  of each job that something was reported of, or whose time has come;
 *   the host makes all their journals durable, with one commit;
 *   turn_act()     of each of them.
 *
 * turn_decide() folds what is due at now. False: there is nothing to commit and nothing to do.
 * turn_act() calls the watchers and carries out; returns when to decide again if nothing is
 * reported: now if something may follow at once, 0 if there is no need. If the commit fails, the
 * host calls turn_act() later, after one that succeeds; turn_decide() may be called meanwhile. */
bool turn_decide(struct turn *t, ns_t now);
ns_t turn_act(struct turn *t, ns_t now);
/* Something was decided that turn_act() carries out; else its commit can wait for others. */
bool turn_is_due(const struct turn *t);

/* After a replay: repeats the decisions of the journal that may not have been carried out. Engines
 * ignore what is already done. */
void turn_catch_up(struct turn *t);

#endif
