/* order.c - which job is considered next: queues by priority and share, jobs by priority and age.
 *
 * The lists of the queues are sorted already; here they are merged. A heap has the queues that
 * still have jobs, the one whose first job is next on top. What a queue's ordered jobs request
 * counts for its share, so its place in the heap changes with each of them.
 */
#include "queue/inside.h"

#include <stdlib.h>

bool queue_before(const struct queue_job *a, const struct queue_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

/* --- lists for callers that have none --------------------------------------------------------- */

static int compare(const void *a, const void *b, void *ctx)
{
    const struct queue_world *w = ctx;
    const struct queue_job *x = &w->jobs[*(const uint32_t *)a], *y = &w->jobs[*(const uint32_t *)b];

    return queue_before(x, y) ? -1 : queue_before(y, x);
}

/* Most are: jobs of one priority come in their order. */
static bool is_sorted(const struct queue_world *w, const struct queue *q)
{
    for (uint32_t i = 1; i < q->n_waiting; i++)
        if (queue_before(&w->jobs[q->waiting[i]], &w->jobs[q->waiting[i - 1]]))
            return false;
    return true;
}

void queue_arrange(struct arena *a, struct queue_world *w)
{
    const struct queue_job *jobs = w->jobs;

    w->running = ARENA_ARRAY(a, uint32_t, w->n_jobs + 1);
    w->n_running = 0;
    for (uint32_t q = 0; q < w->n_queues; q++)
        w->queues[q].n_waiting = 0;
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        if (jobs[i].state == QUEUE_RUNNING || jobs[i].state == QUEUE_STOPPING)
            w->running[w->n_running++] = i;
        else
            w->queues[jobs[i].queue].n_waiting++;
    }
    for (uint32_t q = 0; q < w->n_queues; q++) {
        w->queues[q].waiting = ARENA_ARRAY(a, uint32_t, w->queues[q].n_waiting + 1);
        w->queues[q].n_waiting = 0;
    }
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        struct queue *q = &w->queues[jobs[i].queue];
        if (jobs[i].state == QUEUE_WAITING || jobs[i].state == QUEUE_PAUSED)
            q->waiting[q->n_waiting++] = i;
    }
    for (uint32_t q = 0; q < w->n_queues; q++)
        if (!is_sorted(w, &w->queues[q]))
            qsort_r(w->queues[q].waiting, w->queues[q].n_waiting, sizeof(uint32_t), compare, w);
}

/* --- shares ----------------------------------------------------------------------------------- */

/* In parts of a thousand million: equal fractions are equal then, whatever they were made from. */
static void set_share(struct line *l)
{
    double most = 0;

    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        double part = (double)l->held.v[r] * l->per[r];
        most = part > most ? part : most;
    }
    l->share = most < 1e9 ? (uint64_t)(most * 1e9 + 0.5) : UINT64_MAX;
}

static void hold(struct line *l, const struct queue_amount *all, int sign)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        l->held.v[r] += sign * all->v[r];
    set_share(l);
}

/* --- the heap --------------------------------------------------------------------------------- */

static uint32_t first_of(const struct deciding *d, uint32_t q)
{
    const struct queue *queue = &d->w->queues[q];

    return d->lines[q].next < queue->n_waiting ? queue->waiting[d->lines[q].next] : NONE;
}

static bool comes_before(const struct deciding *d, uint32_t a, uint32_t b)
{
    const struct queue *x = &d->w->queues[a], *y = &d->w->queues[b];
    uint32_t i = first_of(d, a), k = first_of(d, b);
    const struct queue_job *s = &d->w->jobs[i], *t = &d->w->jobs[k];

    if (x->priority != y->priority)
        return x->priority > y->priority;
    if (i == d->promised || k == d->promised)
        return i == d->promised;
    if (d->lines[a].share != d->lines[b].share)
        return d->lines[a].share < d->lines[b].share;
    return queue_before(s, t);
}

static void sift(struct deciding *d, uint32_t i)
{
    for (;;) {
        uint32_t first = i, left = 2 * i + 1;
        for (uint32_t k = left; k < left + 2 && k < d->n_heap; k++)
            if (comes_before(d, d->heap[k], d->heap[first]))
                first = k;
        if (first == i)
            return;
        uint32_t x = d->heap[i];
        d->heap[i] = d->heap[first];
        d->heap[first] = x;
        i = first;
    }
}

enum { AHEAD = 8 }; /* jobs are sorted by priority, and not where they lie: memory is asked early */

/* Passes by what has no place in the order. */
static void skip(struct deciding *d, uint32_t q)
{
    struct queue_wait wait;
    uint32_t job;

    const struct queue *queue = &d->w->queues[q];

    for (struct line *l = &d->lines[q]; (job = first_of(d, q)) != NONE; l->next++) {
        if (queue->n_waiting - l->next > AHEAD)
            __builtin_prefetch(&d->w->jobs[queue->waiting[l->next + AHEAD]]);
        l->first = job_total(&d->w->jobs[job]);
        if (!why_unplaced(d, job, &l->first, &wait))
            return;
        why_add_unplaced(d, &wait);
    }
}

/* A promise holds for the first of its queue: one that never fits must not be in front of it. */
static void skip_impossible(struct deciding *d, uint32_t q)
{
    uint32_t job;

    while (d->w->promised && d->w->n_machines > 1 && (job = first_of(d, q)) != NONE &&
           !fits_ever(d, &d->w->jobs[job])) {
        why_add_unplaced(
            d, &(struct queue_wait){.job = job, .ahead = NONE, .why = QUEUE_WHY_NEVER_FITS});
        d->lines[q].next++;
        skip(d, q);
    }
}

void order_init(struct deciding *d)
{
    const struct queue_world *w = d->w;

    d->heap = ARENA_ARRAY(d->a, uint32_t, w->n_queues + 1);
    for (uint32_t q = 0; q < w->n_queues; q++) {
        struct line *l = &d->lines[q];
        for (int r = 0; r < QUEUE_RESOURCES; r++) {
            int64_t of = w->queues[q].quota.v[r] >= 0 ? w->queues[q].quota.v[r] : d->total.v[r];
            int32_t weight = w->queues[q].weight > 0 ? w->queues[q].weight : 1;
            l->per[r] = of > 0 ? 1.0 / ((double)of * weight) : 1e9;
        }
        set_share(l);
        skip(d, q);
        skip_impossible(d, q);
        if (first_of(d, q) != NONE)
            d->heap[d->n_heap++] = q;
    }
    for (uint32_t q = 0; w->promised && q < d->n_heap; q++)
        if (w->jobs[first_of(d, d->heap[q])].id == w->promised)
            d->promised = first_of(d, d->heap[q]);
    for (uint32_t i = d->n_heap / 2; i-- > 0;)
        sift(d, i);
}

uint32_t order_next(struct deciding *d)
{
    while (d->n_heap > 0 && d->lines[d->heap[0]].shut && !d->w->explain) {
        d->heap[0] = d->heap[--d->n_heap];
        sift(d, 0);
    }
    if (d->n_heap == 0)
        return NONE;
    uint32_t q = d->heap[0], job = first_of(d, q);
    d->all = d->lines[q].first;
    d->lines[q].next++;
    hold(&d->lines[q], &d->all, 1);
    skip(d, q);
    if (first_of(d, q) == NONE)
        d->heap[0] = d->heap[--d->n_heap];
    sift(d, 0);
    return job;
}

/* Its queue may come sooner by that: its place in the heap is not known. */
void order_forget(struct deciding *d, uint32_t job)
{
    hold(&d->lines[d->w->jobs[job].queue], &d->all, -1);
    for (uint32_t i = d->n_heap / 2; i-- > 0;)
        sift(d, i);
}
