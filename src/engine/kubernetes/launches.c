/* launches.c - see launches.h. */
#include "engine/kubernetes/launches.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct launch_seen { /* a pod that has ranks of it */
    struct launch_place at;
    uint32_t number; /* of the shim there */
};

struct launch_known {
    char *origin, *id;
    struct launch_seen *seen;
    size_t n, cap;
    ns_t signalled, lost; /* its mpirun; one of its daemons or agents; 0 = not that we know */
};

static const struct launch_seen *seen_at(const struct launch_known *l, struct launch_place at)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->seen[i].at.replica == at.replica && l->seen[i].at.generation == at.generation)
            return &l->seen[i];
    return NULL;
}

static bool is_same(const struct launch_known *l, const struct frame_launch *launch)
{
    return strcmp(l->id, launch->id) == 0 &&
           (!*launch->origin || !*l->origin || strcmp(l->origin, launch->origin) == 0);
}

/* What its own pod says of an mpirun: it has that origin, and of its worlds the newest counts. */
static uint32_t by_origin(const struct launches *all, const char *origin)
{
    for (size_t i = all->n; i-- > 0;)
        if (strcmp(all->v[i].origin, origin) == 0)
            return (uint32_t)i + 1;
    return 0;
}

static uint32_t known(const struct launches *all, struct launch_place at, uint32_t number)
{
    for (size_t i = all->n; i-- > 0;) {
        const struct launch_seen *seen = seen_at(&all->v[i], at);

        if (seen && seen->number == number)
            return (uint32_t)i + 1;
    }
    return 0;
}

static void add_seen(struct launch_known *l, struct launch_place at, uint32_t number)
{
    GROW(l->seen, l->n, l->cap);
    l->seen[l->n++] = (struct launch_seen){.at = at, .number = number};
}

uint32_t launches_number(struct launches *all, struct launch_place at,
                         const struct frame_launch *launch, bool starts)
{
    uint32_t number =
        launch->number == 0 ? by_origin(all, launch->origin) : known(all, at, launch->number);
    size_t i = all->n;

    if (number > 0 || launch->number == 0 || !starts)
        return number;
    while (i > 0 && (!is_same(&all->v[i - 1], launch) || seen_at(&all->v[i - 1], at)))
        i--;
    if (i == 0) {
        GROW(all->v, all->n, all->cap);
        all->v[all->n++] =
            (struct launch_known){.origin = xstrdup(launch->origin), .id = xstrdup(launch->id)};
        i = all->n;
    }
    add_seen(&all->v[i - 1], at, launch->number);
    return (uint32_t)i;
}

ns_t launches_blamed(struct launches *all, uint32_t number, bool by_own_pod, ns_t at)
{
    if (number == 0 || number > all->n)
        return at;
    struct launch_known *l = &all->v[number - 1];
    if (by_own_pod) {
        l->signalled = l->lost && l->lost <= at ? l->lost - 1 : at;
        return l->signalled;
    }
    if (l->signalled && at <= l->signalled)
        at = l->signalled + 1;
    if (!l->lost || at < l->lost)
        l->lost = at;
    return at;
}

void launches_clear(struct launches *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->v[i].origin);
        free(all->v[i].id);
        free(all->v[i].seen);
    }
    free(all->v);
    *all = (struct launches){0};
}
