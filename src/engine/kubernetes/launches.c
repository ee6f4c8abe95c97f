/* launches.c - see launches.h. */
#include "engine/kubernetes/launches.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct launch_seen { /* a pod that knows it */
    struct launch_place at;
    uint32_t number; /* of the shim there; 0: it has no ranks of it, and saw its mpirun end */
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
        if (l->seen[i].number > 0 && l->seen[i].at.replica == at.replica &&
            l->seen[i].at.generation == at.generation)
            return &l->seen[i];
    return NULL;
}

/* An mpirun whose end was told before any rank of it has no id yet. */
static bool is_same(const struct launch_known *l, const struct frame_launch *launch)
{
    bool same_origin = strcmp(l->origin, launch->origin) == 0;

    if (*l->origin && !*l->id)
        return same_origin;
    return strcmp(l->id, launch->id) == 0 && (!*launch->origin || !*l->origin || same_origin);
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

static void add_seen(struct launches *all, struct launch_known *l, struct launch_place at,
                     uint32_t number)
{
    GROW(l->seen, l->n, l->cap);
    l->seen[l->n++] = (struct launch_seen){.at = at, .number = number};
    all->seen++;
}

static void add_launch(struct launches *all, const char *origin, const char *id)
{
    GROW(all->v, all->n, all->cap);
    all->v[all->n++] = (struct launch_known){.origin = xstrdup(origin), .id = xstrdup(id)};
}

uint32_t launches_number(struct launches *all, struct launch_place at,
                         const struct frame_launch *launch, bool starts)
{
    uint32_t number =
        launch->number == 0 ? by_origin(all, launch->origin) : known(all, at, launch->number);
    size_t i = all->n;

    if (number > 0 || !starts)
        return number;
    while (i > 0 && (!is_same(&all->v[i - 1], launch) || seen_at(&all->v[i - 1], at)))
        i--;
    if (i == 0) {
        add_launch(all, launch->origin, launch->id);
        i = all->n;
    }
    if (!*all->v[i - 1].id && *launch->id) {
        free(all->v[i - 1].id);
        all->v[i - 1].id = xstrdup(launch->id);
    }
    add_seen(all, &all->v[i - 1], at, launch->number);
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

/* --- kept ------------------------------------------------------------------------------------- */

/* A tab ends a text. */
static void add_text(struct strbuf *out, const char *text, char end)
{
    for (; *text; text++)
        strbuf_addch(out, *text == '\t' || *text == '\n' ? ' ' : *text);
    strbuf_addch(out, end);
}

void launches_line(struct strbuf *out, uint32_t attempt, uint32_t number, struct launch_place at,
                   const struct frame_launch *launch)
{
    strbuf_addf(out, "%u %u %u %u %u\t", attempt, number, at.replica, at.generation,
                launch->number);
    add_text(out, launch->origin, '\t');
    add_text(out, launch->id, '\n');
}

void launches_write(const struct launches *all, uint32_t attempt, struct strbuf *out)
{
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->v[i].n; k++)
            launches_line(out, attempt, (uint32_t)i + 1, all->v[i].seen[k].at,
                          &(struct frame_launch){.number = all->v[i].seen[k].number,
                                                 .origin = all->v[i].origin,
                                                 .id = all->v[i].id});
}

/* The five numbers at the beginning of a line. */
static char *read_numbers(char *line, uint32_t v[5])
{
    for (int i = 0; i < 5; i++) {
        char *end;
        unsigned long n = strtoul(line, &end, 10);

        if (end == line || *end != (i < 4 ? ' ' : '\t') || n > UINT32_MAX)
            return NULL;
        v[i] = (uint32_t)n;
        line = end + 1;
    }
    return line;
}

static void read_line(struct launches *all, uint32_t attempt, uint32_t last, char *line)
{
    uint32_t v[5];
    char *origin = read_numbers(line, v), *id = origin ? strchr(origin, '\t') : NULL;

    if (!id || v[0] != attempt || v[1] == 0 || v[1] > last || v[1] > all->n + 1)
        return;
    *id++ = '\0';
    if (v[1] > all->n)
        add_launch(all, origin, id);
    add_seen(all, &all->v[v[1] - 1], (struct launch_place){.replica = v[2], .generation = v[3]},
             v[4]);
}

void launches_read(struct launches *all, uint32_t attempt, uint32_t last, char *text)
{
    char *nl;

    for (; (nl = strchr(text, '\n')); text = nl + 1) {
        *nl = '\0';
        read_line(all, attempt, last, text);
    }
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
