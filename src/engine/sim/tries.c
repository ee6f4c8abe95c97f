/* tries.c - which mpirun of a launcher counts, worked out from the log of events alone. As in
 * oracle.c: slow, plain, and written without a look at how the core does it (job/tries.c).
 */
#include "engine/sim/inside.h"

struct
try {
    uint32_t size, ranks; /* ranks: that have ended for good */
    int64_t program;
    ns_t began, told, last_exit, wrong, lost;
};

static bool is_of(const struct event *ev, enum event_type type, uint32_t mpirun)
{
    return ev->type == type && ev->launch == mpirun;
}

/* The last that the log has of a rank. */
static size_t last_of(const struct sim *s, uint32_t mpirun, uint32_t rank)
{
    size_t last = s->log.n;

    for (size_t i = oracle_attempt(s); i < s->log.n; i++)
        if ((is_of(&s->log.v[i], EVENT_RANK_STARTED, mpirun) ||
             is_of(&s->log.v[i], EVENT_RANK_EXITED, mpirun)) &&
            s->log.v[i].rank == rank)
            last = i;
    return last;
}

static void lower(ns_t *least, ns_t at)
{
    if (*least == 0 || at < *least)
        *least = at;
}

static struct try look(const struct sim *s, size_t n, uint32_t mpirun)
{
    struct try t = {0};
    ns_t first = 0;

    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        bool counts = i == last_of(s, mpirun, ev->rank);

        if (is_of(ev, EVENT_RANK_STARTED, mpirun)) {
            t.size = ev->size > t.size ? ev->size : t.size;
            t.program = ev->program;
            t.began = ev->began;
            lower(&first, ev->at);
        }
        if (is_of(ev, EVENT_RANK_EXITED, mpirun)) {
            t.last_exit = ev->at > t.last_exit ? ev->at : t.last_exit;
            t.ranks += counts && i < n;
            if (counts && i < n && !ending_ok(&ev->end))
                lower(&t.wrong, ev->end.told ? ev->end.told : ev->at);
        }
        if (is_of(ev, EVENT_MPIRUN_ENDED, mpirun))
            t.told = ev->at;
        if (is_of(ev, EVENT_BLAMED, mpirun))
            lower(&t.lost, ev->at);
    }
    t.began = t.began ? t.began : first;
    if (t.wrong && t.lost)
        lower(&t.wrong, t.lost);
    return t;
}

/* An end may be noticed late: by half a second, or an eighth of the time it ran, at the most. */
static bool tries_again(const struct try *later, const struct try *t)
{
    ns_t ended = t->told ? t->told : t->ranks == t->size ? t->last_exit : 0;
    ns_t late = t->began ? (ended - t->began) / 8 : 0;

    if (later->program && t->program && later->program != t->program)
        return false;
    if (late > NS_PER_S / 2)
        late = NS_PER_S / 2;
    return later->size > 0 && later->size <= t->size && ended && later->began >= ended - late;
}

bool oracle_over_and_tried_again(const struct sim *s, uint32_t mpirun, uint32_t last)
{
    size_t n = oracle_until_stop(s);
    struct try t = look(s, n, mpirun);

    for (uint32_t k = mpirun + 1; t.told && k <= last; k++) {
        struct try later = look(s, n, k);
        if (tries_again(&later, &t))
            return true;
    }
    return false;
}

uint32_t oracle_mpirun(const struct sim *s, uint32_t base, uint32_t last)
{
    size_t n = oracle_until_stop(s);
    uint32_t found = 0;
    ns_t wrong = 0;

    for (uint32_t l = base + 1; l <= last; l++) {
        struct try t = look(s, n, l);
        bool again = false;

        for (uint32_t k = l + 1; k <= last; k++) {
            struct try later = look(s, n, k);
            again |= tries_again(&later, &t);
        }
        if (!t.wrong || again || (wrong && t.wrong >= wrong))
            continue;
        wrong = t.wrong;
        found = l;
    }
    return found;
}
