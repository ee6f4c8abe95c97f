/* properties.c - random queues, played to their end, with every rule asked after every decision.
 *
 * MUSTER_TEST_SEED sets the first seed (1), MUSTER_QUEUES how many queues (1,000; with MUSTER_SOAK
 * 10,000), MUSTER_BROKEN after how many that break a rule it ends (5). One that breaks a rule is
 * told by its own seed: MUSTER_TEST_SEED=that MUSTER_QUEUES=1. The rules do not use what the queue
 * is made of: they count for themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/tap.h"
#include "queue/day.h"

enum { FEW = 20 }; /* less than LIMIT_QUEUE_RESERVATIONS */
enum { MAX_JOBS = 40, MAX_MACHINES = 4, MAX_QUEUES = 4 };

struct random_case {
    struct day day;
    struct queue_machine machines[MAX_MACHINES];
    struct queue queues[MAX_QUEUES];
    struct day_job jobs[MAX_JOBS];
    struct queue_role roles[MAX_JOBS][2];
    uint32_t afters[MAX_JOBS];
    bool together; /* all arrive at once */
    bool exact;    /* one machine, or one role: then a placement that exists is found */
    bool quotas;
    struct rng chance; /* for what is tried by the rules */
};

struct rules {
    const struct random_case *c;
    uint64_t promised; /* and when it was promised to start at the latest */
    ns_t latest;
    uint64_t head; /* the first that could not start at the first decision */
    char broken[256];
};

static void broke(struct rules *k, ns_t now, const char *what, uint32_t job)
{
    if (!*k->broken)
        snprintf(k->broken, sizeof(k->broken), "at %lld s: %s (job %u)",
                 (long long)(now / NS_PER_S), what, job + 1);
}

/* --- random queues ---------------------------------------------------------------------------- */

static void random_job(struct random_case *c, struct rng *r, uint32_t i)
{
    struct day_job *j = &c->jobs[i];
    bool whole = rng_chance(r, 150);
    uint32_t m = rng_below(r, c->day.n_machines);

    j->queue = rng_below(r, c->day.n_queues);
    j->priority = rng_chance(r, 300) ? (int32_t)rng_below(r, 3) * 50 : 0;
    j->at = c->together ? 0 : (i > 0 ? c->jobs[i - 1].at : 0) + rng_below(r, 20) * NS_PER_S;
    j->lasts = rng_between(r, 1, 60) * NS_PER_S;
    j->fails = rng_chance(r, 200);
    if (rng_chance(r, 750))
        j->max_duration = rng_chance(r, 500) ? j->lasts : rng_between(r, 1, 120) * NS_PER_S;
    j->roles = c->roles[i];
    j->n_roles = rng_chance(r, 200) ? 2 : 1;
    for (uint32_t k = 0; k < j->n_roles; k++) {
        struct queue_role *role = &c->roles[i][k];
        role->replicas = rng_chance(r, 300) ? 1 + rng_below(r, 5) : 1;
        role->each.v[QUEUE_CPU] = rng_between(r, 0, 8) * 500;
        role->each.v[QUEUE_MEMORY] = rng_between(r, 0, 8) << 30;
        role->each.v[QUEUE_GPU] = rng_chance(r, 600) ? (int64_t)rng_below(r, 5) : 0;
        role->each.v[QUEUE_PORT] = rng_chance(r, 100);
    }
    if (whole) {
        j->n_roles = 1;
        c->roles[i][0] = (struct queue_role){.replicas = 1, .each = c->machines[m].has};
        c->roles[i][0].each.v[QUEUE_GPU] = __builtin_popcountll(c->machines[m].gpus);
    }
    if (i > 0 && rng_chance(r, 100)) {
        c->afters[i] = rng_below(r, i);
        j->afters = &c->afters[i];
        j->n_afters = 1;
    }
}

static void random_queue(struct random_case *c, struct rng *r, uint32_t q, bool quotas)
{
    static const char *const names[MAX_QUEUES] = {"a", "b", "c", "d"};
    struct queue *x = &c->queues[q];

    *x = (struct queue){.name = names[q],
                        .quota = {{-1, -1, -1, -1}},
                        .weight = rng_chance(r, 500) ? (int32_t)rng_between(r, 1, 3) : 1,
                        .priority = rng_chance(r, 500) ? (int32_t)rng_below(r, 3) * 10 : 0,
                        .preemptible = rng_chance(r, 700),
                        .closed = rng_chance(r, 20)};
    if (quotas && rng_chance(r, 600))
        x->quota.v[QUEUE_GPU] = rng_between(r, 1, 12);
    if (quotas && rng_chance(r, 300))
        x->quota.v[QUEUE_CPU] = rng_between(r, 1, 24) * 1000;
    if (rng_chance(r, 200))
        x->max_duration = rng_between(r, 20, 100) * NS_PER_S;
}

static void random_case(uint64_t seed, struct random_case *c)
{
    struct rng r = {seed * 2654435761};

    memset(c, 0, sizeof(*c));
    c->quotas = rng_chance(&r, 400);
    c->together = rng_chance(&r, 500);
    c->day.machines = c->machines;
    c->day.queues = c->queues;
    c->day.jobs = c->jobs;
    c->day.n_machines = rng_chance(&r, 600) ? 1 : 1 + rng_below(&r, MAX_MACHINES);
    c->day.n_queues = rng_chance(&r, 400) ? 1 : 1 + rng_below(&r, MAX_QUEUES);
    c->day.n_jobs = 1 + rng_below(&r, MAX_JOBS);
    if (rng_chance(&r, 300))
        c->day.preemption = rng_chance(&r, 500) ? QUEUE_PREEMPT_PAUSE : QUEUE_PREEMPT_REQUEUE;
    c->day.stopping = rng_below(&r, 3) * NS_PER_S;
    for (uint32_t m = 0; m < c->day.n_machines; m++) {
        c->machines[m].has = (struct queue_amount){
            {rng_between(&r, 1, 16) * 1000, rng_between(&r, 4, 32) << 30, 0, 2}};
        c->machines[m].gpus = rng_next(&r) & 0xfff & rng_next(&r);
        c->machines[m].gpus |= rng_chance(&r, 500) ? 0xf : 0;
    }
    for (uint32_t q = 0; q < c->day.n_queues; q++)
        random_queue(c, &r, q, c->quotas);
    c->exact = true;
    for (uint32_t i = 0; i < c->day.n_jobs; i++) {
        random_job(c, &r, i);
        c->exact &= c->day.n_machines == 1 || c->jobs[i].n_roles == 1;
    }
    c->chance = r;
}

/* --- counting for ourselves ------------------------------------------------------------------- */

static struct queue_amount requested(const struct queue_job *j)
{
    struct queue_amount x = {0};

    for (uint32_t i = 0; i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            x.v[r] += j->roles[i].each.v[r] * j->roles[i].replicas;
    return x;
}

struct use {
    struct queue_amount machines[MAX_MACHINES], queues[MAX_QUEUES];
    uint64_t gpus[MAX_MACHINES];
    bool twice;
};

static void use_job(struct use *u, const struct queue_world *w, uint32_t job,
                    const struct queue_place *at)
{
    const struct queue_job *j = &w->jobs[job];
    struct queue_amount all = requested(j);

    for (uint32_t i = 0; i < j->n_roles; i++)
        for (uint32_t k = 0; k < j->roles[i].replicas; k++, at++) {
            int64_t gpus = __builtin_popcountll(at->gpus);
            for (int r = 0; r < QUEUE_RESOURCES; r++)
                u->machines[at->machine].v[r] += j->roles[i].each.v[r];
            u->twice |= (u->gpus[at->machine] & at->gpus) != 0;
            u->twice |= (at->gpus & ~w->machines[at->machine].gpus) != 0;
            u->twice |= gpus != j->roles[i].each.v[QUEUE_GPU];
            u->gpus[at->machine] |= at->gpus;
        }
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        u->queues[j->queue].v[r] += all.v[r];
}

static void use_all(struct use *u, const struct queue_world *w, const struct queue_decisions *d)
{
    memset(u, 0, sizeof(*u));
    for (uint32_t i = 0; i < w->n_running; i++)
        use_job(u, w, w->running[i], w->jobs[w->running[i]].places);
    for (uint32_t i = 0; i < d->n_starts; i++)
        use_job(u, w, d->starts[i].job, d->starts[i].places);
}

static void check_use(struct rules *k, const struct queue_world *w, const struct queue_decisions *d,
                      ns_t now)
{
    struct use u;

    use_all(&u, w, d);
    if (u.twice)
        broke(k, now, "a GPU is given twice, or is not there, or is not what was requested", 0);
    for (uint32_t m = 0; m < w->n_machines; m++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (r != QUEUE_GPU && u.machines[m].v[r] > w->machines[m].has.v[r])
                broke(k, now, "more is given than a machine has", m);
    for (uint32_t q = 0; q < w->n_queues; q++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (w->queues[q].quota.v[r] >= 0 && u.queues[q].v[r] > w->queues[q].quota.v[r])
                broke(k, now, "a quota is exceeded", q);
}

static void check_starts(struct rules *k, const struct queue_world *w,
                         const struct queue_decisions *d, ns_t now)
{
    for (uint32_t i = 0; i < d->n_starts; i++) {
        const struct queue_job *j = &w->jobs[d->starts[i].job];
        for (uint32_t x = 0; x < j->n_afters; x++)
            if (j->afters[x].state != QUEUE_AFTER_SUCCEEDED)
                broke(k, now, "starts before the job it waits for has succeeded", d->starts[i].job);
        if (j->state != QUEUE_WAITING || w->queues[j->queue].closed)
            broke(k, now, "is not to be started", d->starts[i].job);
    }
}

/* --- order: the naive way --------------------------------------------------------------------- */

static double share(const struct queue_world *w, uint32_t q, const struct queue_amount *held)
{
    const struct queue *x = &w->queues[q];
    double most = 0;

    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        int64_t of = 0;
        for (uint32_t m = 0; m < w->n_machines; m++)
            of += r == QUEUE_GPU ? __builtin_popcountll(w->machines[m].gpus)
                                 : w->machines[m].has.v[r];
        of = x->quota.v[r] >= 0 ? x->quota.v[r] : of;
        double part = of > 0 ? (double)held->v[r] / (double)of / x->weight : 0;
        most = part > most ? part : most;
    }
    return most;
}

/* Is a before b? Within a thousand-millionth shares are equal. */
static bool ordered(const struct queue_world *w, const struct queue_amount *held, uint64_t promised,
                    uint32_t a, uint32_t b)
{
    const struct queue_job *x = &w->jobs[a], *y = &w->jobs[b];
    const struct queue *p = &w->queues[x->queue], *q = &w->queues[y->queue];
    double s = share(w, x->queue, &held[x->queue]), t = share(w, y->queue, &held[y->queue]);

    if (p->priority != q->priority)
        return p->priority > q->priority;
    if (x->queue != y->queue && promised && (x->id == promised || y->id == promised))
        return x->id == promised;
    if (x->queue != y->queue && (s - t > 2e-9 || t - s > 2e-9))
        return s < t;
    return x->priority != y->priority ? x->priority > y->priority : x->order < y->order;
}

/* A promise is void unless the job is the first of its queue. */
static uint64_t valid_promise(const struct queue_world *w, const bool *left)
{
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        const struct queue_job *x = &w->jobs[i];
        bool first = left[i] && x->id == w->promised;
        for (uint32_t k = 0; k < w->n_jobs; k++) {
            const struct queue_job *y = &w->jobs[k];
            if (left[k] && y->queue == x->queue)
                first &=
                    y->priority != x->priority ? y->priority < x->priority : y->order >= x->order;
        }
        if (first)
            return x->id;
    }
    return 0;
}

/* The ones that start and the ones that wait are each told in this order. */
static void check_order(struct rules *k, const struct queue_world *w,
                        const struct queue_decisions *d, ns_t now)
{
    struct queue_amount held[MAX_QUEUES] = {0};
    uint32_t s = 0, t = 0;
    bool left[MAX_JOBS] = {0};

    for (uint32_t i = 0; i < w->n_running; i++) {
        struct queue_amount x = requested(&w->jobs[w->running[i]]);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            held[w->jobs[w->running[i]].queue].v[r] += x.v[r];
    }
    for (uint32_t i = 0; i < d->n_starts; i++)
        left[d->starts[i].job] = true;
    for (uint32_t i = 0; i < d->n_waits; i++)
        left[d->waits[i].job] = d->waits[i].ahead != UINT32_MAX;
    for (uint64_t promised = valid_promise(w, left);;) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < w->n_jobs; i++)
            if (left[i] && (best == UINT32_MAX || ordered(w, held, promised, i, best)))
                best = i;
        if (best == UINT32_MAX)
            return;
        struct queue_amount x = requested(&w->jobs[best]);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            held[w->jobs[best].queue].v[r] += x.v[r];
        left[best] = false;
        if (s < d->n_starts && d->starts[s].job == best) {
            s++;
        } else if (t < d->n_waits && d->waits[t].job == best && d->waits[t].ahead == t) {
            t++;
        } else {
            broke(k, now, "is not told in its order", best);
            return;
        }
    }
}

/* --- asking again ----------------------------------------------------------------------------- */

static bool same_starts(const struct queue_world *w, const struct queue_decisions *x,
                        const struct queue_decisions *y)
{
    if (x->n_starts != y->n_starts)
        return false;
    for (uint32_t i = 0; i < x->n_starts; i++) {
        const struct queue_job *j = &w->jobs[x->starts[i].job];
        uint32_t n = 0;
        for (uint32_t r = 0; r < j->n_roles; r++)
            n += j->roles[r].replicas;
        if (x->starts[i].job != y->starts[i].job)
            return false;
        for (uint32_t r = 0; r < n; r++)
            if (x->starts[i].places[r].machine != y->starts[i].places[r].machine ||
                x->starts[i].places[r].gpus != y->starts[i].places[r].gpus)
                return false;
    }
    return true;
}

static void check_twice(struct rules *k, const struct queue_world *w,
                        const struct queue_decisions *d, ns_t now)
{
    auto_arena struct arena *a = arena_new();
    struct queue_world other = *w;
    struct queue_decisions y;

    queue_decide(w, now, a, &y);
    if (!same_starts(w, d, &y) || d->n_stops != y.n_stops || d->n_waits != y.n_waits ||
        d->promised != y.promised || d->wake != y.wake ||
        (d->n_waits > 0 && memcmp(d->waits, y.waits, d->n_waits * sizeof(*y.waits)) != 0))
        broke(k, now, "asked twice, it answers differently", 0);
    other.explain = false;
    queue_decide(&other, now, a, &y);
    if (!same_starts(w, d, &y) || d->n_stops != y.n_stops || d->promised != y.promised)
        broke(k, now, "without explaining it decides differently", 0);
}

/* The world after the starts, and after one more job was started where there is room; false if
 * there is none. One machine. */
static bool world_with(struct arena *a, const struct queue_world *w,
                       const struct queue_decisions *d, ns_t now, uint32_t extra,
                       struct queue_world *ret)
{
    struct queue_job *jobs = ARENA_ARRAY(a, struct queue_job, w->n_jobs + 1);
    struct queue_place *places = ARENA_ARRAY(a, struct queue_place, 64);
    uint64_t free = w->machines[0].gpus;
    struct use u;

    use_all(&u, w, d);
    free &= ~u.gpus[0];
    memcpy(jobs, w->jobs, w->n_jobs * sizeof(*jobs));
    for (uint32_t i = 0; i < d->n_starts; i++) {
        jobs[d->starts[i].job].state = QUEUE_RUNNING;
        jobs[d->starts[i].job].started = now;
        jobs[d->starts[i].job].places = d->starts[i].places;
    }
    if (extra != UINT32_MAX) {
        struct queue_job *j = &jobs[extra];
        struct queue_amount all = requested(j);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (all.v[r] > 0 &&
                all.v[r] > (r == QUEUE_GPU ? __builtin_popcountll(free)
                                           : w->machines[0].has.v[r] - u.machines[0].v[r]))
                return false;
        j->state = QUEUE_RUNNING;
        j->started = now;
        j->places = places;
        for (uint32_t i = 0, n = 0; i < j->n_roles; i++)
            for (uint32_t x = 0; x < j->roles[i].replicas; x++, n++)
                for (int64_t g = j->roles[i].each.v[QUEUE_GPU]; g > 0; g--) {
                    places[n].gpus |= free & -free;
                    free &= free - 1;
                }
    }
    *ret = *w;
    ret->jobs = jobs;
    ret->queues = ARENA_ARRAY(a, struct queue, w->n_queues + 1);
    memcpy(ret->queues, w->queues, w->n_queues * sizeof(*w->queues));
    /* Jobs that have ended or not arrived are in no list: queue_arrange() does not know that. */
    struct queue_job *kept = ARENA_ARRAY(a, struct queue_job, w->n_jobs + 1);
    bool there[MAX_JOBS] = {0};
    for (uint32_t i = 0; i < w->n_running; i++)
        there[w->running[i]] = true;
    for (uint32_t q = 0; q < w->n_queues; q++)
        for (uint32_t i = 0; i < w->queues[q].n_waiting; i++)
            there[w->queues[q].waiting[i]] = true;
    ret->n_jobs = 0;
    for (uint32_t i = 0; i < w->n_jobs; i++)
        if (there[i])
            kept[ret->n_jobs++] = jobs[i];
    ret->jobs = kept;
    queue_arrange(a, ret);
    return true;
}

static const struct queue_wait *wait_of(const struct queue_world *w,
                                        const struct queue_decisions *d, uint64_t id)
{
    for (uint32_t i = 0; i < d->n_waits; i++)
        if (w->jobs[d->waits[i].job].id == id)
            return &d->waits[i];
    return NULL;
}

/* On one machine, with one queue and no quota: nobody who could start without delaying anybody
 * waits, and nobody who starts delays those before it. */
static void check_conservation(struct rules *k, const struct queue_world *w,
                               const struct queue_decisions *d, ns_t now, struct rng *chance)
{
    auto_arena struct arena *a = arena_new();
    struct queue_world base, with;
    struct queue_decisions x, y;

    if (w->n_machines != 1 || w->n_queues != 1 || k->c->quotas || d->n_waits == 0 || d->n_stops > 0)
        return;
    (void)world_with(a, w, d, now, UINT32_MAX, &base);
    queue_decide(&base, now, a, &x);
    if (x.n_starts > 0)
        broke(k, now, "starts only when asked a second time", x.starts[0].job);
    for (uint32_t i = 0; i < d->n_waits && d->waits[i].ahead != UINT32_MAX; i++) {
        const struct queue_wait *after = wait_of(&base, &x, w->jobs[d->waits[i].job].id);
        if (after && d->waits[i].latest > 0 && after->latest > d->waits[i].latest)
            broke(k, now, "is delayed by those that start", d->waits[i].job);
    }
    bool bounded = true;
    for (uint32_t i = 0; i < base.n_jobs; i++)
        bounded &= base.jobs[i].max_duration > 0;
    for (uint32_t i = 0; bounded && i < x.n_waits && x.waits[i].ahead < FEW; i++)
        if (x.waits[i].latest <= now)
            broke(k, now, "has no reservation", d->waits[i].job);
    const struct queue_wait *one = &d->waits[rng_below(chance, d->n_waits)];
    if (one->ahead == UINT32_MAX || !world_with(a, w, d, now, one->job, &with))
        return;
    queue_decide(&with, now, a, &y);
    for (uint32_t i = 0; i < x.n_waits && x.waits[i].ahead < one->ahead; i++) {
        const struct queue_wait *then = wait_of(&with, &y, base.jobs[x.waits[i].job].id);
        if (!then || x.waits[i].latest == 0 || then->latest == 0 ||
            then->latest > x.waits[i].latest)
            return;
    }
    broke(k, now, "waits, but could start and delay nobody", one->job);
}

/* --- promises --------------------------------------------------------------------------------- */

/* Where no job comes later and none waits for anything but machines, the first job is promised a
 * time, and that is kept. */
static void check_promise(struct rules *k, const struct queue_world *w,
                          const struct queue_decisions *d, ns_t now)
{
    bool waits_for_jobs = false;

    for (uint32_t i = 0; i < d->n_waits; i++)
        waits_for_jobs |= d->waits[i].why == QUEUE_WHY_AFTER;
    if (!k->c->together || k->c->quotas || !k->c->exact || waits_for_jobs || w->preemption) {
        k->promised = 0;
        return;
    }
    const struct queue_wait *x = d->promised ? wait_of(w, d, d->promised) : NULL;
    if (k->promised && k->latest > 0) {
        bool started = false;
        for (uint32_t i = 0; i < d->n_starts; i++)
            started |= w->jobs[d->starts[i].job].id == k->promised;
        if (!started && (!x || d->promised != k->promised))
            broke(k, now, "was promised to be next, and is not", (uint32_t)k->promised - 1);
        else if (!started && (x->latest == 0 || x->latest > k->latest + k->c->day.stopping + 1))
            broke(k, now, "starts later than promised", (uint32_t)k->promised - 1);
    }
    if (x && k->promised == d->promised && k->latest > 0 && k->latest < x->latest)
        return; /* one that exceeded its duration takes a while to stop */
    k->promised = d->promised;
    k->latest = x ? x->latest : 0;
}

/* Who is stopped may be, has to be, and is needed. That they are the youngest is not asked: one of
 * these may be of no use. */
static void check_stops(struct rules *k, const struct queue_world *w,
                        const struct queue_decisions *d, ns_t now)
{
    uint32_t other = UINT32_MAX;
    struct use u;

    for (uint32_t i = 0; i < d->n_stops; i++) {
        const struct queue_job *j = &w->jobs[d->stops[i].job];
        const struct queue *q = &w->queues[j->queue];
        ns_t most =
            j->max_duration > 0 && (q->max_duration == 0 || j->max_duration < q->max_duration)
                ? j->max_duration
                : q->max_duration;
        if (j->state != QUEUE_RUNNING)
            broke(k, now, "is stopped, but does not run", d->stops[i].job);
        if (d->stops[i].why == QUEUE_EXCEEDED && (most == 0 || now - j->started + j->ran < most))
            broke(k, now, "is stopped too early", d->stops[i].job);
        if (d->stops[i].why == QUEUE_EXCEEDED)
            continue;
        other = d->stops[i].other;
        if (!q->preemptible || q->priority >= w->queues[w->jobs[other].queue].priority)
            broke(k, now, "must not be preempted", d->stops[i].job);
        if (!w->preemption || w->jobs[other].id != d->promised)
            broke(k, now, "is preempted for nobody", d->stops[i].job);
    }
    for (uint32_t i = 0; i < w->n_running; i++) {
        const struct queue_job *j = &w->jobs[w->running[i]];
        bool told = j->state != QUEUE_RUNNING;
        for (uint32_t x = 0; x < d->n_stops; x++)
            told |= d->stops[x].job == w->running[i];
        if (!told && j->max_duration > 0 && now - j->started + j->ran >= j->max_duration)
            broke(k, now, "has exceeded its duration and is not stopped", w->running[i]);
    }
    if (other == UINT32_MAX || w->n_machines != 1)
        return;
    /* It fits then, and without any one of the victims it would not. */
    struct queue_amount need = requested(&w->jobs[other]);
    use_all(&u, w, d);
    for (uint32_t x = 0; x <= d->n_stops; x++) {
        bool fits = true;
        for (int r = 0; r < QUEUE_RESOURCES; r++) {
            int64_t free = (r == QUEUE_GPU ? __builtin_popcountll(w->machines[0].gpus)
                                           : w->machines[0].has.v[r]) -
                           u.machines[0].v[r];
            for (uint32_t i = 0; i < w->n_running; i++) {
                bool freed = w->jobs[w->running[i]].state == QUEUE_STOPPING;
                for (uint32_t s = 0; s < d->n_stops; s++)
                    freed |= d->stops[s].job == w->running[i] && s != x;
                free += freed ? requested(&w->jobs[w->running[i]]).v[r] : 0;
            }
            fits &= need.v[r] == 0 || need.v[r] <= free;
        }
        /* What starts meanwhile ends in time, or is beside it: then it is not all that is free. */
        bool victim = x < d->n_stops && d->stops[x].why != QUEUE_EXCEEDED;
        if (x == d->n_stops && !fits && d->n_starts == 0)
            broke(k, now, "others are stopped for it, and it does not fit", other);
        if (victim && fits && d->n_starts == 0)
            broke(k, now, "is stopped needlessly", d->stops[x].job);
    }
}

static void on_decided(void *ctx, const struct queue_world *w, const struct queue_decisions *d,
                       ns_t now)
{
    struct rules *k = ctx;
    struct rng chance = {k->c->chance.state + (uint64_t)now};

    if (now == 0)
        k->head = d->promised;
    check_use(k, w, d, now);
    check_starts(k, w, d, now);
    check_order(k, w, d, now);
    check_twice(k, w, d, now);
    check_conservation(k, w, d, now, &chance);
    check_promise(k, w, d, now);
    check_stops(k, w, d, now);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Could it ever start, with nothing else there? Exact for one machine or one role; of a job that
 * waits for another one nothing is said. */
static bool possible(const struct random_case *c, uint32_t job)
{
    const struct day_job *j = &c->jobs[job];
    const struct queue *q = &c->queues[j->queue];

    if (q->closed || j->n_afters > 0)
        return false;
    for (uint32_t i = 0; i < j->n_roles; i++) {
        uint64_t n = 0;
        for (uint32_t m = 0; m < c->day.n_machines; m++) {
            int64_t here = j->roles[i].replicas;
            for (int r = 0; r < QUEUE_RESOURCES; r++) {
                int64_t has = r == QUEUE_GPU ? __builtin_popcountll(c->machines[m].gpus)
                                             : c->machines[m].has.v[r];
                for (uint32_t k = 0; k < j->n_roles; k++) /* one machine: the others take theirs */
                    has -= k != i ? j->roles[k].each.v[r] * j->roles[k].replicas : 0;
                int64_t one = j->roles[i].each.v[r];
                here = one > 0 && has / one < here ? (has < 0 ? 0 : has / one) : here;
            }
            n += (uint64_t)here;
        }
        if (n < j->roles[i].replicas)
            return false;
    }
    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < j->n_roles; i++)
            sum += j->roles[i].each.v[r] * j->roles[i].replicas;
        if (q->quota.v[r] >= 0 && sum > q->quota.v[r])
            return false;
    }
    return true;
}

/* One queue, one priority, all durations bounded: with n jobs ahead it starts within (n + 1) of the
 * longest of them. */
static void check_starvation(struct rules *k, const struct day_result *res)
{
    const struct random_case *c = k->c;
    ns_t longest = 0;

    if (c->day.n_queues != 1 || c->quotas || !c->exact)
        return;
    for (uint32_t i = 0; i < c->day.n_jobs; i++) {
        ns_t most = c->jobs[i].max_duration;
        if (most == 0 || c->jobs[i].priority != 0 || c->jobs[i].n_afters > 0)
            return;
        longest = most > longest ? most : longest;
    }
    for (uint32_t i = 0; i < c->day.n_jobs; i++) {
        int64_t ahead = 0;
        for (uint32_t x = 0; x < i; x++)
            ahead +=
                res->fates[x].end != DAY_NOT_STARTED && res->fates[x].first_start > c->jobs[i].at;
        if (res->fates[i].end != DAY_NOT_STARTED &&
            res->fates[i].first_start - c->jobs[i].at > (ahead + 1) * (longest + c->day.stopping))
            broke(k, res->fates[i].first_start, "has waited too long", i);
    }
}

static void check_end(struct rules *k, const struct day_result *res)
{
    for (uint32_t i = 0; i < k->c->day.n_jobs; i++) {
        const struct day_job *j = &k->c->jobs[i];
        const struct day_fate *f = &res->fates[i];
        if (f->end == DAY_NOT_STARTED && k->c->exact && possible(k->c, i))
            broke(k, res->end, "never starts", i);
        if (f->end == DAY_EXCEEDED && j->max_duration == 0 &&
            k->c->queues[j->queue].max_duration == 0)
            broke(k, f->ended, "was ended, but has no maximum duration", i);
        if (f->end != DAY_NOT_STARTED && f->preemptions == 0 && j->max_duration > 0 &&
            f->ended - f->first_start > j->max_duration + k->c->day.stopping)
            broke(k, f->ended, "ran for too long", i);
        if (f->preemptions > 0 && !k->c->day.preemption)
            broke(k, f->ended, "was preempted", i);
    }
    check_starvation(k, res);
}

/* The head starts no later with backfill than without. For that every job has to use its maximum
 * duration: one that ends early would let the head start early, if nobody had been backfilled. */
static void check_head(struct rules *k, struct random_case *c)
{
    auto_arena struct arena *a = arena_new();
    struct day_result with, without;

    if (!c->together || c->quotas || !c->exact || !k->head || c->day.preemption)
        return;
    for (uint32_t i = 0; i < c->day.n_jobs; i++) {
        if (c->jobs[i].n_afters > 0)
            return;
        c->jobs[i].max_duration = c->jobs[i].lasts;
    }
    for (uint32_t q = 0; q < c->day.n_queues; q++)
        c->queues[q].max_duration = 0;
    c->day.stopping = 0;
    c->day.no_backfill = false;
    day_play(&c->day, NULL, a, &with);
    c->day.no_backfill = true;
    day_play(&c->day, NULL, a, &without);
    uint32_t head = (uint32_t)k->head - 1;
    if (with.fates[head].first_start > without.fates[head].first_start)
        broke(k, with.fates[head].first_start, "starts later with backfill than without", head);
    if (without.backfilled > 0)
        broke(k, 0, "jobs are backfilled although they must not", 0);
}

struct tally {
    uint64_t decisions, started, backfilled, preemptions, exceeded;
};

static bool play(uint64_t seed, struct tally *t)
{
    auto_arena struct arena *a = arena_new();
    struct random_case c;
    struct day_result res;
    struct rules k = {.c = &c};
    const struct day_watch watch = {.decided = on_decided, .ctx = &k, .explain = true};

    random_case(seed, &c);
    day_play(&c.day, &watch, a, &res);
    check_end(&k, &res);
    if (!*k.broken)
        check_head(&k, &c);
    t->decisions += res.decisions;
    t->started += res.started;
    t->backfilled += res.backfilled;
    t->preemptions += res.preemptions;
    t->exceeded += res.exceeded;
    if (*k.broken)
        tap_diag("MUSTER_TEST_SEED=%llu MUSTER_QUEUES=1: %s", (unsigned long long)seed, k.broken);
    return !*k.broken;
}

/* --- two jobs that each need the whole machine ------------------------------------------------ */

static void two_whole(void)
{
    static const struct queue_role all[] = {{4, {{2000, 0, 2, 0}}}};
    struct day_job jobs[2] = {{.lasts = NS_PER_S, .roles = all, .n_roles = 1},
                              {.lasts = NS_PER_S, .roles = all, .n_roles = 1}};
    struct queue_machine m = {.has = {{8000, 1, 0, 0}}, .gpus = 0xff};
    struct queue q = {.name = "q", .quota = {{-1, -1, -1, -1}}, .weight = 1};
    struct day day = {
        .machines = &m, .n_machines = 1, .queues = &q, .n_queues = 1, .jobs = jobs, .n_jobs = 2};
    auto_arena struct arena *a = arena_new();
    struct day_result res;

    day_play(&day, NULL, a, &res);
    is_int(res.fates[0].ended, NS_PER_S, "two gangs that need the whole machine: one runs");
    is_int(res.fates[1].ended, 2 * NS_PER_S, "then the other");
}

static int64_t setting(const char *name, int64_t fallback)
{
    const char *text = getenv(name);
    int64_t n;

    return text && num_i64(text, &n) == 0 ? n : fallback;
}

int main(void)
{
    uint64_t seed = (uint64_t)setting("MUSTER_TEST_SEED", 1);
    const char *soak = getenv("MUSTER_SOAK");
    int64_t n = setting("MUSTER_QUEUES", soak && *soak ? 10000 : 1000);
    int64_t enough = setting("MUSTER_BROKEN", 5), broken = 0;
    struct tally t = {0};

    tap_diag("MUSTER_TEST_SEED=%llu", (unsigned long long)seed);
    two_whole();
    for (int64_t i = 0; i < n && broken < enough; i++)
        broken += !play(seed + (uint64_t)i, &t);
    is_int(broken, 0, "%lld queues keep every rule", (long long)n);
    tap_diag("%llu decisions, %llu jobs started, %llu backfilled, %llu preempted, %llu exceeded",
             (unsigned long long)t.decisions, (unsigned long long)t.started,
             (unsigned long long)t.backfilled, (unsigned long long)t.preemptions,
             (unsigned long long)t.exceeded);
    ok(n < 100 || (t.backfilled > 0 && t.preemptions > 0 && t.exceeded > 0), "all of it happens");
    return tap_done();
}
