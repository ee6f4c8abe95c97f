/* preempt.c - which running jobs are stopped so that the first waiting one can start. */
#include "queue/inside.h"

#include <stdlib.h>

#include "base/mem.h"

/* Youngest first. */
static int compare(const void *a, const void *b, void *ctx)
{
    const struct queue_world *w = ctx;
    const struct queue_job *x = &w->jobs[*(const uint32_t *)a], *y = &w->jobs[*(const uint32_t *)b];

    if (x->started != y->started)
        return x->started > y->started ? -1 : 1;
    return x->order > y->order ? -1 : x->order < y->order;
}

/* Jobs that end at once anyway; they are freed first. */
static bool ends(const struct deciding *d, const struct queue_job *j)
{
    return job_end(d, j) <= d->now + 1;
}

static bool may_preempt(const struct deciding *d, const struct queue_job *j, const struct queue *by)
{
    const struct queue *q = &d->w->queues[j->queue];

    return j->state == QUEUE_RUNNING && q->preemptible && q->priority < by->priority && !ends(d, j);
}

static bool covers(const struct queue_amount *have, const struct queue_amount *need)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        if (have->v[r] < need->v[r])
            return false;
    return true;
}

static void add(struct queue_amount *to, const struct queue_job *j)
{
    struct queue_amount all = job_total(j);

    for (int r = 0; r < QUEUE_RESOURCES; r++)
        to->v[r] += all.v[r];
}

/* Frees victims until the job fits; their number, or NONE if all of them are not enough. */
static uint32_t free_enough(struct deciding *d, const struct queue_job *j, const uint32_t *v,
                            uint32_t n, struct queue_amount free)
{
    struct queue_amount need = job_total(j);

    for (uint32_t i = 0;; i++) {
        if (covers(&free, &need) && place(d, j, d->now, end_if(d, j, d->now)))
            return i;
        if (i == n)
            return NONE;
        pools_free(d, &d->w->jobs[v[i]], d->now, false);
        add(&free, &d->w->jobs[v[i]]);
    }
}

/* Of n freed victims, those that are not needed keep running, the oldest first. */
static uint32_t spare(struct deciding *d, const struct queue_job *j, uint32_t *v, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = n; i-- > 0;) {
        const struct queue_job *x = &d->w->jobs[v[i]];
        pools_free(d, x, d->now, true);
        if (place(d, j, d->now, end_if(d, j, d->now))) {
            v[i] = NONE;
            continue;
        }
        pools_free(d, x, d->now, false);
    }
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != NONE)
            v[kept++] = v[i];
    return kept;
}

static void stop(struct deciding *d, uint32_t victim, uint32_t job)
{
    bool pause = d->w->preemption == QUEUE_PREEMPT_PAUSE;

    pools_free(d, &d->w->jobs[victim], d->now + 1, false);
    GROW(d->stops, d->n_stops, d->cap_stops);
    d->stops[d->n_stops++] =
        (struct queue_stop){.job = victim,
                            .why = pause ? QUEUE_PREEMPT_TO_PAUSE : QUEUE_PREEMPT_TO_REQUEUE,
                            .other = job};
}

uint32_t preempt_for(struct deciding *d, uint32_t job)
{
    const struct queue_world *w = d->w;
    const struct queue_job *j = &w->jobs[job];
    uint32_t n = 0, ending = 0, chosen = 0;

    if (w->preemption == QUEUE_PREEMPT_NEVER)
        return 0;
    struct queue_amount free = d->free;
    uint32_t *v = ARENA_ARRAY(d->a, uint32_t, w->n_running + 1);
    for (uint32_t i = 0; i < w->n_running; i++)
        if (may_preempt(d, &w->jobs[w->running[i]], &w->queues[j->queue]))
            v[n++] = w->running[i];
    qsort_r(v, n, sizeof(*v), compare, (void *)(uintptr_t)w);
    for (uint32_t i = 0; i < w->n_running; i++)
        if (ends(d, &w->jobs[w->running[i]])) {
            pools_free(d, &w->jobs[w->running[i]], d->now, false);
            add(&free, &w->jobs[w->running[i]]);
            ending++;
        }
    uint32_t freed = free_enough(d, j, v, n, free);
    bool fits = freed != NONE;
    freed = fits ? freed : n;
    if (fits)
        chosen = spare(d, j, v, freed);
    /* spare() has undone what it spared. */
    for (uint32_t i = 0; i < (fits ? chosen : freed); i++)
        pools_free(d, &w->jobs[v[i]], d->now, true);
    for (uint32_t i = 0; i < w->n_running; i++)
        if (ends(d, &w->jobs[w->running[i]]))
            pools_free(d, &w->jobs[w->running[i]], d->now, true);
    for (uint32_t i = 0; i < chosen; i++)
        stop(d, v[i], job);
    return fits ? ending + chosen : 0;
}
