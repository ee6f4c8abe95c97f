/* admit.c - the jobs of the daemon as the queue sees them (queue/queue.h), and its decisions
 * carried out.
 *
 * The description is made anew for each decision: jobs are some hundred bytes, and decisions are
 * made when a job comes or goes.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/parts.h"

#define DEFAULT_QUEUE "default"

struct world {
    struct queue_world w;
    struct served **by_index; /* of w.jobs */
};

/* --- describing ------------------------------------------------------------------------------- */

/* One that is not in the configuration any more has no limits, and none of its jobs starts. */
static uint32_t queue_of(struct arena *a, struct queue_world *w, const char *name, bool configured)
{
    for (uint32_t i = 0; i < w->n_queues; i++)
        if (strcmp(w->queues[i].name, name) == 0)
            return i;
    struct queue *v = ARENA_ARRAY(a, struct queue, w->n_queues + 1);
    if (w->n_queues)
        memcpy(v, w->queues, w->n_queues * sizeof(*v));
    v[w->n_queues] = (struct queue){
        .name = name,
        .closed = configured,
        .quota.v = {QUEUE_UNLIMITED, QUEUE_UNLIMITED, QUEUE_UNLIMITED, QUEUE_UNLIMITED},
        .weight = 1};
    w->queues = v;
    return w->n_queues++;
}

/* What it holds, and whether that may change. */
enum queue_state admit_state(const struct served *s)
{
    if (s->act && !s->places) /* cancelled before its start */
        return QUEUE_PAUSED;
    if (s->act && s->row.standing == STANDING_RELEASED)
        return s->stopping || s->row.paused ? QUEUE_PAUSED : QUEUE_WAITING;
    if (s->act && s->row.standing == STANDING_YIELDS)
        return QUEUE_STOPPING;
    if (s->act)
        return s->stopping ? QUEUE_STOPPING : QUEUE_RUNNING;
    return s->row.paused ? QUEUE_PAUSED : QUEUE_WAITING;
}

/* How the jobs that it waits for stand. One that is not known any more has ended, who knows how. */
const struct queue_after *admit_afters(struct arena *a, const struct served *s)
{
    const struct common *c = s->common;
    struct queue_after *v = c->n_afters ? ARENA_ARRAY(a, struct queue_after, c->n_afters) : NULL;

    for (uint32_t i = 0; i < c->n_afters; i++) {
        const struct served *other = daemon_number(s->d, (int64_t)c->afters[i].id);

        v[i] = c->afters[i];
        v[i].state = other && other->row.state != STORED_ENDED ? QUEUE_AFTER_OPEN
                     : other && other->row.exit_code == 0      ? QUEUE_AFTER_SUCCEEDED
                                                               : QUEUE_AFTER_FAILED;
    }
    return v;
}

/* Jobs that were requeued come after those that were submitted before that. */
static uint64_t order_of(const struct served *s)
{
    return s->row.turn ? (uint64_t)s->row.turn * 2 + 1 : (uint64_t)s->row.number * 2;
}

/* The lists of waiting jobs are made for each decision. */
static void describe_queues(const struct daemon *d, struct arena *a, struct queue_world *w)
{
    const struct daemon_config *c = &d->config;

    if (c->n_queues == 0) {
        (void)queue_of(a, w, DEFAULT_QUEUE, false);
        return;
    }
    w->queues = ARENA_ARRAY(a, struct queue, c->n_queues);
    memcpy(w->queues, c->queues, c->n_queues * sizeof(*w->queues));
    w->n_queues = c->n_queues;
}

static uint32_t queue_of_job(const struct daemon *d, struct arena *a, struct queue_world *w,
                             const struct served *s)
{
    const char *name = config_queue(d, s->row.queue, NULL);

    return queue_of(a, w, name ? name : s->row.queue, d->config.n_queues > 0);
}

static void describe(struct daemon *d, struct arena *a, bool explain, struct world *ret)
{
    struct queue_job *jobs = ARENA_ARRAY(a, struct queue_job, d->n_open + 1);
    size_t kept = 0;

    *ret = (struct world){.w = {.machines = &d->machine,
                                .n_machines = 1,
                                .jobs = jobs,
                                .promised = d->promised,
                                .explain = explain},
                          .by_index = ARENA_ARRAY(a, struct served *, d->n_open + 1)};
    ret->w.preemption = d->config.preemption;
    describe_queues(d, a, &ret->w);
    for (size_t i = 0; i < d->n_open; i++) {
        struct served *s = d->open[i];

        if (s->row.state == STORED_ENDED && !s->act)
            continue;
        d->open[kept++] = s;
        if (s->is_new || (s->act && s->act->told)) /* its places are free already */
            continue;
        jobs[ret->w.n_jobs] = (struct queue_job){.id = (uint64_t)s->row.number,
                                                 .order = order_of(s),
                                                 .queue = queue_of_job(d, a, &ret->w, s),
                                                 .priority = s->row.priority,
                                                 .state = admit_state(s),
                                                 .n_roles = s->common->n_roles,
                                                 .roles = s->common->roles,
                                                 .n_afters = s->common->n_afters,
                                                 .afters = admit_afters(a, s),
                                                 .max_duration = s->common->max_duration,
                                                 .started = s->since ? s->since : s->row.started,
                                                 .places = s->places};
        ret->by_index[ret->w.n_jobs++] = s;
    }
    d->n_open = kept;
    queue_arrange(a, &ret->w);
}

/* --- deciding --------------------------------------------------------------------------------- */

void admit_places(struct served *s, const struct queue_place *places)
{
    free(s->places);
    s->places = xcalloc(s->common->n_replicas + 1, sizeof(*s->places));
    if (s->common->n_replicas)
        memcpy(s->places, places, s->common->n_replicas * sizeof(*s->places));
}

/* A job that waits for one that has failed never starts: it is ended. */
static void end_hopeless(struct daemon *d, const struct world *w, const struct queue_decisions *dec)
{
    for (uint32_t i = 0; i < dec->n_waits; i++)
        if (dec->waits[i].why == QUEUE_WHY_AFTER_FAILED) {
            const struct served *other = daemon_number(d, (int64_t)dec->waits[i].other);
            struct err e;

            (void)err_set(&e, -ECANCELED, "job %s, which it waits for, did not succeed",
                          other ? other->row.id : "(deleted)");
            served_refuse(w->by_index[dec->waits[i].job], &e);
        }
}

static void preempt_for(struct served *s, const struct served *other, bool requeue)
{
    auto_strbuf struct strbuf why = STRBUF_INIT;

    strbuf_addf(&why, "preempted by %s (%s)", other->row.id, other->row.name);
    preempt_stop(s, why.buf, requeue);
}

/* A maximum duration is a deadline of the job itself, which ends it at about the same time. */
static void carry_out_stops(const struct world *w, const struct queue_decisions *dec)
{
    for (uint32_t i = 0; i < dec->n_stops; i++) {
        const struct queue_stop *stop = &dec->stops[i];

        if (stop->why == QUEUE_EXCEEDED)
            w->by_index[stop->job]->stopping = true;
        else
            preempt_for(w->by_index[stop->job], w->by_index[stop->other],
                        stop->why == QUEUE_PREEMPT_TO_REQUEUE);
    }
}

static bool anybody_waits_for_another(const struct daemon *d)
{
    for (size_t i = 0; i < d->n_open; i++)
        if (d->open[i]->row.state == STORED_WAITING && d->open[i]->common->n_afters > 0)
            return true;
    return false;
}

void admit(struct daemon *d, bool all)
{
    auto_arena struct arena *a = arena_new();
    struct world w;
    struct queue_decisions dec;
    ns_t now = clock_real();

    d->queue_changed = false;
    if (d->member) {
        member_admit(d);
        return;
    }
    describe(d, a, anybody_waits_for_another(d), &w);
    queue_decide(&w.w, now, a, &dec);
    d->promised = dec.promised;
    d->queue_wake = dec.wake;
    for (uint32_t i = 0; i < dec.n_starts; i++) {
        struct served *s = w.by_index[dec.starts[i].job];

        if (s->act && !all) {
            d->queue_changed = true;
            continue;
        }
        admit_places(s, dec.starts[i].places);
        if (s->act)
            preempt_resume(s);
        else
            served_start(s);
    }
    if (all)
        carry_out_stops(&w, &dec);
    d->queue_changed |= !all && dec.n_stops > 0;
    end_hopeless(d, &w, &dec);
}

bool admit_never(struct served *s, struct strbuf *why)
{
    auto_arena struct arena *a = arena_new();
    struct daemon alone = {
        .machine = s->d->machine, .config = s->d->config, .open = &s, .n_open = 1};
    struct world w;
    struct queue_decisions dec;

    describe(&alone, a, true, &w);
    queue_decide(&w.w, clock_real(), a, &dec);
    if (dec.n_waits == 0 || dec.waits[0].why < QUEUE_WHY_NEVER)
        return false;
    queue_wait_sentence(&w.w, &dec.waits[0], why);
    return true;
}

void admit_restore(struct served *s)
{
    auto_arena struct arena *a = arena_new();
    struct submission sub = {0};

    free(s->places); /* of a job that is planned again */
    s->places = xcalloc(s->common->n_replicas + 1, sizeof(*s->places));
    if (site_read(a, s->row.site, &sub, NULL) < 0 || !sub.gpus)
        return;
    for (uint32_t i = 0; i < s->common->n_replicas && sub.gpus[i]; i++)
        for (const char *p = sub.gpus[i]; *p;) {
            char *end;
            unsigned long bit = strtoul(p, &end, 10);

            if (end == p || bit >= LIMIT_QUEUE_GPUS)
                break;
            s->places[i].gpus |= UINT64_C(1) << bit;
            p = end + (*end == ',');
        }
}

/* --- explaining ------------------------------------------------------------------------------- */

/* The queue calls jobs by their numbers, people by their ids. */
static void name_other(struct daemon *d, uint64_t number, struct strbuf *text)
{
    const struct served *other = number ? daemon_number(d, (int64_t)number) : NULL;
    char word[32];
    const char *at;

    (void)snprintf(word, sizeof(word), "job %llu", (unsigned long long)number);
    if (!other || !(at = strstr(text->buf, word)))
        return;
    auto_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_add(&out, text->buf, (size_t)(at - text->buf));
    strbuf_addf(&out, "job %s", other->row.id);
    strbuf_addstr(&out, at + strlen(word));
    strbuf_truncate(text, 0);
    strbuf_add(text, out.buf, out.len);
}

void admit_explain(struct daemon *d, const struct served *only,
                   void (*fn)(void *ctx, struct served *s, const char *why), void *ctx)
{
    auto_arena struct arena *a = arena_new();
    struct world w;
    struct queue_decisions dec;

    if (d->member) {
        member_explain(d, fn, ctx);
        return;
    }
    describe(d, a, true, &w);
    queue_decide(&w.w, clock_real(), a, &dec);
    for (uint32_t i = 0; i < dec.n_waits; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        struct served *s = w.by_index[dec.waits[i].job];

        if ((only && s != only) || (s->act && dec.waits[i].why == QUEUE_WHY_PAUSED))
            continue;
        if (!config_queue(d, s->row.queue, NULL)) {
            strbuf_addf(&text, "queue \"%s\" is not in the configuration", s->row.queue);
        } else {
            queue_wait_sentence(&w.w, &dec.waits[i], &text);
            name_other(d, dec.waits[i].other, &text);
        }
        fn(ctx, s, text.buf);
    }
}
