/* inside.h - what the files of the simulation share. */
#ifndef ENGINE_SIM_INSIDE_H
#define ENGINE_SIM_INSIDE_H

#include "base/strbuf.h"
#include "engine/sim/sim.h"
#include "journal/journal.h"

enum being { BEING_NOT, BEING_STARTING, BEING_LIVE, BEING_DEAD };

struct thing { /* a process or a rank as it really is */
    enum being being;
    uint32_t instances; /* how many there have been */
    struct start start; /* of a process: the present one */
    ns_t started;
    struct ending end;
    bool told_to_end, kill_asked;
    ns_t told;      /* a rank: when its mpirun told it to; 0 = it did not */
    bool never_was; /* dead because it could not be started */
};

struct mpirun {
    const struct sim_mpirun *as;
    struct thing *ranks;
    bool *again; /* per rank: has been started anew */
    uint32_t restarts;
    bool failed; /* one of its ranks failed and was not mended */
    ns_t began;
    ns_t over;                /* since when none of its ranks lives; 0 = one does */
    ns_t ended;               /* it is told that mpirun has ended; 0 = it is not */
    int code;                 /* of the first that failed */
    struct observation blame; /* launch 0: nothing is to blame but its ranks */
};

#define SIM_SECRET "hunter2-of-the-job" /* every random job has it, and some program writes it */

extern const struct facts sim_facts; /* of the machine that hand-made plans are for (story.c) */

enum item_kind {
    ITEM_OPENED,
    ITEM_UP,
    ITEM_DIE,
    ITEM_RANK_UP,
    ITEM_RANK_DIE,
    ITEM_MPIRUN,
    ITEM_MPIRUN_STOPS,
    ITEM_BLOW,
    ITEM_LOST,
    ITEM_OUTPUT,
    ITEM_HIDE,   /* a replica is out of sight ... */
    ITEM_SHOW,   /* ... and back */
    ITEM_RESYNC, /* from here on: the core's side */
    ITEM_DELIVER,
    ITEM_CANCEL,
    ITEM_PAUSE,
    ITEM_RESUME,
    ITEM_HANG,
    ITEM_ADMIT,
    ITEM_BACK,
    ITEM_END,
};

struct item {
    ns_t at;
    uint64_t seq;
    enum item_kind kind;
    uint32_t id, rank, instance, epoch;
    struct ending end;
    struct observation o;
};

struct sim {
    struct engine engine; /* first: ops get this */
    bool live;            /* the engine of a run: no core, no journal and no rules here */
    const struct plan *plan;
    const struct job_rules *rules;
    const struct sim_story *story;
    const struct sim_watch *watch;
    struct sim_result *result;
    struct rng rng;
    ns_t now, began;

    struct item *queue; /* a heap, earliest first */
    size_t n_queue, cap_queue;
    uint64_t seq;

    struct thing *procs;    /* plan->n_processes */
    enum being *replicas;   /* plan->n_replicas; LIVE: it answers */
    struct mpirun *mpiruns; /* of this attempt */
    uint32_t n_mpiruns;
    uint32_t step;    /* how many of them the present launcher has called */
    uint32_t attempt; /* the one that the core has asked for */
    uint32_t
        epoch; /* counts what was cleared away: things in the queue from before do not happen */
    bool lost, released, held;
    bool *out_of_sight; /* plan->n_replicas: nothing is heard of it */

    struct turn *turn;
    struct journal to_journal; /* what the turn writes to */
    ns_t wake;                 /* when the turn wants to be run again; 0 = no need */
    bool dead;                 /* the core has crashed and does not know it yet */
    bool catching_up;
    bool collected;              /* actions were asked for, and not yet that they are complete */
    uint32_t commits;            /* of this turn */
    uint32_t undecided, decided; /* decisions: not committed yet; committed and not carried out */
    size_t n_heard;              /* events that the watcher was told */

    struct job *job, *shadow; /* shadow: folded from the journal's text, under other rules */
    struct arena *texts;      /* of the shadow's events, and its plan */
    struct strbuf journal, batch;
    struct strbuf snapshot; /* of the job when the journal had so many bytes; empty: none yet */
    size_t snapshot_at;
    struct rng snapshots;           /* when one is taken and used */
    struct events log;              /* all that is in journal and batch */
    size_t n_committed, n_followed; /* events and bytes of the journal that the shadow has */
    bool down;
    ns_t back_at; /* if so: until then */
    bool pause;   /* somebody wants it paused */
    uint32_t cancels;
    ns_t cancelled_at, down_total, limit; /* limit: until then it has to be over; 0 = none yet */
    uint32_t *starts, *ends;              /* per process: events so far */
};

void sim_push(struct sim *s, int64_t in_ms, struct item item);
bool sim_pop(struct sim *s, struct item *ret);

/* core.c */
enum { SIM_MAX_CRASHES = 40 };
void sim_begin(struct sim *s);
uint32_t sim_turn(struct sim *s); /* returns how many events there were */
void sim_observed(struct sim *s, const struct observation *o);
void sim_come_back(struct sim *s); /* after a crash */
bool sim_acts(struct sim *s);      /* an action begins; false: the core is dead, nothing happens */
void sim_acted(struct sim *s);
void sim_wrote(struct sim *s); /* something was written */
void sim_count(struct sim *s, const struct event *ev);
void sim_fault(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_break(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* world.c */
extern const struct engine_ops world_ops;
void world_init(struct sim *s);
void world_release(struct sim *s);
void world_happens(struct sim *s, const struct item *item);
bool world_waits_for_nothing(
    const struct sim *s); /* no command lives that could still end by itself */
bool sim_waits(const struct sim *s, uint32_t process);

/* other_rules.c: the same job with other policies, in a */
const struct plan *sim_other_rules(struct arena *a, const struct plan *plan);

/* tell.c */
void sim_tell(struct sim *s, const struct observation *o); /* with the story's faults */
void sim_tell_process(struct sim *s, uint32_t id, bool ended);
void sim_tell_rank(struct sim *s, uint32_t launch, uint32_t rank, bool ended);
void sim_tell_mpirun(struct sim *s, uint32_t launch);          /* its end */
void sim_tell_all(struct sim *s);                              /* everything that is true, again */
uint32_t sim_rank_replica(const struct sim *s, uint32_t rank); /* where mpirun puts it */

/* grace.c: the same as the core has, worked out again; in ns */
ns_t sim_role_grace(const struct sim *s, uint32_t role);
ns_t sim_grace(const struct sim *s, uint32_t process); /* of its role */
ns_t sim_longest_grace(const struct sim *s);
ns_t sim_next_kill(const struct sim *s); /* of a job that is being stopped: when */

/* check.c */
void check_event(struct sim *s, const struct event *ev); /* before it is folded */
void check_turn(struct sim *s);
void check_caught_up(struct sim *s); /* what was decided before a crash was said again */
void check_end(struct sim *s);

/* check_again.c */
void check_restart(struct sim *s, uint32_t process);
void check_retry(struct sim *s, const struct event *ev);
void check_deadline(struct sim *s);

/* check_cluster.c */
void check_cluster_event(struct sim *s, const struct event *ev); /* before it is folded */
void check_cluster_turn(struct sim *s);
void check_cluster_end(struct sim *s);
void check_heard(struct sim *s, const struct observation *o, size_t n_before); /* of the log */

/* check_record.c: of a job that was just saved; of one that is over */
void check_snapshot(struct sim *s);
void check_record(struct sim *s);

/* early.c */
void check_early(struct sim *s);
/* Of the mpiruns after base up to last, the first that failed and was not tried again; 0 = none. */
uint32_t oracle_mpirun(const struct sim *s, uint32_t base, uint32_t last);
/* Has this mpirun ended, and was the same tried again up to the last one? */
bool oracle_over_and_tried_again(const struct sim *s, uint32_t mpirun, uint32_t last);
const struct event *oracle_leaver(const struct sim *s, size_t until, uint32_t launch); /* or NULL */

/* oracle.c */
struct expected {
    enum outcome outcome;
    int exit_code;
    int32_t process, rank; /* of the cause, -1 = none */
};
struct expected oracle(const struct sim *s);
size_t oracle_attempt(const struct sim *s);    /* where the last attempt begins in the log */
size_t oracle_until_stop(const struct sim *s); /* how much of the log counts */
/* How a process ended for good within the first n of the log, or NULL. */
const struct event *oracle_end(const struct sim *s, size_t n, uint32_t process);
enum outcome oracle_rules(const struct sim *s); /* of the job, by what has ended so far */

#endif
