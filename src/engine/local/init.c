/* init.c - see init.h. */
#include "engine/local/init.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

struct waiting {
    uint32_t process;
    struct start start;
};

struct init_state { /* of one replica */
    bool running, done;
    size_t at; /* the one that runs */
    struct start start;
    struct waiting *v; /* its processes that wait */
    size_t n, cap;
};

struct inits {
    const struct plan *plan;
    struct inits_ops ops;
    struct init_state *of; /* n_replicas */
};

struct inits *inits_new(const struct plan *plan, const struct inits_ops *ops)
{
    struct inits *in;
    bool any = false;

    for (size_t i = 0; i < plan->spec->n_roles; i++)
        any = any || plan->spec->roles[i].n_init > 0;
    if (!any)
        return NULL;
    in = xcalloc(1, sizeof(*in));
    in->plan = plan;
    in->ops = *ops;
    in->of = xcalloc(plan->n_replicas, sizeof(*in->of));
    return in;
}

void inits_free(struct inits *in)
{
    if (!in)
        return;
    for (uint32_t i = 0; i < in->plan->n_replicas; i++)
        free(in->of[i].v);
    free(in->of);
    free(in);
}

/* All that waited, in the order they came. More may come while they are told. */
static void let_go(struct inits *in, struct init_state *st, const struct observation *failed)
{
    struct waiting *v = st->v;
    size_t n = st->n;

    st->v = NULL;
    st->n = st->cap = 0;
    st->running = false;
    st->done = !failed;
    for (size_t i = 0; i < n; i++) {
        if (failed) {
            struct observation o = *failed;

            o.process = v[i].process;
            o.instance = v[i].start.instance;
            in->ops.failed(in->ops.ctx, &o);
        } else {
            in->ops.start(in->ops.ctx, v[i].process, v[i].start);
        }
    }
    free(v);
}

/* The next one from `at` on that is to run, or the end of waiting. */
static void go_on(struct inits *in, uint32_t replica)
{
    struct init_state *st = &in->of[replica];
    const struct replica *r = &in->plan->replicas[replica];

    while (st->at < r->role->n_init && !plan_runs_init(in->plan, r, st->at, st->start))
        st->at++;
    if (st->at < r->role->n_init)
        in->ops.run(in->ops.ctx, replica, st->at, st->start);
    else
        let_go(in, st, NULL);
}

bool inits_before(struct inits *in, uint32_t process, struct start start)
{
    uint32_t replica = in->plan->processes[process].replica;
    struct init_state *st = &in->of[replica];

    if (in->plan->replicas[replica].role->n_init == 0)
        return false;
    if (st->start.attempt != start.attempt) { /* another attempt: the replica is a new one */
        free(st->v);
        *st = (struct init_state){0};
    }
    if (st->done)
        return false;
    GROW(st->v, st->n, st->cap);
    st->v[st->n++] = (struct waiting){process, start};
    if (st->running)
        return true;
    st->running = true;
    st->at = 0;
    st->start = start;
    go_on(in, replica);
    return true;
}

bool inits_observed(struct inits *in, const struct observation *o)
{
    const struct plan *plan = in->plan;
    uint32_t replica = o->process - plan->n_processes;
    bool ends = o->kind == OBS_EXITED || o->kind == OBS_SPAWN_FAILED;
    struct init_state *st;

    if ((!ends && o->kind != OBS_STARTED) || o->process < plan->n_processes ||
        replica >= plan->n_replicas)
        return false;
    st = &in->of[replica];
    if (!ends || !st->running || o->attempt != st->start.attempt)
        return true;
    if (ending_ok(&o->end)) {
        st->at++;
        go_on(in, replica);
    } else {
        struct observation failed = *o;

        (void)snprintf(failed.end.init, sizeof(failed.end.init), "%s",
                       plan->replicas[replica].role->init[st->at].name);
        let_go(in, st, &failed);
    }
    return true;
}
