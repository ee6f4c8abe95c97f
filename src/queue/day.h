/* day.h - a simulated day of a queue: jobs arrive, are started by queue_decide(), run and end.
 *
 * Time is simulated and begins at 0; nothing is started. Between two decisions at least `interval`
 * passes. A job that is paused continues later where it was, one that is requeued begins anew.
 * Not here: reading a description of a day (cli/sim_queue.c); the rules of the queue (queue.h).
 */
#ifndef QUEUE_DAY_H
#define QUEUE_DAY_H

#include "base/rng.h"
#include "queue/queue.h"

struct day_job {
    ns_t at;        /* arrives */
    ns_t lasts;     /* runs for so long, if nobody stops it */
    bool fails;     /* ends without success: jobs that come after it see that */
    uint32_t queue; /* the rest as in struct queue_job */
    int32_t priority;
    const struct queue_role *roles;
    uint32_t n_roles;
    ns_t max_duration;
    const uint32_t *afters; /* indexes of jobs that have to succeed first */
    uint32_t n_afters;
};

struct day {
    const struct queue_machine *machines;
    uint32_t n_machines;
    const struct queue *queues;
    uint32_t n_queues;
    const struct day_job *jobs; /* in the order of their arrival */
    uint32_t n_jobs;
    enum queue_preemption preemption;
    bool no_backfill;
    ns_t interval; /* between decisions */
    ns_t stopping; /* from being told to stop to its end */
};

enum day_end { DAY_NOT_STARTED, DAY_ENDED, DAY_EXCEEDED };

struct day_fate { /* what became of a job */
    enum day_end end;
    ns_t first_start, ended;
    uint32_t preemptions;
    bool backfilled;
};

struct day_queue {
    uint32_t jobs, started;
    ns_t mean_wait, p95_wait;
    double used[QUEUE_RESOURCES]; /* unit-seconds */
};

struct day_result {
    ns_t end; /* of the last job */
    const struct day_fate *fates;
    uint32_t started, backfilled, preemptions, exceeded, most_waiting;
    uint64_t decisions;
    ns_t mean_wait, p95_wait, longest_wait;
    struct queue_amount total;           /* of all machines */
    double used[QUEUE_RESOURCES];        /* unit-seconds */
    double utilisation[QUEUE_RESOURCES]; /* 0 … 1, from 0 to `end` */
    const struct day_queue *queues;
    const char *const *unstarted; /* for the first of those that never started: why */
    const uint32_t *unstarted_jobs;
    uint32_t n_unstarted_told;
};

/* Called after every decision, before it is carried out. */
struct day_watch {
    void (*decided)(void *ctx, const struct queue_world *w, const struct queue_decisions *d,
                    ns_t now);
    void *ctx;
    bool explain;
};

/* Plays until nothing can happen any more. The result lives in the arena; watch may be NULL. */
void day_play(const struct day *day, const struct day_watch *watch, struct arena *a,
              struct day_result *ret);

/* --- random days ------------------------------------------------------------------------------ */

enum day_spread { DAY_FIXED, DAY_UNIFORM /* from 0 to twice the mean */, DAY_EXPONENTIAL };
/* A random time with this mean, at least 1 ns. */
ns_t day_random(struct rng *r, enum day_spread spread, ns_t mean);

#endif
