/* inside.h - what the files of the queue share.
 *
 * A pool is what can be held: a machine, or the quota of a queue. It knows what is free from now
 * on, as steps in time. A running job holds its part until its maximum duration is over, a
 * reservation from its time on.
 */
#ifndef QUEUE_INSIDE_H
#define QUEUE_INSIDE_H

#include "base/limits.h"
#include "queue/queue.h"

/* A job without a maximum duration is taken to run for ever where it could be in somebody's way,
 * and to end at this time where others wait for it: so everybody's reservation has a time, and
 * those that nobody can know come after all that are known. */
#define FAR (INT64_MAX / 4)
#define FOREVER INT64_MAX
#define UNBOUNDED (INT64_MAX / 8) /* free in a quota without a limit */
#define NONE UINT32_MAX

struct step { /* from this time on, so much is free */
    ns_t at;
    struct queue_amount free;
};

struct release { /* before the steps are made: freed at this time */
    ns_t at;
    struct queue_amount amount;
    uint32_t next;
};

struct pool {
    struct queue_amount free; /* now */
    uint64_t gpus;            /* free ids; machines only */
    uint32_t releases;        /* list; NONE ends it */
    struct step *steps;       /* NULL until somebody asks for a later time */
    ns_t last;                /* the last time at which less is free than before */
    uint32_t n, cap;
};

struct event { /* something is freed there at this time */
    ns_t at;
    uint32_t machine;
};

struct pick { /* n replicas of a role go to a machine */
    uint32_t role, machine, n;
};

struct claim { /* of a reservation */
    uint32_t job, machine;
    ns_t from;
};

struct refusal { /* so many replicas did not fit until that time: nor will more, for longer */
    struct queue_amount each;
    uint32_t replicas;
    ns_t to;
};
enum { MAX_REFUSALS = 32 };

struct line {                  /* a queue, while its jobs are put in order */
    uint32_t next;             /* of queue->waiting */
    struct queue_amount first; /* what that job requests */
    uint64_t share;
    struct queue_amount held;    /* by its jobs, those ordered so far included */
    double per[QUEUE_RESOURCES]; /* share of one unit */
    uint32_t looked;             /* jobs that wait for the quota, without a reservation */
    bool on_quota;               /* one waits for the quota, with a reservation */
    bool shut;                   /* no more of its jobs are considered */
};

struct deciding {
    const struct queue_world *w;
    ns_t now;
    struct arena *a;

    struct pool *machines, *queues;
    struct release *releases;
    uint32_t n_releases, cap_releases;
    struct queue_amount total, most; /* of all machines; of the largest, per resource */
    struct queue_amount free;        /* of all machines, now */
    struct queue_amount *taken;      /* per machine, by roles placed already */

    struct event *events; /* a heap, of which the first ones are taken to `sorted` as needed */
    uint32_t n_events, cap_events;
    bool heaped;
    struct event *sorted;
    uint32_t n_sorted, cap_sorted;
    uint32_t *counts; /* per role and machine, for the search */
    uint32_t cap_counts;
    uint32_t *fit;     /* per machine, while a role is placed */
    uint32_t too_much; /* the role that did not fit even alone, or NONE */

    struct pick *picks; /* of the last placement */
    uint32_t n_picks, cap_picks;
    struct claim *claims;
    uint32_t n_claims, cap_claims;
    uint32_t n_reservations; /* without those of jobs that wait for a quota */
    uint32_t n_looked;       /* jobs without a reservation, likewise */
    struct refusal refusals[MAX_REFUSALS];
    uint32_t n_refusals;

    struct line *lines;
    uint32_t *heap; /* queues with jobs to order, the first one on top */
    uint32_t n_heap;
    uint32_t promised;       /* index of that job, or NONE */
    struct queue_amount all; /* what the job that is considered requests */

    struct queue_start *starts;
    uint32_t n_starts, cap_starts;
    struct queue_stop *stops;
    uint32_t n_stops, cap_stops;
    struct queue_wait *waits; /* from the end: those without a place */
    uint32_t n_waits, n_unplaced, cap_waits;
    uint64_t first_held_up;        /* id of the first job that waits for machines */
    struct queue_amount most_free; /* on one machine, when there were so many starts */
    uint32_t most_free_at;
    bool held_up; /* somebody waits */
    bool shut;    /* no more jobs are considered */
};

/* pool.c */
void pools_init(struct deciding *d);
void pools_hold(struct deciding *d, const struct queue_job *j); /* it runs already */
void pool_take(struct deciding *d, struct pool *p, const struct queue_amount *x, int64_t times,
               ns_t from, ns_t to);
/* How many times `need` fits, at most `most`, into this, minus what is taken of it. */
uint32_t times_in(const struct queue_amount *in, const struct queue_amount *taken,
                  const struct queue_amount *need, uint32_t most);
uint32_t pool_count(struct deciding *d, struct pool *p, const struct queue_amount *need,
                    const struct queue_amount *taken, uint32_t most, ns_t from, ns_t to);
void event_add(struct deciding *d, ns_t at, uint32_t machine);
const struct event *event_get(struct deciding *d, uint32_t i); /* in order of time; or NULL */
/* What a victim of preemption holds is free from `from` on (undo: it is not). */
void pools_free(struct deciding *d, const struct queue_job *j, ns_t from, bool undo);

/* place.c */
struct queue_amount job_total(const struct queue_job *j);
ns_t job_max(const struct queue_world *w, const struct queue_job *j); /* 0 = unknown */
ns_t job_end(const struct deciding *d, const struct queue_job *j);    /* of one that runs */
bool place(struct deciding *d, const struct queue_job *j, ns_t from, ns_t to);
bool quota_fits(struct deciding *d, const struct queue_job *j, ns_t from, ns_t to);
bool fits_ever(struct deciding *d, const struct queue_job *j);
bool fits_now(struct deciding *d, const struct queue_job *j);
bool earliest(struct deciding *d, const struct queue_job *j, ns_t *ret);
void start_job(struct deciding *d, uint32_t job);
void reserve_job(struct deciding *d, uint32_t job, ns_t at);
/* Until when it would be in somebody's way if it started then. */
ns_t end_if(const struct deciding *d, const struct queue_job *j, ns_t from);

/* order.c */
void order_init(struct deciding *d);
uint32_t order_next(struct deciding *d);             /* index of a job, or NONE */
void order_forget(struct deciding *d, uint32_t job); /* it has no place after all */

/* why.c */
/* Has the job, which requests so much, no place in the order? *ret then says why. */
bool why_unplaced(const struct deciding *d, uint32_t job, const struct queue_amount *all,
                  struct queue_wait *ret);
void why_add_unplaced(struct deciding *d, const struct queue_wait *wait);
void why_waits(struct deciding *d, uint32_t job, bool looked, struct queue_wait *ret);

/* preempt.c */
/* Stops what has to be stopped for the job to start. The number of jobs it then waits for, or 0. */
uint32_t preempt_for(struct deciding *d, uint32_t job);

#endif
