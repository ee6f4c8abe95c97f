/* day.c - plays a day: arrivals and endings in order of time, decisions between them. */
#include "queue/day.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

enum { ARRIVES, ENDS, STOPPED };

struct happening {
    ns_t at;
    uint32_t job;
    uint32_t run; /* of the job: an end of an earlier run is void */
    int what;
};

struct dependent { /* job's after number `slot` is the one whose list this is */
    uint32_t job, slot, next;
};

struct playing {
    const struct day *day;
    const struct day_watch *watch;
    struct arena *a;
    struct queue_world w;
    struct queue *queues;
    struct queue_job *jobs;
    struct queue_after **afters;
    struct dependent *dependents;
    uint32_t *first_dependent; /* per job; UINT32_MAX ends it */
    struct happening *heap;
    uint32_t n_heap, cap_heap, next_arrival;
    uint32_t *at;   /* per job: where it is in w.running */
    uint32_t *runs; /* per job: how often it was started */
    ns_t *left;     /* per job: how long it still has to run */
    enum queue_stop_why *why;
    struct day_fate *fates;
    struct day_queue *per_queue;
    uint32_t n_waiting;
    struct day_result *ret;
};

/* --- what happens next ------------------------------------------------------------------------ */

static bool sooner(const struct happening *a, const struct happening *b)
{
    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

static void later(struct playing *p, ns_t at, uint32_t job, int what)
{
    GROW(p->heap, p->n_heap, p->cap_heap);
    uint32_t i = p->n_heap++;
    struct happening h = {at, job, p->runs[job], what};
    for (; i > 0 && sooner(&h, &p->heap[(i - 1) / 2]); i = (i - 1) / 2)
        p->heap[i] = p->heap[(i - 1) / 2];
    p->heap[i] = h;
}

static struct happening pop(struct playing *p)
{
    struct happening first = p->heap[0], last = p->heap[--p->n_heap];
    uint32_t i = 0, k;

    while ((k = 2 * i + 1) < p->n_heap) {
        if (k + 1 < p->n_heap && sooner(&p->heap[k + 1], &p->heap[k]))
            k++;
        if (!sooner(&p->heap[k], &last))
            break;
        p->heap[i] = p->heap[k];
        i = k;
    }
    p->heap[i] = last;
    return first;
}

/* Arrivals are sorted already: they are not in the heap. */
static bool next_time(const struct playing *p, ns_t *ret)
{
    bool arrival = p->next_arrival < p->day->n_jobs;

    if (!arrival && p->n_heap == 0)
        return false;
    *ret = arrival ? p->day->jobs[p->next_arrival].at : p->heap[0].at;
    if (p->n_heap > 0 && p->heap[0].at < *ret)
        *ret = p->heap[0].at;
    return true;
}

/* --- the lists that the caller of queue_decide() maintains ------------------------------------ */

static uint32_t find(const struct playing *p, const struct queue *q, const struct queue_job *j)
{
    uint32_t low = 0, high = q->n_waiting;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (queue_before(&p->jobs[q->waiting[mid]], j))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void enqueue(struct playing *p, uint32_t job)
{
    struct queue *q = &p->queues[p->jobs[job].queue];
    uint32_t i = find(p, q, &p->jobs[job]);

    p->jobs[job].state = QUEUE_WAITING;
    memmove(&q->waiting[i + 1], &q->waiting[i], (q->n_waiting - i) * sizeof(*q->waiting));
    q->waiting[i] = job;
    q->n_waiting++;
    if (++p->n_waiting > p->ret->most_waiting)
        p->ret->most_waiting = p->n_waiting;
}

static void dequeue(struct playing *p, uint32_t job)
{
    struct queue *q = &p->queues[p->jobs[job].queue];
    uint32_t i = find(p, q, &p->jobs[job]);

    memmove(&q->waiting[i], &q->waiting[i + 1], (q->n_waiting - i - 1) * sizeof(*q->waiting));
    q->n_waiting--;
    p->n_waiting--;
}

static void leave_machines(struct playing *p, uint32_t job, ns_t now)
{
    const struct queue_job *j = &p->jobs[job];
    uint32_t last = p->w.running[--p->w.n_running];

    p->w.running[p->at[job]] = last;
    p->at[last] = p->at[job];
    for (uint32_t i = 0; i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            p->per_queue[j->queue].used[r] += (double)j->roles[i].each.v[r] * j->roles[i].replicas *
                                              ((double)(now - j->started) / NS_PER_S);
}

/* --- what happens ----------------------------------------------------------------------------- */

static void job_over(struct playing *p, uint32_t job, ns_t now, enum day_end end)
{
    bool good = end == DAY_ENDED && !p->day->jobs[job].fails;

    p->fates[job].end = end;
    p->fates[job].ended = now;
    p->ret->exceeded += end == DAY_EXCEEDED;
    p->ret->end = now > p->ret->end ? now : p->ret->end;
    for (uint32_t i = p->first_dependent[job]; i != UINT32_MAX; i = p->dependents[i].next) {
        struct queue_after *x = &p->afters[p->dependents[i].job][p->dependents[i].slot];
        x->state = good ? QUEUE_AFTER_SUCCEEDED : QUEUE_AFTER_FAILED;
    }
}

static void happen(struct playing *p, const struct happening *h)
{
    struct queue_job *j = &p->jobs[h->job];

    if (h->run != p->runs[h->job] || j->state == QUEUE_WAITING)
        return;
    leave_machines(p, h->job, h->at);
    p->runs[h->job]++;
    if (h->what == ENDS || p->why[h->job] == QUEUE_EXCEEDED) {
        job_over(p, h->job, h->at, h->what == ENDS ? DAY_ENDED : DAY_EXCEEDED);
        return;
    }
    ns_t ran = h->at - j->started;
    bool keeps = p->why[h->job] == QUEUE_PREEMPT_TO_PAUSE;
    p->left[h->job] = keeps ? p->left[h->job] - ran : p->day->jobs[h->job].lasts;
    j->ran = keeps ? j->ran + ran : 0;
    enqueue(p, h->job);
}

static void carry_out(struct playing *p, const struct queue_decisions *d, ns_t now)
{
    for (uint32_t i = 0; i < d->n_starts; i++) {
        uint32_t job = d->starts[i].job, n = 0;
        struct queue_job *j = &p->jobs[job];
        dequeue(p, job);
        for (uint32_t r = 0; r < j->n_roles; r++)
            n += j->roles[r].replicas;
        struct queue_place *places = xcalloc(n + 1, sizeof(*places));
        memcpy(places, d->starts[i].places, n * sizeof(*places));
        free((void *)(uintptr_t)j->places);
        j->places = places;
        j->state = QUEUE_RUNNING;
        j->started = now;
        p->at[job] = p->w.n_running;
        p->w.running[p->w.n_running++] = job;
        if (p->runs[job]++ == 0) {
            p->fates[job].first_start = now;
            p->fates[job].backfilled = d->starts[i].backfilled;
            p->ret->backfilled += d->starts[i].backfilled;
            p->ret->started++;
        }
        later(p, now + p->left[job], job, ENDS);
    }
    for (uint32_t i = 0; i < d->n_stops; i++) {
        uint32_t job = d->stops[i].job;
        p->jobs[job].state = QUEUE_STOPPING;
        p->why[job] = d->stops[i].why;
        if (d->stops[i].why != QUEUE_EXCEEDED) {
            p->fates[job].preemptions++;
            p->ret->preemptions++;
        }
        later(p, now + p->day->stopping, job, STOPPED);
    }
    p->w.promised = d->promised;
}

/* Decides; the time at which it has to be done again at the latest, or 0. */
static ns_t decide(struct playing *p, ns_t now)
{
    auto_arena struct arena *a = arena_new();
    struct queue_decisions d;

    p->w.explain = p->watch && p->watch->explain;
    queue_decide(&p->w, now, a, &d);
    p->ret->decisions++;
    if (p->watch)
        p->watch->decided(p->watch->ctx, &p->w, &d, now);
    carry_out(p, &d, now);
    return d.wake;
}

/* Everything up to this time. */
static void catch_up(struct playing *p, ns_t now)
{
    ns_t at;

    while (next_time(p, &at) && at <= now) {
        if (p->next_arrival < p->day->n_jobs && p->day->jobs[p->next_arrival].at == at) {
            enqueue(p, p->next_arrival++);
            continue;
        }
        struct happening h = pop(p);
        happen(p, &h);
    }
}

static void play(struct playing *p)
{
    ns_t now = -p->day->interval, wake = 0, next;

    for (;;) {
        bool more = next_time(p, &next);
        if (!more && wake == 0)
            return;
        if (!more || (wake > 0 && wake < next))
            next = wake;
        now = next > now + p->day->interval ? next : now + p->day->interval;
        catch_up(p, now);
        wake = decide(p, now);
        wake = wake > now ? wake : 0; /* a time that has passed would be waited for for ever */
    }
}

/* --- before and after ------------------------------------------------------------------------- */

static void begin(struct playing *p)
{
    const struct day *day = p->day;
    uint32_t n = day->n_jobs, n_dependents = 0;

    p->queues = ARENA_ARRAY(p->a, struct queue, day->n_queues + 1);
    p->per_queue = ARENA_ARRAY(p->a, struct day_queue, day->n_queues + 1);
    p->jobs = ARENA_ARRAY(p->a, struct queue_job, n + 1);
    p->fates = ARENA_ARRAY(p->a, struct day_fate, n + 1);
    p->afters = ARENA_ARRAY(p->a, struct queue_after *, n + 1);
    p->first_dependent = ARENA_ARRAY(p->a, uint32_t, n + 1);
    p->at = ARENA_ARRAY(p->a, uint32_t, n + 1);
    p->runs = ARENA_ARRAY(p->a, uint32_t, n + 1);
    p->left = ARENA_ARRAY(p->a, ns_t, n + 1);
    p->why = ARENA_ARRAY(p->a, enum queue_stop_why, n + 1);
    memset(p->first_dependent, 0xff, n * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        n_dependents += day->jobs[i].n_afters;
        p->per_queue[day->jobs[i].queue].jobs++;
    }
    for (uint32_t q = 0; q < day->n_queues; q++) {
        p->queues[q] = day->queues[q];
        p->queues[q].waiting = ARENA_ARRAY(p->a, uint32_t, p->per_queue[q].jobs + 1);
        p->queues[q].n_waiting = 0;
    }
    p->dependents = ARENA_ARRAY(p->a, struct dependent, n_dependents + 1);
    n_dependents = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct day_job *x = &day->jobs[i];
        p->afters[i] = ARENA_ARRAY(p->a, struct queue_after, x->n_afters + 1);
        p->jobs[i] = (struct queue_job){.id = i + UINT64_C(1),
                                        .order = i,
                                        .queue = x->queue,
                                        .priority = x->priority,
                                        .roles = x->roles,
                                        .n_roles = x->n_roles,
                                        .max_duration = x->max_duration,
                                        .afters = p->afters[i],
                                        .n_afters = x->n_afters};
        p->left[i] = x->lasts;
        for (uint32_t k = 0; k < x->n_afters; k++, n_dependents++) {
            p->afters[i][k].id = x->afters[k] + UINT64_C(1);
            p->dependents[n_dependents] =
                (struct dependent){i, k, p->first_dependent[x->afters[k]]};
            p->first_dependent[x->afters[k]] = n_dependents;
        }
    }
    p->w = (struct queue_world){.machines = day->machines,
                                .n_machines = day->n_machines,
                                .queues = p->queues,
                                .n_queues = day->n_queues,
                                .jobs = p->jobs,
                                .n_jobs = n,
                                .running = ARENA_ARRAY(p->a, uint32_t, n + 1),
                                .preemption = day->preemption,
                                .no_backfill = day->no_backfill};
}

static int compare(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t waits_of(const struct playing *p, uint32_t queue, ns_t *mean, ns_t *p95,
                         ns_t *longest)
{
    ns_t *v = xcalloc(p->day->n_jobs + (size_t)1, sizeof(*v));
    uint32_t n = 0;
    double sum = 0;

    for (uint32_t i = 0; i < p->day->n_jobs; i++)
        if (p->runs[i] > 0 && (queue == UINT32_MAX || p->jobs[i].queue == queue)) {
            v[n] = p->fates[i].first_start - p->day->jobs[i].at;
            sum += (double)v[n++];
        }
    qsort(v, n, sizeof(*v), compare);
    *mean = n > 0 ? (ns_t)(sum / n) : 0;
    *p95 = n > 0 ? v[(uint64_t)(n - 1) * 95 / 100] : 0;
    *longest = n > 0 ? v[n - 1] : 0;
    free(v);
    return n;
}

/* Asks once more, for the reasons of those that never started. */
static void tell_unstarted(struct playing *p)
{
    enum { TOLD = 5 };
    const char **why = ARENA_ARRAY(p->a, const char *, TOLD);
    uint32_t *jobs = ARENA_ARRAY(p->a, uint32_t, TOLD), n = 0;
    struct queue_decisions d;

    p->w.explain = true;
    queue_decide(&p->w, p->ret->end, p->a, &d);
    for (uint32_t i = 0; i < d.n_waits && n < TOLD; i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        queue_wait_sentence(&p->w, &d.waits[i], &sb);
        why[n] = arena_strdup(p->a, sb.buf);
        jobs[n++] = d.waits[i].job;
    }
    p->ret->unstarted = why;
    p->ret->unstarted_jobs = jobs;
    p->ret->n_unstarted_told = n;
}

static void finish(struct playing *p)
{
    struct day_result *ret = p->ret;
    ns_t longest;

    for (uint32_t m = 0; m < p->day->n_machines; m++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            ret->total.v[r] += r == QUEUE_GPU ? __builtin_popcountll(p->day->machines[m].gpus)
                                              : p->day->machines[m].has.v[r];
    for (uint32_t q = 0; q < p->day->n_queues; q++) {
        struct day_queue *x = &p->per_queue[q];
        x->started = waits_of(p, q, &x->mean_wait, &x->p95_wait, &longest);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            ret->used[r] += x->used[r];
    }
    waits_of(p, UINT32_MAX, &ret->mean_wait, &ret->p95_wait, &ret->longest_wait);
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        if (ret->total.v[r] > 0 && ret->end > 0)
            ret->utilisation[r] =
                ret->used[r] / ((double)ret->total.v[r] * ((double)ret->end / NS_PER_S));
    ret->fates = p->fates;
    ret->queues = p->per_queue;
    if (p->n_waiting > 0)
        tell_unstarted(p);
}

void day_play(const struct day *day, const struct day_watch *watch, struct arena *a,
              struct day_result *ret)
{
    struct playing p = {.day = day, .watch = watch, .a = a, .ret = ret};

    *ret = (struct day_result){0};
    begin(&p);
    play(&p);
    finish(&p);
    for (uint32_t i = 0; i < day->n_jobs; i++)
        free((void *)(uintptr_t)p.jobs[i].places);
    free(p.heap);
}

/* --- random days ------------------------------------------------------------------------------ */

/* Von Neumann's way to exponentially distributed numbers: no logarithm, the same everywhere. */
static double exponential(struct rng *r)
{
    for (uint64_t whole = 0;; whole++) {
        uint64_t first = rng_next(r), last = first;
        bool odd = true;
        for (uint64_t x; (x = rng_next(r)) < last; last = x)
            odd = !odd;
        if (odd)
            return (double)whole + (double)first / 18446744073709551616.0;
    }
}

ns_t day_random(struct rng *r, enum day_spread spread, ns_t mean)
{
    ns_t x = mean;

    if (spread == DAY_UNIFORM)
        x = (ns_t)((double)mean * 2 * ((double)rng_next(r) / 18446744073709551616.0));
    else if (spread == DAY_EXPONENTIAL)
        x = (ns_t)((double)mean * exponential(r));
    return x > 0 ? x : 1;
}
