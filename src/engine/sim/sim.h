/* sim.h - a job without processes: an engine whose world is a story and whose clock is a queue.
 *
 * A story says how long everything takes and how it ends, what goes wrong between the world and the
 * core, and when somebody cancels. Playing it drives the real core and the real journal through
 * simulated time, and after every step asks whether what must always hold still does. The same
 * plan, rules, story and seed give the same course of events.
 *
 *   world.c   what really happens: processes, ranks, replicas (the engine)
 *   tell.c    what the core hears of it
 *   play.c    the loop: what happens next
 *   core.c    the core and its turn, the journal, crashes and replay
 *   check.c   what must always hold; check_again.c who may begin again; oracle.c what the outcome
 *             has to be
 *   other_rules.c  the plan that the journal's text is folded with, which has other policies
 *   check_cluster.c  what must hold of admission, waiting, replicas out of sight
 *   check_record.c  what is left of a run is enough to tell its story
 *   same.c    two states of a job, compared field by field
 *   story.c   random jobs and stories for the tests; usual.c one without faults
 *   engine.c  the same world as the engine of a run (--on sim), in real time
 *
 * To teach it a new event of the core: world.c gives the engine's part of it, check.c the rule,
 * same.c the new fields.
 */
#ifndef ENGINE_SIM_SIM_H
#define ENGINE_SIM_SIM_H

#include "base/arena.h"
#include "engine/engine.h"
#include "base/rng.h"

/* How one process or rank behaves; times in simulated ms, -1 = never. */
struct sim_fate {
    int64_t start_ms; /* from being asked to running */
    int64_t life_ms;  /* from running to ending by itself; a launcher: from its last mpirun's end */
    int64_t term_ms;  /* from SIGTERM to its end */
    int64_t kill_ms;  /* from SIGKILL to its end */
    struct ending end; /* how it ends by itself; exec_errno: how it fails to start */
};

struct sim_mpirun { /* one call of mpirun by the launcher */
    uint32_t size;
    const struct sim_fate *ranks; /* size of them */
    int64_t program;              /* what it runs; 0 = not told, nor when it was started */
    bool recovers;     /* lets the others go on when a rank has failed, and waits for ever then */
    uint32_t restarts; /* so many failed ranks are started anew, each once; then they end with 0 */
    bool lies;         /* the launcher ends with 0 over its failed ranks */
    bool seen;   /* its end is told: the launcher's script may then go on as long as it likes */
    bool strict; /* gives up the others when a rank ends with 0 before them: it did not finalize */
};

/* At a time, whatever lives of a replica ends like this: its command, or in an MPI host its ranks.
 */
struct sim_blow {
    int64_t at_ms;
    uint32_t replica;
    bool once;   /* only its first process or rank */
    bool daemon; /* in an MPI host: its daemon is killed, and its ranks notice */
    struct ending end;
};

struct sim_absence { /* a replica is out of sight from a time on, for so long */
    int64_t at_ms, for_ms;
    uint32_t replica;
};

struct sim_faults { /* chances in 1000 */
    uint32_t drop, repeat, delay;
    int64_t delay_ms; /* at most; what is delayed may be overtaken */
    int64_t
        resync_ms; /* everything is told again that often; 0 = never, then nothing may be dropped */
    uint32_t crash;  /* of the core, at each boundary */
    int64_t down_ms; /* at most, before it comes back */
};

struct sim_story {
    uint64_t seed; /* of the faults */
    struct sim_faults faults;
    const struct sim_fate *processes; /* plan->n_processes */
    const int64_t *open_ms;           /* plan->n_replicas: until it answers */
    const struct sim_mpirun *mpiruns; /* one after the other */
    uint32_t n_mpiruns;
    const struct sim_blow *blows;
    uint32_t n_blows;
    int64_t cancel_ms[2]; /* -1 = no; the second after the first */
    int cancel_signal;
    bool cancel_asked;           /* by `muster cancel` */
    int64_t pause_ms, resume_ms; /* -1 = no */
    uint32_t mends; /* of 1000: so often a process that fails in the first attempt does not again */
    int64_t lost_ms;   /* the supervisor dies; -1 = no */
    int64_t hang_ms;   /* it is found to hang, if it runs then; -1 = no */
    int64_t output_ms; /* something is written that often while anything lives; 0 = never */
    const struct sim_absence *absences;
    uint32_t n_absences;
    uint32_t waits;   /* of 1000: so many replicas tell what they wait for before they come */
    int64_t admit_ms; /* rules.queued: when it is admitted, and again after each pause */
    int64_t end_ms;   /* what still runs then is cancelled */
};

/* Every process starts after a moment, runs for duration_ms and ends with that status; a launcher
 * calls mpirun once; a role that serves others stays. No faults. */
void sim_usual_story(struct arena *a, const struct plan *plan, int64_t duration_ms, int status,
                     struct sim_story *ret);

struct sim_watch { /* who looks on; each may be NULL */
    /* after its folding; now: when the core came to know it */
    void (*event)(void *ctx, const struct job *job, const struct event *ev, ns_t now);
    void (*fault)(void *ctx, ns_t at, const char *text);
    void *ctx;
};

#define SIM_BEGIN_NS (INT64_C(1800000000) * NS_PER_S) /* when every simulated job is created */

struct sim_result {
    struct job *job; /* ended, or as far as it came; the caller frees it */
    uint32_t events, crashes, dropped, repeated, delayed;
    char broken[256]; /* the first rule that did not hold, or "" */
};

/* Plays the story to its end. watch may be NULL. */
void sim_play(const struct plan *plan, const struct job_rules *rules, const struct sim_story *story,
              const struct sim_watch *watch, struct sim_result *ret);

/* A random job and story of that seed, in a: roles, replicas, slots, launcher or gang, counts,
 * endings, faults, cancels. */
struct sim_case {
    const struct plan *plan;
    struct job_rules rules;
    struct sim_story story;
};
void sim_random_case(struct arena *a, uint64_t seed, struct sim_case *ret);

/* The first field in which two states of one job differ, or NULL. What is no event (the time of the
 * last output) may be older in replayed. */
const char *sim_difference(const struct job *live, const struct job *replayed);

#endif
