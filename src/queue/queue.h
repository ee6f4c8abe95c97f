/* queue.h - who starts next, and why the others wait.
 *
 * One pure function. The caller describes the machines, the queues, the jobs that have not ended
 * and the time; queue_decide() says which jobs start and where, which running jobs have to be
 * stopped, and for every other job why it waits. It keeps nothing, starts nothing and reads no
 * clock: asked twice, it answers the same. The caller carries the decisions out, changes its
 * description (a started job is running, with its places) and asks again whenever a job was
 * submitted, has ended, or decisions.wake is reached.
 *
 * Order. Jobs are ordered by the priority of their queue (higher first), then by the queue's
 * dominant share (lower first), then by their own priority (higher first), then by submission. A
 * queue's share is the largest fraction of a resource that its jobs hold, of its quota if it has
 * one, else of all machines, divided by its weight. Jobs already ordered count as holding what they
 * request, so that queues of one priority take turns.
 *
 * Gangs. A job starts with all of its replicas or not at all, so two jobs never hold parts of what
 * both need.
 *
 * Backfill. Jobs are considered in order. One that cannot start gets a reservation: machines, and
 * the earliest time at which they are free if every running job uses its maximum duration. A later
 * job starts only if that delays no reservation. A job without a maximum duration is taken to run
 * for ever: it passes a reservation only if there is room beside it for good. A job that waits
 * for one of these has a reservation without a time; jobs with a maximum duration pass it, and
 * delay it by that at most. The first LIMIT_QUEUE_RESERVATIONS jobs that wait for machines get
 * reservations, and the first of each queue that waits for its quota. LIMIT_QUEUE_LOOK more jobs
 * are considered, and as many of each queue that wait for its quota.
 *
 * The promise. The first job that cannot start is decisions.promised; the caller hands it back with
 * the next question. As long as it is the first of its queue, its queue comes first among those of
 * the same priority, whatever their shares: else the share of a queue whose jobs were backfilled
 * would rise, and its waiting job would lose its place for that.
 *
 * Preemption (off unless asked for). If the first job that cannot start would fit without running
 * jobs of queues that have a lower priority and are preemptible, the youngest of these are stopped,
 * no more than needed. It starts when they have ended.
 *
 * Placement. Replicas of a role go to as few machines as possible, and jobs without GPUs to
 * machines with few free GPUs. Several roles are placed one after the other, the largest replicas
 * first: on several machines this may miss a placement that exists.
 *
 * Cost, with M machines, Q queues, R running replicas, N waiting jobs: O(M + Q + R) plus, for each
 * of the jobs that are considered, O(M) if no similar job was refused before it, and O(M + R log R)
 * for a reservation. With `explain` O(N log Q) on top: 100,000 jobs take tens of milliseconds then,
 * else less than one.
 */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/strbuf.h"

/* --- what the caller describes ---------------------------------------------------------------- */

enum queue_resource {
    QUEUE_CPU,    /* thousandths of a CPU */
    QUEUE_MEMORY, /* bytes */
    QUEUE_GPU,    /* whole GPUs */
    QUEUE_PORT,   /* port numbers, counted only: the caller chooses them */
    QUEUE_RESOURCES,
};
extern const char *const queue_resource_names[QUEUE_RESOURCES]; /* "cpus", "memory", "gpus", … */

struct queue_amount {
    int64_t v[QUEUE_RESOURCES];
};

struct queue_machine {
    const char *name;
    struct queue_amount has; /* v[QUEUE_GPU] is not read */
    uint64_t gpus;           /* the ids of its usable GPUs, one bit each */
};

#define QUEUE_UNLIMITED (-1) /* in a quota: no limit for this resource */

struct queue {
    const char *name;
    struct queue_amount quota; /* what its running jobs may hold together */
    int32_t weight;            /* at least 1; twice the weight, twice the share */
    int32_t priority;          /* 0 … 100 */
    bool preemptible;
    bool closed;        /* none of its waiting jobs starts */
    ns_t max_duration;  /* of each of its jobs; 0 = no limit */
    uint32_t *waiting;  /* its waiting jobs (indexes), sorted by queue_before() */
    uint32_t n_waiting; /* jobs that wait for another one and paused ones are among them */
};

struct queue_role {
    uint32_t replicas;
    struct queue_amount each; /* of one replica */
};

struct queue_place { /* of one replica */
    uint32_t machine;
    uint64_t gpus; /* ids on that machine */
};

/* Another job that has to end first (--after). The caller knows how that one stands. */
enum queue_after_state { QUEUE_AFTER_OPEN, QUEUE_AFTER_SUCCEEDED, QUEUE_AFTER_FAILED };
struct queue_after {
    uint64_t id;
    bool any; /* failed is fine, too */
    enum queue_after_state state;
};

enum queue_state {
    QUEUE_WAITING, /* also one that was preempted */
    QUEUE_RUNNING,
    QUEUE_STOPPING, /* still holds its places, but was told to end; nothing is decided about it */
    QUEUE_PAUSED,   /* by a person: holds nothing and does not start */
};

struct queue_job {
    uint64_t id;    /* how sentences call it; not 0 */
    uint64_t order; /* of submission; no two jobs have the same */
    uint32_t queue;
    int32_t priority; /* 0 … 100 */
    enum queue_state state;
    uint32_t n_roles, n_afters;
    const struct queue_role *roles;
    const struct queue_after *afters;
    ns_t max_duration; /* 0 = not known; that of its queue counts, too */
    ns_t ran;          /* time it ran before `started` that counts for its maximum duration */
    ns_t started;      /* QUEUE_RUNNING, QUEUE_STOPPING */
    const struct queue_place *places; /* likewise: one per replica, in the order of the roles */
};

enum queue_preemption { QUEUE_PREEMPT_NEVER, QUEUE_PREEMPT_PAUSE, QUEUE_PREEMPT_REQUEUE };

struct queue_world {
    const struct queue_machine *machines;
    uint32_t n_machines;
    struct queue *queues;
    uint32_t n_queues;
    const struct queue_job *jobs; /* in any order; ended ones may stay, if no list has them */
    uint32_t n_jobs;
    uint32_t *running; /* indexes of those running and stopping, in any order */
    uint32_t n_running;
    uint64_t promised; /* decisions.promised of the last time; 0 at first */
    enum queue_preemption preemption;
    bool no_backfill; /* nobody passes a job that cannot start */
    bool explain;     /* fill in decisions.waits */
};

/* Does a come before b, both in the same queue? By priority, then by submission. */
bool queue_before(const struct queue_job *a, const struct queue_job *b);

/* Makes the lists of a world (queues[].waiting, running) from the states of its jobs, for callers
 * that do not maintain them. O(n log n). */
void queue_arrange(struct arena *a, struct queue_world *w);

/* --- what is decided -------------------------------------------------------------------------- */

struct queue_start {
    uint32_t job;
    const struct queue_place *places; /* one per replica, in the order of the roles */
    bool backfilled;                  /* a job ahead of it waits */
};

enum queue_stop_why { QUEUE_EXCEEDED, QUEUE_PREEMPT_TO_PAUSE, QUEUE_PREEMPT_TO_REQUEUE };
struct queue_stop {
    uint32_t job;
    enum queue_stop_why why;
    uint32_t other; /* preempted: the job that it makes room for */
};

enum queue_why {
    QUEUE_WHY_SHORT,    /* needs more than is free: resource, need, have */
    QUEUE_WHY_SHORT_ON, /* the same for one replica: need on one machine, have on the best one */
    QUEUE_WHY_SPREAD,   /* enough is free, but not on the right machines for all of its replicas */
    QUEUE_WHY_QUOTA,    /* quota of its queue: resource, need, have = in use */
    QUEUE_WHY_DELAYS,   /* would fit, but delays the reservation of `other` */
    QUEUE_WHY_ORDER,    /* would fit, but others are ahead, and too many to look at it */
    QUEUE_WHY_PREEMPTS, /* need = the number of jobs that are being stopped for it */
    /* From here on it has no place in the order. */
    QUEUE_WHY_AFTER,     /* waits for job `other` to succeed */
    QUEUE_WHY_AFTER_ANY, /* waits for job `other` to end */
    QUEUE_WHY_CLOSED,    /* its queue is closed */
    QUEUE_WHY_PAUSED,    /* by a person */
    /* And from here on it never starts. */
    QUEUE_WHY_AFTER_FAILED, /* job `other` did not succeed */
    QUEUE_WHY_NEVER,        /* needs more than all machines have: resource, need, have */
    QUEUE_WHY_NEVER_ON,     /* a replica needs more than the largest machine has */
    QUEUE_WHY_NEVER_FITS,   /* its replicas do not fit together, even with nothing else running */
    QUEUE_WHY_NEVER_QUOTA,  /* needs more than the quota of its queue */
};

struct queue_wait {
    uint32_t job;
    uint32_t ahead; /* jobs ahead of it: its place is ahead + 1. UINT32_MAX: it has none */
    enum queue_why why;
    enum queue_resource resource;
    int64_t need, have;
    uint64_t other; /* id of a job */
    ns_t latest;    /* it starts at this time or earlier, if nobody comes before it; 0 = unknown */
};

struct queue_decisions {
    const struct queue_start *starts; /* in order */
    uint32_t n_starts;
    const struct queue_stop *stops; /* running jobs to end; they hold their places until then */
    uint32_t n_stops;
    const struct queue_wait *waits; /* with `explain`: all that do not start; first those with a
                                     * place, in order */
    uint32_t n_waits;
    uint64_t promised;
    ns_t wake; /* ask again at this time, if not before; 0 = never */
};

/* Decides. The results live in the arena, with what the deciding needed meanwhile. */
void queue_decide(const struct queue_world *w, ns_t now, struct arena *a,
                  struct queue_decisions *ret);

/* Why a job waits, in one sentence without a full stop: "needs 4 GPUs, 2 free; ahead: 3 jobs". */
void queue_wait_sentence(const struct queue_world *w, const struct queue_wait *wait,
                         struct strbuf *out);
/* Why it is stopped: "exceeded its maximum duration of 2 h". */
void queue_stop_sentence(const struct queue_world *w, const struct queue_stop *stop,
                         struct strbuf *out);

#endif
