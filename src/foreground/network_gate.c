/* network_gate.c - see network_gate.h. */
#include "foreground/network_gate.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"
#include "engine/preflight.h"

struct network_gate {
    const struct plan *plan;
    struct network_gate_host host;
    struct engine *engine;
    uint32_t attempt;
    struct preflight *preflight; /* of this attempt; NULL: over, or not begun */
    struct observation *held;    /* by replica; kind OBS_OPENED: it has come */
    bool *came;
    uint32_t n_came;
};

struct network_gate *network_gate_new(const struct plan *plan, const struct network_gate_host *host)
{
    struct network_gate *g = xcalloc(1, sizeof(*g));

    *g = (struct network_gate){.plan = plan, .host = *host};
    g->held = xcalloc(plan->n_replicas + 1, sizeof(*g->held));
    g->came = xcalloc(plan->n_replicas + 1, sizeof(*g->came));
    return g;
}

void network_gate_free(struct network_gate *g)
{
    if (!g)
        return;
    preflight_free(g->preflight);
    free(g->held);
    free(g->came);
    free(g);
}

static void let_go(struct network_gate *g)
{
    for (uint32_t i = 0; i < g->plan->n_replicas; i++)
        g->host.observe(g->host.ctx, &g->held[i]);
}

/* extra: what may be the reason, or NULL. */
static void refuse(struct network_gate *g, const char *extra)
{
    auto_strbuf struct strbuf why = STRBUF_INIT;
    uint32_t to;
    int32_t from = preflight_failed(g->preflight, &to);
    struct observation o = {.kind = OBS_REFUSED,
                            .at = clock_run(),
                            .attempt = g->attempt,
                            .replica = (uint32_t)from,
                            .end = ENDING_UNKNOWN};

    preflight_why(g->preflight, &why);
    if (extra)
        strbuf_addf(&why, "; %s", extra);
    preflight_free(g->preflight);
    g->preflight = NULL;
    o.end.fate = CAUSE_NOT_READY;
    o.text = why.buf;
    g->host.observe(g->host.ctx, &o);
}

static void ask(void *ctx, const struct net_try *t)
{
    struct network_gate *g = ctx;

    g->engine->ops->try(g->engine, t);
}

static void done(void *ctx)
{
    struct network_gate *g = ctx;
    auto_strbuf struct strbuf table = STRBUF_INIT;
    uint32_t to;

    g->engine->ops->try_end(g->engine);
    preflight_table(g->preflight, &table);
    g->host.show(g->host.ctx, table.buf);
    if (preflight_failed(g->preflight, &to) < 0)
        let_go(g);
    else if (g->engine->ops->explain_unreachable)
        g->engine->ops->explain_unreachable(g->engine);
    else
        refuse(g, NULL);
}

static void begin(struct network_gate *g)
{
    const struct preflight_host host = {.ask = ask, .done = done, .ctx = g};
    unsigned char token[WIRE_TOKEN] = {0};

    (void)!getrandom(token, sizeof(token), 0);
    preflight_free(g->preflight);
    g->preflight = preflight_new(g->plan, token, &host);
    preflight_begin(g->preflight);
}

/* A further attempt has other replicas. */
static void begin_attempt(struct network_gate *g, uint32_t attempt)
{
    preflight_free(g->preflight);
    g->preflight = NULL;
    g->attempt = attempt;
    g->n_came = 0;
    for (uint32_t i = 0; i < g->plan->n_replicas; i++)
        g->came[i] = false;
}

bool network_gate_holds(struct network_gate *g, struct engine *en, const struct observation *o)
{
    if (o->kind != OBS_OPENED || o->replica >= g->plan->n_replicas)
        return false;
    g->engine = en;
    if (o->attempt != g->attempt)
        begin_attempt(g, o->attempt);
    if (g->came[o->replica])
        return true;
    g->came[o->replica] = true;
    g->held[o->replica] = *o;
    if (++g->n_came == g->plan->n_replicas)
        begin(g);
    return true;
}

void network_gate_tried(struct network_gate *g, const struct net_tried *t)
{
    if (g->preflight)
        preflight_tried(g->preflight, t);
}

void network_gate_explained(struct network_gate *g, const char *text)
{
    if (g->preflight)
        refuse(g, text);
}
