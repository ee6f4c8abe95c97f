/* place.c - where a gang fits, now or at the earliest time; starting and reserving it there. */
#include "queue/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct queue_amount job_total(const struct queue_job *j)
{
    struct queue_amount all = {0};

    for (uint32_t i = 0; i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++) {
            int64_t x;
            if (__builtin_mul_overflow(j->roles[i].each.v[r], (int64_t)j->roles[i].replicas, &x) ||
                x > UNBOUNDED - all.v[r])
                all.v[r] = UNBOUNDED;
            else
                all.v[r] += x;
        }
    return all;
}

ns_t job_max(const struct queue_world *w, const struct queue_job *j)
{
    ns_t own = j->max_duration, of_queue = w->queues[j->queue].max_duration;

    return own > 0 && (of_queue <= 0 || own < of_queue) ? own : of_queue;
}

/* Never now: what has to be freed first is not free yet. */
ns_t job_end(const struct deciding *d, const struct queue_job *j)
{
    ns_t most = job_max(d->w, j);

    if (j->state == QUEUE_STOPPING)
        return d->now + 1;
    if (most <= 0)
        return FAR;
    return j->started + most - j->ran > d->now ? j->started + most - j->ran : d->now + 1;
}

ns_t end_if(const struct deciding *d, const struct queue_job *j, ns_t from)
{
    ns_t most = job_max(d->w, j);

    if (most <= 0)
        return FOREVER;
    return from + (most > j->ran ? most - j->ran : 1);
}

/* Until when it holds what it got: see FAR. */
static ns_t held_until(const struct deciding *d, const struct queue_job *j, ns_t from)
{
    ns_t end = end_if(d, j, from);

    if (end == FOREVER)
        end = from < FAR ? FAR : from + 1;
    return end;
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Machines that are nearly full come first, those with few free GPUs before all. */
static bool fuller(const struct deciding *d, uint32_t a, uint32_t b)
{
    const struct queue_amount *x = &d->machines[a].free, *y = &d->machines[b].free;

    if (x->v[QUEUE_GPU] != y->v[QUEUE_GPU])
        return x->v[QUEUE_GPU] < y->v[QUEUE_GPU];
    if (x->v[QUEUE_CPU] != y->v[QUEUE_CPU])
        return x->v[QUEUE_CPU] < y->v[QUEUE_CPU];
    return a < b;
}

/* The machine for `left` replicas: one that takes all of them, else the one that takes the most. */
static uint32_t best_machine(const struct deciding *d, uint32_t left)
{
    uint32_t best = NONE, n = 0;

    for (uint32_t m = 0; m < d->w->n_machines; m++) {
        uint32_t here = d->fit[m] < left ? d->fit[m] : left;
        if (here > 0 && (here > n || (here == n && fuller(d, m, best)))) {
            best = m;
            n = here;
        }
    }
    return best;
}

static bool place_role(struct deciding *d, const struct queue_role *role, uint32_t number,
                       bool alone, ns_t from, ns_t to)
{
    uint64_t sum = 0;

    for (uint32_t m = 0; m < d->w->n_machines; m++) {
        d->fit[m] = pool_count(d, &d->machines[m], &role->each, alone ? NULL : &d->taken[m],
                               role->replicas, from, to);
        sum += d->fit[m];
    }
    if (sum < role->replicas)
        return false;
    for (uint32_t left = role->replicas; left > 0;) {
        uint32_t m = best_machine(d, left), n = d->fit[m] < left ? d->fit[m] : left;
        GROW(d->picks, d->n_picks, d->cap_picks);
        d->picks[d->n_picks++] = (struct pick){.role = number, .machine = m, .n = n};
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            d->taken[m].v[r] += role->each.v[r] * n;
        d->fit[m] = 0;
        left -= n;
    }
    return true;
}

/* The larger its part of the largest machine, the sooner a role is placed. */
static double role_size(const struct deciding *d, const struct queue_role *role)
{
    double size = 0;

    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        double part = d->most.v[r] > 0 ? (double)role->each.v[r] / (double)d->most.v[r] : 0;
        size = part > size ? part : size;
    }
    return size;
}

/* Places all replicas for this time, or none; the result is in d->picks. */
bool place(struct deciding *d, const struct queue_job *j, ns_t from, ns_t to)
{
    uint32_t placed = 0, last = NONE;
    bool fits = true;

    d->n_picks = 0;
    d->too_much = NONE;
    for (; fits && placed < j->n_roles; placed++) {
        uint32_t next = NONE; /* the largest below the last one, the first of equals */
        for (uint32_t r = 0; r < j->n_roles; r++) {
            double size = role_size(d, &j->roles[r]);
            double of_last = last == NONE ? 0 : role_size(d, &j->roles[last]);
            bool later = last == NONE || size < of_last || (size == of_last && r > last);
            if (later && (next == NONE || size > role_size(d, &j->roles[next])))
                next = r;
        }
        fits = place_role(d, &j->roles[next], next, placed == 0, from, to);
        if (!fits && placed == 0)
            d->too_much = next;
        last = next;
    }
    for (uint32_t i = 0; i < d->n_picks; i++)
        d->taken[d->picks[i].machine] = (struct queue_amount){0};
    return fits;
}

bool quota_fits(struct deciding *d, const struct queue_job *j, ns_t from, ns_t to)
{
    struct queue_amount all = job_total(j);

    return pool_count(d, &d->queues[j->queue], &all, NULL, 1, from, to) > 0;
}

/* Does it fit if nothing else runs? Asked before anything is reserved. */
bool fits_ever(struct deciding *d, const struct queue_job *j)
{
    uint64_t n = 0;

    if (j->n_roles != 1)
        return place(d, j, FAR + 1, FOREVER);
    for (uint32_t m = 0; m < d->w->n_machines && n < j->roles[0].replicas; m++) {
        struct queue_amount has = d->w->machines[m].has;
        has.v[QUEUE_GPU] = __builtin_popcountll(d->w->machines[m].gpus);
        n += times_in(&has, NULL, &j->roles[0].each, j->roles[0].replicas);
    }
    return n >= j->roles[0].replicas;
}

/* --- now -------------------------------------------------------------------------------------- */

static bool at_least(const struct queue_amount *a, const struct queue_amount *b)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        if (a->v[r] < b->v[r])
            return false;
    return true;
}

/* Was less refused before? What is free only shrinks while jobs are considered. */
static bool refused(const struct deciding *d, const struct queue_job *j, ns_t to)
{
    for (uint32_t r = 0; r < j->n_roles; r++)
        for (uint32_t i = 0; i < d->n_refusals; i++) {
            const struct refusal *x = &d->refusals[i];
            if (j->roles[r].replicas >= x->replicas && to >= x->to &&
                at_least(&j->roles[r].each, &x->each))
                return true;
        }
    return false;
}

/* Can it start now? The result is in d->picks. */
bool fits_now(struct deciding *d, const struct queue_job *j)
{
    ns_t to = end_if(d, j, d->now);

    for (int r = 0; r < QUEUE_RESOURCES; r++)
        if (d->all.v[r] > d->free.v[r] && d->all.v[r] > 0)
            return false;
    if (refused(d, j, to) || !quota_fits(d, j, d->now, to))
        return false;
    if (place(d, j, d->now, to))
        return true;
    if (d->too_much != NONE && d->n_refusals < MAX_REFUSALS) {
        const struct queue_role *role = &j->roles[d->too_much];
        d->refusals[d->n_refusals++] =
            (struct refusal){.each = role->each, .replicas = role->replicas, .to = to};
    }
    return false;
}

/* The lowest n ids of a set. */
static uint64_t lowest(uint64_t set, int64_t n)
{
    uint64_t some = 0;

    for (; n > 0 && set; n--) {
        some |= set & -set;
        set &= set - 1;
    }
    return some;
}

static void fill_places(struct deciding *d, const struct queue_job *j, struct queue_place *places)
{
    uint32_t first = 0;

    for (uint32_t r = 0; r < j->n_roles; first += j->roles[r++].replicas) {
        uint32_t at = first;
        for (uint32_t i = 0; i < d->n_picks; i++) {
            const struct pick *pick = &d->picks[i];
            struct pool *p = &d->machines[pick->machine];
            for (uint32_t k = 0; pick->role == r && k < pick->n; k++, at++) {
                places[at].machine = pick->machine;
                places[at].gpus = lowest(p->gpus, j->roles[r].each.v[QUEUE_GPU]);
                p->gpus &= ~places[at].gpus;
            }
        }
    }
}

/* What the picks are, from one time to the other. */
static void take_picks(struct deciding *d, const struct queue_job *j, ns_t from, ns_t to)
{
    struct queue_amount all = job_total(j);

    for (uint32_t i = 0; i < d->n_picks; i++) {
        const struct pick *pick = &d->picks[i];
        pool_take(d, &d->machines[pick->machine], &j->roles[pick->role].each, pick->n, from, to);
        event_add(d, to, pick->machine);
    }
    pool_take(d, &d->queues[j->queue], &all, 1, from, to);
}

/* Starts it where d->picks says. */
void start_job(struct deciding *d, uint32_t job)
{
    const struct queue_job *j = &d->w->jobs[job];
    struct queue_amount all = job_total(j);
    uint32_t n = 0;

    for (uint32_t r = 0; r < j->n_roles; r++)
        n += j->roles[r].replicas;
    struct queue_place *places = ARENA_ARRAY(d->a, struct queue_place, n + 1);
    fill_places(d, j, places);
    take_picks(d, j, d->now, held_until(d, j, d->now));
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        d->free.v[r] -= all.v[r];
    GROW(d->starts, d->n_starts, d->cap_starts);
    d->starts[d->n_starts++] =
        (struct queue_start){.job = job, .places = places, .backfilled = d->held_up};
}

/* --- later ------------------------------------------------------------------------------------ */

/* Reserves what d->picks says. */
void reserve_job(struct deciding *d, uint32_t job, ns_t at)
{
    const struct queue_job *j = &d->w->jobs[job];

    for (uint32_t i = 0; i < d->n_picks; i++) {
        GROW(d->claims, d->n_claims, d->cap_claims);
        d->claims[d->n_claims++] =
            (struct claim){.job = job, .machine = d->picks[i].machine, .from = at};
    }
    take_picks(d, j, at, held_until(d, j, at));
}

/* Counts a machine anew for all roles of a job that starts then. */
static void recount(struct deciding *d, const struct queue_job *j, uint32_t m, ns_t at,
                    uint64_t *sums)
{
    ns_t end = end_if(d, j, at);

    for (uint32_t r = 0; r < j->n_roles; r++) {
        uint32_t *n = &d->counts[(size_t)r * d->w->n_machines + m];
        sums[r] -= *n;
        *n = pool_count(d, &d->machines[m], &j->roles[r].each, NULL, j->roles[r].replicas, at, end);
        sums[r] += *n;
    }
}

static bool enough(const struct queue_job *j, const uint64_t *sums)
{
    for (uint32_t r = 0; r < j->n_roles; r++)
        if (sums[r] < j->roles[r].replicas)
            return false;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->machine < y->machine ? -1 : x->machine > y->machine;
}

/* If the job starts after these times, it is still there when a reservation begins: then there is
 * less room for it on that machine. Their number. */
static uint32_t find_edges(const struct deciding *d, const struct queue_job *j, struct event **ret)
{
    ns_t end = end_if(d, j, d->now);
    uint32_t n = 0;

    *ret = ARENA_ARRAY(d->a, struct event, d->n_claims + 1);
    if (end == FOREVER)
        return 0;
    for (uint32_t i = 0; i < d->n_claims; i++)
        (*ret)[n++] = (struct event){d->claims[i].from - (end - d->now), d->claims[i].machine};
    qsort(*ret, n, sizeof(**ret), by_time);
    return n;
}

static void count_all(struct deciding *d, const struct queue_job *j, uint64_t *sums)
{
    uint32_t n = d->w->n_machines * j->n_roles;

    if (n > d->cap_counts) {
        d->counts = xrealloc_array(d->counts, n, sizeof(*d->counts));
        d->cap_counts = n;
    }
    if (n > 0)
        memset(d->counts, 0, n * sizeof(*d->counts));
    for (uint32_t m = 0; m < d->w->n_machines; m++)
        recount(d, j, m, d->now, sums);
}

/* The first time at which it fits, with its place in d->picks; false if it never does. More room
 * comes only where something is freed, and less only where a reservation gets in the way: only
 * these machines are counted anew. */
bool earliest(struct deciding *d, const struct queue_job *j, ns_t *ret)
{
    uint64_t *sums = ARENA_ARRAY(d->a, uint64_t, j->n_roles + 1);
    struct event *edges;
    uint32_t n_edges = find_edges(d, j, &edges), edge = 0, i = 0;
    const struct event *ev;

    count_all(d, j, sums);
    while ((ev = event_get(d, i))) {
        ns_t at = ev->at, end = end_if(d, j, at);
        for (; (ev = event_get(d, i)) && ev->at == at; i++)
            recount(d, j, ev->machine, at, sums);
        for (; edge < n_edges && edges[edge].at < at; edge++)
            recount(d, j, edges[edge].machine, at, sums);
        if (enough(j, sums) && quota_fits(d, j, at, end) && place(d, j, at, end)) {
            *ret = at;
            return true;
        }
    }
    return false;
}
