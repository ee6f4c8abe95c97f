/* decide.c - one decision from beginning to end: see queue.h for the rules. */
#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "queue/inside.h"

static void wake_at(struct queue_decisions *ret, ns_t at)
{
    if (ret->wake == 0 || at < ret->wake)
        ret->wake = at;
}

/* Running jobs hold their places. Those that exceeded their time have to stop. */
static void take_stock(struct deciding *d, struct queue_decisions *ret)
{
    for (uint32_t i = 0; i < d->w->n_running; i++) {
        const struct queue_job *j = &d->w->jobs[d->w->running[i]];
        ns_t most = job_max(d->w, j), end = j->started + most - j->ran;
        pools_hold(d, j);
        if (j->state != QUEUE_RUNNING || most <= 0)
            continue;
        if (end <= d->now) {
            GROW(d->stops, d->n_stops, d->cap_stops);
            d->stops[d->n_stops++] =
                (struct queue_stop){.job = d->w->running[i], .why = QUEUE_EXCEEDED, .other = NONE};
        } else {
            wake_at(ret, end);
        }
    }
}

/* A queue may have thousands of jobs that wait for its quota: only the first gets a reservation,
 * or the jobs of other queues would get none. */
static bool may_reserve(const struct deciding *d, const struct line *l, bool on_quota)
{
    return on_quota ? !l->on_quota : d->n_reservations < LIMIT_QUEUE_RESERVATIONS;
}

/* It cannot start now. False if it never can: then it has no place in the order. */
static bool hold_up(struct deciding *d, uint32_t job, struct queue_wait *wait)
{
    const struct queue_job *j = &d->w->jobs[job];
    struct line *l = &d->lines[j->queue];
    bool on_quota = !quota_fits(d, j, d->now, end_if(d, j, d->now));
    uint32_t stopping = 0;
    ns_t at;

    if (d->w->explain)
        why_waits(d, job, true, wait);
    if (!on_quota && !d->first_held_up)
        stopping = preempt_for(d, job);
    if (stopping > 0) {
        wait->why = QUEUE_WHY_PREEMPTS;
        wait->need = stopping;
    }
    if (!may_reserve(d, l, on_quota)) {
        l->shut = on_quota && ++l->looked >= LIMIT_QUEUE_LOOK;
        d->shut = !on_quota && ++d->n_looked >= LIMIT_QUEUE_LOOK;
    } else if (earliest(d, j, &at)) {
        reserve_job(d, job, at);
        d->n_reservations += !on_quota;
        wait->latest = at < FAR ? at : 0;
    } else {
        *wait = (struct queue_wait){.job = job, .ahead = NONE, .why = QUEUE_WHY_NEVER_FITS};
        return false;
    }
    if (!on_quota && !d->first_held_up)
        d->first_held_up = j->id;
    l->on_quota |= on_quota;
    l->shut |= d->w->no_backfill;
    d->shut |= d->w->no_backfill && !on_quota;
    d->held_up = true;
    return true;
}

static void consider(struct deciding *d, uint32_t job)
{
    bool look = !d->shut && !d->lines[d->w->jobs[job].queue].shut;
    struct queue_wait wait = {.job = job, .ahead = d->n_waits};

    if (look && fits_now(d, &d->w->jobs[job])) {
        start_job(d, job);
        return;
    }
    if (look && !hold_up(d, job, &wait)) {
        why_add_unplaced(d, &wait);
        order_forget(d, job);
        return;
    }
    if (!d->w->explain)
        return;
    if (!look)
        why_waits(d, job, false, &wait);
    d->waits[d->n_waits++] = wait;
}

/* Those without a place were added from the end. */
static void join_waits(struct deciding *d)
{
    struct queue_wait *v = &d->waits[d->cap_waits - d->n_unplaced];

    for (uint32_t i = 0; i < d->n_unplaced / 2; i++) {
        struct queue_wait x = v[i];
        v[i] = v[d->n_unplaced - 1 - i];
        v[d->n_unplaced - 1 - i] = x;
    }
    memmove(&d->waits[d->n_waits], v, d->n_unplaced * sizeof(*v));
    d->n_waits += d->n_unplaced;
}

static void give_results(struct deciding *d, struct queue_decisions *ret)
{
    struct queue_start *starts = ARENA_ARRAY(d->a, struct queue_start, d->n_starts + 1);
    struct queue_stop *stops = ARENA_ARRAY(d->a, struct queue_stop, d->n_stops + 1);

    if (d->n_starts > 0)
        memcpy(starts, d->starts, d->n_starts * sizeof(*starts));
    if (d->n_stops > 0)
        memcpy(stops, d->stops, d->n_stops * sizeof(*stops));
    for (uint32_t i = 0; i < d->n_starts; i++) {
        ns_t end = end_if(d, &d->w->jobs[starts[i].job], d->now);
        if (end < FOREVER)
            wake_at(ret, end);
    }
    if (d->w->explain)
        join_waits(d);
    ret->starts = starts;
    ret->n_starts = d->n_starts;
    ret->stops = stops;
    ret->n_stops = d->n_stops;
    ret->waits = d->waits;
    ret->n_waits = d->n_waits;
    ret->promised = d->first_held_up;
}

void queue_decide(const struct queue_world *w, ns_t now, struct arena *a,
                  struct queue_decisions *ret)
{
    struct deciding d = {.w = w, .now = now, .a = a, .promised = NONE, .most_free_at = NONE};
    uint32_t job;

    *ret = (struct queue_decisions){0};
    d.lines = ARENA_ARRAY(a, struct line, w->n_queues + 1);
    d.fit = ARENA_ARRAY(a, uint32_t, w->n_machines + 1);
    for (uint32_t q = 0; w->explain && q < w->n_queues; q++)
        d.cap_waits += w->queues[q].n_waiting;
    d.waits = ARENA_ARRAY(a, struct queue_wait, d.cap_waits + 1);
    pools_init(&d);
    take_stock(&d, ret);
    order_init(&d);
    while ((w->explain || !d.shut) && (job = order_next(&d)) != NONE)
        consider(&d, job);
    give_results(&d, ret);
    free(d.releases);
    free(d.events);
    free(d.sorted);
    free(d.counts);
    free(d.picks);
    free(d.claims);
    free(d.starts);
    free(d.stops);
}
