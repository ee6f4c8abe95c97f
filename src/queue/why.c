/* why.c - why a job waits, in numbers. The words are in words.c. */
#include "queue/inside.h"

static bool never(struct queue_wait *ret, enum queue_why why, int r, int64_t need, int64_t have)
{
    ret->why = why;
    ret->resource = (enum queue_resource)r;
    ret->need = need;
    ret->have = have;
    return true;
}

/* Is it too large for these machines or its queue, whatever else runs? */
static bool too_large(const struct deciding *d, const struct queue_job *j,
                      const struct queue_amount *all, struct queue_wait *ret)
{
    const struct queue_amount *quota = &d->w->queues[j->queue].quota;

    for (uint32_t i = 0; d->w->n_machines > 1 && i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (j->roles[i].each.v[r] > d->most.v[r] && j->roles[i].replicas > 0)
                return never(ret, QUEUE_WHY_NEVER_ON, r, j->roles[i].each.v[r], d->most.v[r]);
    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        if (all->v[r] > d->total.v[r])
            return never(ret, QUEUE_WHY_NEVER, r, all->v[r], d->total.v[r]);
        if (quota->v[r] >= 0 && all->v[r] > quota->v[r])
            return never(ret, QUEUE_WHY_NEVER_QUOTA, r, all->v[r], quota->v[r]);
    }
    return false;
}

/* One that failed is told before one that is still open: nothing will help. */
static bool waits_for_job(const struct queue_job *j, struct queue_wait *ret)
{
    const struct queue_after *open = NULL;

    for (uint32_t i = 0; i < j->n_afters; i++) {
        const struct queue_after *x = &j->afters[i];
        if (x->state == QUEUE_AFTER_FAILED && !x->any) {
            ret->why = QUEUE_WHY_AFTER_FAILED;
            ret->other = x->id;
            return true;
        }
        if (x->state == QUEUE_AFTER_OPEN && !open)
            open = x;
    }
    if (open) {
        ret->why = open->any ? QUEUE_WHY_AFTER_ANY : QUEUE_WHY_AFTER;
        ret->other = open->id;
    }
    return open;
}

bool why_unplaced(const struct deciding *d, uint32_t job, const struct queue_amount *all,
                  struct queue_wait *ret)
{
    const struct queue_job *j = &d->w->jobs[job];
    struct queue_wait x = {.job = job, .ahead = NONE, .why = QUEUE_WHY_PAUSED};

    if (j->state != QUEUE_PAUSED && !waits_for_job(j, &x) && !too_large(d, j, all, &x)) {
        x.why = QUEUE_WHY_CLOSED;
        if (!d->w->queues[j->queue].closed)
            return false;
    }
    *ret = x;
    return true;
}

void why_add_unplaced(struct deciding *d, const struct queue_wait *wait)
{
    if (d->w->explain)
        d->waits[d->cap_waits - ++d->n_unplaced] = *wait;
}

/* --- it has a place --------------------------------------------------------------------------- */

static const struct queue_amount *most_free(struct deciding *d)
{
    if (d->most_free_at == d->n_starts)
        return &d->most_free;
    d->most_free = (struct queue_amount){0};
    for (uint32_t m = 0; m < d->w->n_machines; m++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (d->machines[m].free.v[r] > d->most_free.v[r])
                d->most_free.v[r] = d->machines[m].free.v[r];
    d->most_free_at = d->n_starts;
    return &d->most_free;
}

static bool on_quota(const struct deciding *d, const struct queue_job *j,
                     const struct queue_amount *all, struct queue_wait *ret)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        int64_t quota = d->w->queues[j->queue].quota.v[r], left = d->queues[j->queue].free.v[r];
        if (quota >= 0 && all->v[r] > left && all->v[r] > 0)
            return never(ret, QUEUE_WHY_QUOTA, r, all->v[r], quota - left);
    }
    return false;
}

static bool is_short(struct deciding *d, const struct queue_job *j, const struct queue_amount *all,
                     struct queue_wait *ret)
{
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        if (all->v[r] > d->free.v[r] && all->v[r] > 0)
            return never(ret, QUEUE_WHY_SHORT, r, all->v[r], d->free.v[r]);
    if (d->w->n_machines == 1)
        return false;
    const struct queue_amount *most = most_free(d);
    for (uint32_t i = 0; i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            if (j->roles[i].each.v[r] > most->v[r] && j->roles[i].replicas > 0)
                return never(ret, QUEUE_WHY_SHORT_ON, r, j->roles[i].each.v[r], most->v[r]);
    return false;
}

/* Would it fit if nothing were reserved? For several roles an estimate. */
static bool fits_unreserved(const struct deciding *d, const struct queue_job *j)
{
    for (uint32_t i = 0; i < j->n_roles; i++) {
        uint64_t n = 0;
        for (uint32_t m = 0; m < d->w->n_machines && n < j->roles[i].replicas; m++) {
            uint64_t here = j->roles[i].replicas;
            for (int r = 0; r < QUEUE_RESOURCES; r++) {
                int64_t one = j->roles[i].each.v[r], free = d->machines[m].free.v[r];
                if (one > 0 && (free < one || (uint64_t)(free / one) < here))
                    here = free < one ? 0 : (uint64_t)(free / one);
            }
            n += here;
        }
        if (n < j->roles[i].replicas)
            return false;
    }
    return true;
}

/* The first job whose reservation is in the way: where it begins, there is less room. */
static uint64_t in_the_way(struct deciding *d, const struct queue_job *j)
{
    ns_t end = end_if(d, j, d->now);

    for (uint32_t i = 0; i < d->n_claims; i++) {
        const struct claim *c = &d->claims[i];
        struct pool *p = &d->machines[c->machine];
        for (uint32_t r = 0; r < j->n_roles && c->from < end; r++) {
            const struct queue_role *role = &j->roles[r];
            uint32_t n = pool_count(d, p, &role->each, NULL, role->replicas, d->now, c->from);
            if (n > pool_count(d, p, &role->each, NULL, role->replicas, d->now, c->from + 1))
                return d->w->jobs[c->job].id;
        }
    }
    for (uint32_t i = 0; i < d->n_claims; i++) /* in the quota of its queue, then */
        if (d->w->jobs[d->claims[i].job].queue == j->queue && d->claims[i].from < end)
            return d->w->jobs[d->claims[i].job].id;
    return d->first_held_up;
}

void why_waits(struct deciding *d, uint32_t job, bool looked, struct queue_wait *ret)
{
    const struct queue_job *j = &d->w->jobs[job];

    if (on_quota(d, j, &d->all, ret) || is_short(d, j, &d->all, ret))
        return;
    if (!looked) {
        ret->why = QUEUE_WHY_ORDER;
    } else if (!fits_unreserved(d, j) || d->n_claims == 0) {
        ret->why = QUEUE_WHY_SPREAD;
    } else {
        ret->why = QUEUE_WHY_DELAYS;
        ret->other = in_the_way(d, j);
    }
}
