/* pool.c - what is free on a machine or in a quota, now and later. */
#include "queue/inside.h"

#include <string.h>

#include "base/mem.h"

/* --- events: something is freed ------------------------------------------------------------- */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->machine < b->machine;
}

static void swap_events(struct event *a, struct event *b)
{
    struct event x = *a;

    *a = *b;
    *b = x;
}

static void sift_down(struct event *v, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t least = i, left = 2 * i + 1;
        if (left < n && earlier(&v[left], &v[least]))
            least = left;
        if (left + 1 < n && earlier(&v[left + 1], &v[least]))
            least = left + 1;
        if (least == i)
            return;
        swap_events(&v[i], &v[least]);
        i = least;
    }
}

static void heap_add(struct deciding *d, struct event ev)
{
    GROW(d->events, d->n_events, d->cap_events);
    uint32_t i = d->n_events++;
    d->events[i] = ev;
    for (; d->heaped && i > 0 && earlier(&d->events[i], &d->events[(i - 1) / 2]); i = (i - 1) / 2)
        swap_events(&d->events[i], &d->events[(i - 1) / 2]);
}

void event_add(struct deciding *d, ns_t at, uint32_t machine)
{
    struct event ev = {at, machine};
    uint32_t n = d->n_sorted;

    if (n == 0 || !earlier(&ev, &d->sorted[n - 1])) {
        heap_add(d, ev);
        return;
    }
    GROW(d->sorted, d->n_sorted, d->cap_sorted);
    while (n > 0 && earlier(&ev, &d->sorted[n - 1]))
        n--;
    memmove(&d->sorted[n + 1], &d->sorted[n], (d->n_sorted - n) * sizeof(ev));
    d->sorted[n] = ev;
    d->n_sorted++;
}

/* Most searches end after a few events: they are sorted only as far as somebody looks. */
const struct event *event_get(struct deciding *d, uint32_t i)
{
    for (uint32_t k = d->n_events / 2; !d->heaped && k-- > 0;)
        sift_down(d->events, d->n_events, k);
    d->heaped = true;
    while (i >= d->n_sorted) {
        if (d->n_events == 0)
            return NULL;
        GROW(d->sorted, d->n_sorted, d->cap_sorted);
        d->sorted[d->n_sorted++] = d->events[0];
        d->events[0] = d->events[--d->n_events];
        sift_down(d->events, d->n_events, 0);
    }
    return &d->sorted[i];
}

/* --- pools ------------------------------------------------------------------------------------ */

static void add_times(struct queue_amount *to, const struct queue_amount *x, int64_t times)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        to->v[r] += x->v[r] * times;
}

static void add_release(struct deciding *d, struct pool *p, const struct queue_amount *x,
                        int64_t times, ns_t at)
{
    GROW(d->releases, d->n_releases, d->cap_releases);
    struct release *rel = &d->releases[d->n_releases];
    *rel = (struct release){.at = at, .next = p->releases};
    add_times(&rel->amount, x, times);
    p->releases = d->n_releases++;
}

/* The index of the step that holds at this time. */
static uint32_t step_at(const struct pool *p, ns_t at)
{
    uint32_t low = 0, high = p->n;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (p->steps[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* Makes a step begin at this time; its index. */
static uint32_t split(struct deciding *d, struct pool *p, ns_t at)
{
    uint32_t i = step_at(p, at);

    if (p->steps[i].at == at)
        return i;
    if (p->n == p->cap) {
        struct step *more = ARENA_ARRAY(d->a, struct step, p->cap * 2);
        memcpy(more, p->steps, p->n * sizeof(*more));
        p->steps = more;
        p->cap *= 2;
    }
    memmove(&p->steps[i + 2], &p->steps[i + 1], (p->n - i - 1) * sizeof(*p->steps));
    p->steps[i + 1] = p->steps[i];
    p->steps[i + 1].at = at;
    p->n++;
    return i + 1;
}

static void make_steps(struct deciding *d, struct pool *p)
{
    uint32_t n = 1;

    if (p->steps)
        return;
    for (uint32_t i = p->releases; i != NONE; i = d->releases[i].next)
        n++;
    p->cap = n + 4;
    p->steps = ARENA_ARRAY(d->a, struct step, p->cap);
    p->steps[0] = (struct step){.at = d->now, .free = p->free};
    p->n = 1;
    for (uint32_t i = p->releases; i != NONE; i = d->releases[i].next)
        for (uint32_t s = split(d, p, d->releases[i].at); s < p->n; s++)
            add_times(&p->steps[s].free, &d->releases[i].amount, 1);
}

/* `times` x is held (negative: freed) from one time to the other. */
void pool_take(struct deciding *d, struct pool *p, const struct queue_amount *x, int64_t times,
               ns_t from, ns_t to)
{
    if (from == d->now && !p->steps) {
        add_times(&p->free, x, -times);
        if (to < FOREVER)
            add_release(d, p, x, times, to);
        return;
    }
    make_steps(d, p);
    uint32_t i = split(d, p, from), end = to < FOREVER ? split(d, p, to) : p->n;
    for (; i < end; i++)
        add_times(&p->steps[i].free, x, -times);
    p->free = p->steps[0].free;
    if (times > 0 && from > p->last)
        p->last = from;
}

uint32_t times_in(const struct queue_amount *in, const struct queue_amount *taken,
                  const struct queue_amount *need, uint32_t most)
{
    for (int r = 0; r < QUEUE_RESOURCES && most > 0; r++) {
        int64_t left = in->v[r] - (taken ? taken->v[r] : 0), one = need->v[r];
        if (one <= 0)
            continue;
        if (left < one)
            return 0;
        if (most > 1 && left / one < most)
            most = (uint32_t)(left / one);
    }
    return most;
}

/* How many times it fits all the time from one time to the other. */
uint32_t pool_count(struct deciding *d, struct pool *p, const struct queue_amount *need,
                    const struct queue_amount *taken, uint32_t most, ns_t from, ns_t to)
{
    if (from == d->now && !p->steps)
        return times_in(&p->free, taken, need, most);
    make_steps(d, p);
    uint32_t i = step_at(p, from);
    most = times_in(&p->steps[i].free, taken, need, most);
    for (i++; i < p->n && p->steps[i].at < to && p->steps[i].at <= p->last && most > 0; i++)
        most = times_in(&p->steps[i].free, taken, need, most);
    return most;
}

void pools_init(struct deciding *d)
{
    const struct queue_world *w = d->w;

    d->machines = ARENA_ARRAY(d->a, struct pool, w->n_machines + 1);
    d->queues = ARENA_ARRAY(d->a, struct pool, w->n_queues + 1);
    d->taken = ARENA_ARRAY(d->a, struct queue_amount, w->n_machines + 1);
    for (uint32_t m = 0; m < w->n_machines; m++) {
        struct pool *p = &d->machines[m];
        *p = (struct pool){
            .free = w->machines[m].has, .gpus = w->machines[m].gpus, .releases = NONE};
        p->free.v[QUEUE_GPU] = __builtin_popcountll(p->gpus);
        add_times(&d->total, &p->free, 1);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            d->most.v[r] = d->most.v[r] > p->free.v[r] ? d->most.v[r] : p->free.v[r];
    }
    d->free = d->total;
    for (uint32_t q = 0; q < w->n_queues; q++) {
        d->queues[q] = (struct pool){.free = w->queues[q].quota, .releases = NONE};
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (d->queues[q].free.v[r] < 0)
                d->queues[q].free.v[r] = UNBOUNDED;
    }
}

/* Calls pool_take() for all replicas of a job; those that follow each other on a machine are one.
 * Only those of later times are events. */
static void take_places(struct deciding *d, const struct queue_job *j, int sign, ns_t from, ns_t to)
{
    const struct queue_place *at = j->places;

    for (uint32_t r = 0; r < j->n_roles; r++) {
        const struct queue_role *role = &j->roles[r];
        for (uint32_t i = 0, n; i < role->replicas; i += n) {
            for (n = 1; i + n < role->replicas && at[i + n].machine == at[i].machine;)
                n++;
            pool_take(d, &d->machines[at[i].machine], &role->each, sign * (int64_t)n, from, to);
            if (from == d->now && sign > 0)
                event_add(d, to, at[i].machine);
            else if (from > d->now && sign < 0)
                event_add(d, from, at[i].machine);
        }
        at += role->replicas;
    }
}

void pools_hold(struct deciding *d, const struct queue_job *j)
{
    struct queue_amount all = job_total(j);
    ns_t end = job_end(d, j);
    uint32_t i = 0;

    for (uint32_t r = 0; r < j->n_roles; r++)
        for (uint32_t k = 0; k < j->roles[r].replicas; k++, i++)
            d->machines[j->places[i].machine].gpus &= ~j->places[i].gpus;
    take_places(d, j, 1, d->now, end);
    pool_take(d, &d->queues[j->queue], &all, 1, d->now, end);
    add_times(&d->free, &all, -1);
    add_times(&d->lines[j->queue].held, &all, 1);
}

void pools_free(struct deciding *d, const struct queue_job *j, ns_t from, bool undo)
{
    struct queue_amount all = job_total(j);
    ns_t end = job_end(d, j);

    if (end <= from)
        return;
    take_places(d, j, undo ? 1 : -1, from, end);
    pool_take(d, &d->queues[j->queue], &all, undo ? 1 : -1, from, end);
}
