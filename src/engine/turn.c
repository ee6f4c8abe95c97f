/* turn.c - see turn.h. The only place where decisions of the core reach an engine. */
#include "engine/turn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Rounds of deciding at one time. The core needs three; one that never came to an end would keep
 * all other jobs of the loop waiting. */
enum { MAX_ROUNDS = 16 };

struct turn {
    struct job *job;
    struct journal *journal;
    struct engine *engine;
    struct turn_host host;
    struct events folded;  /* and not committed */
    struct arena *texts;   /* of these; NULL: they have none */
    struct events decided; /* and not carried out; without their texts */
};

struct turn *turn_new(struct job *job, struct journal *jn, struct engine *en,
                      const struct turn_host *host)
{
    struct turn *t = xcalloc(1, sizeof(*t));

    *t = (struct turn){.job = job, .journal = jn, .engine = en, .host = *host};
    return t;
}

void turn_free(struct turn *t)
{
    if (!t)
        return;
    events_release(&t->folded);
    events_release(&t->decided);
    arena_free(t->texts);
    free(t);
}

/* --- fold and commit -------------------------------------------------------------------------- */

/* Whoever reported it keeps its texts no longer than the call. */
static const char *keep(struct turn *t, const char *text)
{
    if (!text)
        return NULL;
    if (!t->texts)
        t->texts = arena_new();
    return arena_strdup(t->texts, text);
}

void turn_event(struct turn *t, const struct event *ev)
{
    struct event kept = *ev;

    journal_add(t->journal, t->job, ev);
    job_apply(t->job, ev);
    kept.log = keep(t, ev->log);
    kept.text = keep(t, ev->text);
    events_add(&t->folded, &kept);
}

static void fold(struct turn *t, const struct events *es)
{
    for (size_t i = 0; i < es->n; i++)
        turn_event(t, &es->v[i]);
}

void turn_observe(struct turn *t, const struct observation *o)
{
    struct events es = {0};

    job_observe(t->job, o, &es);
    fold(t, &es);
    events_release(&es);
}

void turn_missing(struct turn *t, ns_t now)
{
    const struct plan *plan = t->job->plan;

    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];
        const struct missing *m = plan_missing(plan, p);
        struct observation o = {
            .kind = OBS_SPAWN_FAILED,
            .at = now,
            .process = i,
            .end = {
                .known = true, .code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1}};

        if (!m)
            continue;
        o.end.exec_errno = m->code;
        (void)snprintf(o.end.exec_what, sizeof(o.end.exec_what), "exec");
        if (m->init >= 0)
            (void)snprintf(o.end.init, sizeof(o.end.init), "%s",
                           plan->replicas[p->replica].role->init[m->init].name);
        turn_observe(t, &o);
    }
}

/* What a watcher reports because of an event belongs to the next batch. */
static void tell_watchers(struct turn *t)
{
    struct events told = t->folded;
    struct arena *texts = t->texts;

    t->folded = (struct events){0};
    t->texts = NULL;
    for (size_t i = 0; t->host.event && i < told.n; i++)
        t->host.event(t->host.ctx, &told.v[i]);
    events_release(&told);
    arena_free(texts);
}

void turn_commit(struct turn *t)
{
    struct err e;

    if (journal_commit(t->journal, &e) < 0 && t->host.commit_failed)
        t->host.commit_failed(t->host.ctx, &e);
    if (t->folded.n > 0)
        tell_watchers(t);
}

/* --- decide and carry out --------------------------------------------------------------------- */

static void carry_out(struct turn *t, const struct event *ev)
{
    struct engine *en = t->engine;
    const struct engine_ops *ops = en->ops;

    switch (ev->type) {
    case EVENT_OPEN:
        ops->open(en, ev->replica, t->job->attempt);
        break;
    case EVENT_START:
    case EVENT_RESTART:
        ops->start(en, ev->process, job_start(t->job, ev->process));
        break;
    case EVENT_ATTEMPT:
    case EVENT_PAUSED:
        ops->clear(en);
        break;
    case EVENT_STOP:
        ops->signal(en, SIGTERM);
        break;
    case EVENT_HELD:
        ops->hold(en);
        break;
    case EVENT_KILL:
        ops->kill(en);
        break;
    case EVENT_KILL_ROLE:
        ops->kill_role(en, ev->role);
        break;
    case EVENT_ENDED:
        ops->release(en);
        break;
    default:
        break;
    }
}

bool turn_decide(struct turn *t, ns_t now)
{
    struct events es = {0};

    job_decide(t->job, now, &es);
    fold(t, &es);
    for (size_t i = 0; i < es.n; i++)
        events_add(&t->decided, &es.v[i]); /* their texts are not looked at again */
    events_release(&es);
    return t->folded.n > 0 || t->decided.n > 0;
}

/* False: nothing was decided. An engine may report something at once, but decides nothing. */
static bool carry_out_decided(struct turn *t)
{
    struct events es = t->decided;

    t->decided = (struct events){0};
    for (size_t i = 0; i < es.n; i++)
        carry_out(t, &es.v[i]);
    bool any = es.n > 0;
    events_release(&es);
    return any;
}

bool turn_is_due(const struct turn *t)
{
    return t->decided.n > 0;
}

ns_t turn_act(struct turn *t, ns_t now)
{
    tell_watchers(t);
    bool any = carry_out_decided(t);

    if (any && t->engine->ops->commit)
        t->engine->ops->commit(t->engine);
    return any || t->folded.n > 0 ? now : job_wake(t->job);
}

ns_t turn_run(struct turn *t, ns_t now)
{
    int rounds = 0;

    do {
        turn_commit(t); /* also what the engine has reported at once */
        (void)turn_decide(t, now);
        turn_commit(t);
    } while (carry_out_decided(t) && ++rounds < MAX_ROUNDS);
    if (rounds > 0 && t->engine->ops->commit)
        t->engine->ops->commit(t->engine);
    return rounds < MAX_ROUNDS ? job_wake(t->job) : now;
}

void turn_catch_up(struct turn *t)
{
    const struct job *job = t->job;
    const struct plan *plan = job->plan;

    if (!job->begun)
        carry_out(t, &(struct event){.type = EVENT_ATTEMPT});
    for (uint32_t i = 0; job->gated && i < plan->n_replicas; i++)
        if (job->gates[i] == GATE_ASKED)
            carry_out(t, &(struct event){.type = EVENT_OPEN, .replica = i});
    for (uint32_t i = 0; i < plan->n_processes; i++)
        if (job->procs[i].state == PROC_STARTING)
            carry_out(t, &(struct event){.type = EVENT_START, .process = i});
    if (job->phase == JOB_STOPPING)
        carry_out(t, &(struct event){.type = EVENT_STOP});
    for (uint32_t k = 0; job->phase == JOB_STOPPING && k < plan->spec->n_roles; k++)
        if (job->role_killed[k])
            carry_out(t, &(struct event){.type = EVENT_KILL_ROLE, .role = k});
    if (job->phase == JOB_KILLING)
        carry_out(t, &(struct event){.type = EVENT_KILL});
    if (job->phase == JOB_HELD)
        carry_out(t, &(struct event){.type = EVENT_HELD});
    if (job->phase == JOB_ENDED)
        carry_out(t, &(struct event){.type = EVENT_ENDED});
    if (t->engine->ops->commit)
        t->engine->ops->commit(t->engine);
}
