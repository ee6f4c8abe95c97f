/* preflight.c - see preflight.h. */
#include "engine/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    RANDOM_ROUNDS = 4, /* of a job that is too large for all */
    TABLE_ROWS = 12,   /* all connections of four replicas */
};

struct call {
    uint32_t from, to;
    int32_t error;
    int64_t latency, bytes, took;
};

struct place { /* where a replica listens */
    char *address;
    uint32_t port;
    int32_t error;
};

struct preflight {
    const struct plan *plan;
    struct preflight_host host;
    unsigned char token[WIRE_TOKEN];
    uint32_t n, random;
    struct place *places;
    uint32_t awaited; /* answers of this round */
    uint32_t round;
    struct call *calls;               /* all of them, in the order they were asked for */
    size_t n_calls, cap_calls, first; /* first: of this round */
    bool over;
};

struct preflight *preflight_new(const struct plan *plan, const unsigned char token[WIRE_TOKEN],
                                const struct preflight_host *host)
{
    struct preflight *pf = xcalloc(1, sizeof(*pf));

    *pf = (struct preflight){.plan = plan, .host = *host, .n = plan->n_replicas};
    memcpy(pf->token, token, sizeof(pf->token));
    memcpy(&pf->random, token, sizeof(pf->random));
    pf->places = xcalloc(pf->n + 1, sizeof(*pf->places));
    return pf;
}

void preflight_free(struct preflight *pf)
{
    if (!pf)
        return;
    for (uint32_t i = 0; i < pf->n; i++)
        free(pf->places[i].address);
    free(pf->places);
    free(pf->calls);
    free(pf);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void add(struct preflight *pf, uint32_t from, uint32_t to)
{
    if (from >= pf->n || to >= pf->n)
        return; /* of an odd number one has nobody to talk to */
    GROW(pf->calls, pf->n_calls, pf->cap_calls);
    pf->calls[pf->n_calls++] = (struct call){.from = from, .to = to};
}

/* The circle method of a tournament: each meets each other once in m - 1 rounds. */
static void add_match(struct preflight *pf, uint32_t round, bool back)
{
    uint32_t m = pf->n + (pf->n & 1);

    for (uint32_t k = 0; k < m / 2; k++) {
        uint32_t a = (round + k) % (m - 1);
        uint32_t b = k == 0 ? m - 1 : (round + m - 1 - k) % (m - 1);

        if (back)
            add(pf, b, a);
        else
            add(pf, a, b);
    }
}

/* Every second link of the ring; the last one of an odd number is a round of its own. */
static void add_ring(struct preflight *pf, uint32_t part, bool back)
{
    bool odd = pf->n & 1;

    for (uint32_t i = 0; i < pf->n; i++) {
        uint32_t of = odd && i == pf->n - 1 ? 2 : i & 1, next = (i + 1) % pf->n;

        if (of == part)
            add(pf, back ? next : i, back ? i : next);
    }
}

static bool add_round(struct preflight *pf)
{
    enum { RING = 3 };
    uint32_t m = pf->n + (pf->n & 1), round = pf->round / 2;
    bool back = pf->round & 1;

    pf->round++;
    if (pf->n <= LIMIT_TRY_ALL && round < m - 1)
        add_match(pf, round, back);
    else if (pf->n > LIMIT_TRY_ALL && round < RING)
        add_ring(pf, round, back);
    else if (pf->n > LIMIT_TRY_ALL && round < RING + RANDOM_ROUNDS)
        add_match(pf, (pf->random % (m - 1) + (round - RING) * (m / RANDOM_ROUNDS)) % (m - 1),
                  back);
    else
        return false;
    return true;
}

static void next_round(struct preflight *pf)
{
    pf->first = pf->n_calls;
    while (pf->n_calls == pf->first)
        if (!add_round(pf)) {
            pf->over = true;
            pf->host.done(pf->host.ctx);
            return;
        }
    size_t end = pf->n_calls;
    pf->awaited = (uint32_t)(end - pf->first);
    for (size_t i = pf->first; i < end; i++) {
        const struct call *c = &pf->calls[i];

        pf->host.ask(pf->host.ctx, &(struct net_try){.id = c->from * pf->n + c->to,
                                                     .replica = c->from,
                                                     .to = c->to,
                                                     .port = pf->places[c->to].port,
                                                     .token = pf->token});
    }
}

void preflight_begin(struct preflight *pf)
{
    if (pf->n < 2) {
        pf->over = true;
        pf->host.done(pf->host.ctx);
        return;
    }
    pf->awaited = pf->n;
    for (uint32_t i = 0; i < pf->n; i++)
        pf->host.ask(
            pf->host.ctx,
            &(struct net_try){.id = i * pf->n + i, .replica = i, .to = i, .token = pf->token});
}

/* --- answers ---------------------------------------------------------------------------------- */

/* One that cannot listen is called all the same: its address with port 1 gives a reason. */
static bool listens(struct preflight *pf, uint32_t replica, const struct net_tried *t)
{
    struct place *p = &pf->places[replica];

    if (pf->n_calls > 0 || p->address)
        return false;
    p->address = xstrdup(t->address);
    p->port = t->port ? t->port : 1;
    p->error = t->error;
    return true;
}

void preflight_tried(struct preflight *pf, const struct net_tried *t)
{
    uint32_t from = t->id / pf->n, to = t->id % pf->n;
    bool known = false;

    if (pf->over || pf->awaited == 0 || from >= pf->n)
        return;
    if (from == to)
        known = listens(pf, from, t);
    for (size_t i = pf->first; from != to && i < pf->n_calls; i++) {
        struct call *c = &pf->calls[i];

        if (c->from != from || c->to != to || c->took || c->error)
            continue;
        c->error = pf->places[to].error ? pf->places[to].error : t->error;
        c->latency = t->latency;
        c->bytes = t->bytes;
        c->took = t->took > 0 ? t->took : 1;
        known = true;
    }
    if (known && --pf->awaited == 0)
        next_round(pf);
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *name(const struct preflight *pf, uint32_t replica)
{
    return pf->plan->replicas[replica].name;
}

static size_t count_failed(const struct preflight *pf)
{
    size_t n = 0;

    for (size_t i = 0; i < pf->n_calls; i++)
        n += pf->calls[i].error != 0;
    return n;
}

int32_t preflight_failed(const struct preflight *pf, uint32_t *ret_to)
{
    for (size_t i = 0; i < pf->n_calls; i++)
        if (pf->calls[i].error) {
            *ret_to = pf->calls[i].to;
            return (int32_t)pf->calls[i].from;
        }
    return -1;
}

static void add_reach(const struct preflight *pf, const struct call *c, struct strbuf *out)
{
    const struct place *p = &pf->places[c->to];
    const char *why = strerror(-c->error);
    bool v6 = strchr(p->address, ':');

    strbuf_addf(out, "cannot reach %s (%s%s%s:%u): ", name(pf, c->to), v6 ? "[" : "", p->address,
                v6 ? "]" : "", p->port);
    if (p->error)
        strbuf_addf(out, "%s cannot listen: %s", name(pf, c->to), strerror(-p->error));
    else
        strbuf_addf(out, "%c%s", *why | ('a' ^ 'A'), why + 1);
}

void preflight_why(const struct preflight *pf, struct strbuf *out)
{
    const struct call *c = pf->calls;

    while (!c->error)
        c++;
    add_reach(pf, c, out);
    size_t n = count_failed(pf);
    if (n > 1)
        strbuf_addf(out, "; %zu of %zu connections failed", n, pf->n_calls);
}

static double rate(const struct call *c)
{
    return (double)c->bytes / (double)c->took; /* bytes per ns are GB/s */
}

static void add_rate(struct strbuf *out, double rate)
{
    if (rate >= 1)
        strbuf_addf(out, "%.1f GB/s", rate);
    else
        strbuf_addf(out, "%.0f MB/s", rate * 1000);
}

static void add_row(const struct preflight *pf, const struct call *c, int width, struct strbuf *out)
{
    strbuf_addf(out, "\n  %-*s to %-*s  ", width, name(pf, c->from), width, name(pf, c->to));
    if (c->error) {
        strbuf_addstr(out, strerror(-c->error));
        return;
    }
    strbuf_addf(out, "%7.3f ms  ", (double)c->latency / 1e6);
    add_rate(out, rate(c));
}

/* Those that failed first, then the slowest. */
static int by_badness(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if ((x->error != 0) != (y->error != 0))
        return x->error ? -1 : 1;
    return rate(x) < rate(y) ? -1 : rate(x) > rate(y);
}

static int by_latency(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    return x->latency < y->latency ? -1 : x->latency > y->latency;
}

static void add_summary(struct call *sorted, size_t bad, size_t n, struct strbuf *out)
{
    size_t good = n - bad, middle = good / 2;
    struct call *c = sorted + bad;

    if (good == 0)
        return;
    strbuf_addstr(out, "\n  bandwidth ");
    add_rate(out, rate(&c[0]));
    strbuf_addstr(out, " to ");
    add_rate(out, rate(&c[good - 1]));
    strbuf_addstr(out, ", median ");
    add_rate(out, rate(&c[middle]));
    qsort(c, good, sizeof(*c), by_latency);
    strbuf_addf(out, "\n  latency %.3f ms to %.3f ms, median %.3f ms", (double)c[0].latency / 1e6,
                (double)c[good - 1].latency / 1e6, (double)c[middle].latency / 1e6);
    qsort(c, good, sizeof(*c), by_badness);
}

static void add_head(const struct preflight *pf, size_t bad, struct strbuf *out)
{
    if (pf->n < 2) {
        strbuf_addstr(out, "preflight: one replica, no connection to try");
        return;
    }
    strbuf_addf(out, "preflight: %u replicas, %zu of %zu connections work", pf->n,
                pf->n_calls - bad, pf->n_calls);
    if (pf->n > LIMIT_TRY_ALL)
        strbuf_addf(out, " (beyond %d replicas: the ring and %d random rounds, not every pair)",
                    LIMIT_TRY_ALL, RANDOM_ROUNDS);
}

void preflight_table(const struct preflight *pf, struct strbuf *out)
{
    size_t bad = count_failed(pf), n = pf->n_calls;
    int width = 0;

    add_head(pf, bad, out);
    if (n == 0)
        return;
    auto_free struct call *sorted = xcalloc(n, sizeof(*sorted));
    memcpy(sorted, pf->calls, n * sizeof(*sorted));
    if (n > TABLE_ROWS) {
        qsort(sorted, n, sizeof(*sorted), by_badness);
        add_summary(sorted, bad, n, out);
        strbuf_addstr(out,
                      bad ? "\n  the first that failed, and the slowest:" : "\n  the slowest:");
        n = bad + 3 < LIMIT_TRY_TOLD ? bad + 3 : LIMIT_TRY_TOLD;
    }
    for (size_t i = 0; i < n; i++) {
        int from = (int)strlen(name(pf, sorted[i].from)), to = (int)strlen(name(pf, sorted[i].to));

        width = from > width ? from : width;
        width = to > width ? to : width;
    }
    for (size_t i = 0; i < n; i++)
        add_row(pf, &sorted[i], width, out);
}
