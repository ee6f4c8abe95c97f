/* play.c - the loop of a simulation: the real core, the real journal, a world that is a story.
 *
 * As run/driver.c does it: observations become events, events are in the journal before anything is
 * done because of them. Between any two events, and between any two things done, the core may crash:
 * then a part of what was being written is in the journal, and a new core goes on from its text.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/sim/inside.h"
#include "journal/journal.h"

enum {
    MAX_CRASHES = 40,
    MAX_ROUNDS = 4, /* of deciding at one time */
    MAX_EVENTS = 100000,
    AGAIN_MS = 60000,  /* between two times that somebody lets it go on */
    SLACK_MS = 300000, /* for reports that come late, after the last cancel */
};

/* --- the queue -------------------------------------------------------------------------------- */

static bool before(const struct item *a, const struct item *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void sim_push(struct sim *s, int64_t in_ms, struct item item)
{
    item.at = s->now + in_ms * NS_PER_MS;
    item.seq = s->seq++;
    item.epoch = s->epoch;
    GROW(s->queue, s->n_queue, s->cap_queue);
    size_t i = s->n_queue++;
    for (; i > 0 && before(&item, &s->queue[(i - 1) / 2]); i = (i - 1) / 2)
        s->queue[i] = s->queue[(i - 1) / 2];
    s->queue[i] = item;
}

bool sim_pop(struct sim *s, struct item *ret)
{
    if (s->n_queue == 0)
        return false;
    *ret = s->queue[0];
    struct item last = s->queue[--s->n_queue];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < s->n_queue; i = c) {
        if (c + 1 < s->n_queue && before(&s->queue[c + 1], &s->queue[c]))
            c++;
        if (!before(&s->queue[c], &last))
            break;
        s->queue[i] = s->queue[c];
    }
    s->queue[i] = last;
    return true;
}

void sim_fault(struct sim *s, const char *fmt, ...)
{
    char text[128];
    va_list ap;

    if (!s->watch || !s->watch->fault)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->watch->fault(s->watch->ctx, s->now, text);
}

void sim_break(struct sim *s, const char *fmt, ...)
{
    char *out = s->result->broken;
    va_list ap;

    if (*out)
        return;
    int n = snprintf(out, sizeof(s->result->broken),
                     "at %lld ms: ", (long long)((s->now - s->began) / NS_PER_MS));
    va_start(ap, fmt);
    (void)vsnprintf(out + n, sizeof(s->result->broken) - (size_t)n, fmt, ap);
    va_end(ap);
}

/* --- crash and replay ------------------------------------------------------------------------- */

static void count_log(struct sim *s)
{
    memset(s->starts, 0, s->plan->n_processes * sizeof(*s->starts));
    memset(s->ends, 0, s->plan->n_processes * sizeof(*s->ends));
    s->cancels = 0;
    s->cancelled_at = 0;
    for (size_t i = 0; i < s->log.n; i++)
        sim_count(s, &s->log.v[i]);
}

void sim_count(struct sim *s, const struct event *ev)
{
    if (ev->type == EVENT_ATTEMPT || ev->type == EVENT_PAUSED) {
        memset(s->starts, 0, s->plan->n_processes * sizeof(*s->starts));
        memset(s->ends, 0, s->plan->n_processes * sizeof(*s->ends));
    }
    if (ev->type == EVENT_START || ev->type == EVENT_RESTART)
        s->starts[ev->process]++;
    if (ev->type == EVENT_EXITED || ev->type == EVENT_START_FAILED)
        s->ends[ev->process]++;
    if (ev->type == EVENT_CANCEL && s->cancels++ == 0)
        s->cancelled_at = ev->at;
}

/* What is new in the journal's text goes into the shadow. */
static void follow_journal(struct sim *s)
{
    struct err e;

    while (s->n_followed < s->journal.len) {
        const char *line = s->journal.buf + s->n_followed;
        const char *end = memchr(line, '\n', s->journal.len - s->n_followed);
        struct event ev;

        if (!end)
            break;
        if (journal_read_line(s->texts, line, (size_t)(end - line), &ev, &e) < 0 ||
            !journal_fits(s->shadow, &ev)) {
            sim_break(s, "the journal cannot be read back: %.120s", line);
            return;
        }
        job_apply(s->shadow, &ev);
        s->n_followed += (size_t)(end - line) + 1;
        s->n_committed++;
    }
}

static void compare(struct sim *s, const char *when)
{
    const char *field = sim_difference(s->job, s->shadow);

    if (field)
        sim_break(s, "%s: replay gives another %s", when, field);
}

static void crash(struct sim *s)
{
    const struct sim_faults *f = &s->story->faults;
    size_t written = rng_chance(&s->rng, 500) ? rng_below(&s->rng, (uint32_t)s->batch.len + 1) : 0;
    size_t whole = 0;
    struct err e;
    uint32_t given = s->cancels;
    int64_t down = f->down_ms > 0 ? rng_between(&s->rng, 0, f->down_ms) : 0;

    s->result->crashes++;
    strbuf_add(&s->journal, s->batch.buf, written);
    strbuf_truncate(&s->batch, 0);
    job_free(s->job);
    s->job = job_new(s->plan, s->rules);
    if (journal_replay(s->job, s->journal.buf, s->journal.len, &whole, &e) < 0)
        sim_break(s, "the journal cannot be replayed: %s", e.text);
    strbuf_truncate(&s->journal, whole);
    follow_journal(s);
    compare(s, "after a crash");
    sim_fault(s, "the core crashes; %zu of its events are not in the journal",
              s->log.n - s->n_committed);
    s->log.n = s->n_committed;
    count_log(s);
    s->down = true;
    s->back_at = s->now + down * NS_PER_MS;
    s->down_total += down * NS_PER_MS;
    sim_push(s, down, (struct item){.kind = ITEM_BACK});
    /* who asked and had no answer asks again */
    for (uint32_t i = s->cancels; i < given; i++)
        sim_push(s, down, (struct item){.kind = ITEM_CANCEL});
    if (s->pause != s->job->pause_wanted)
        sim_push(s, down, (struct item){.kind = s->pause ? ITEM_PAUSE : ITEM_RESUME});
}

/* True: the core is gone. */
static bool crashes(struct sim *s)
{
    if (s->result->crashes >= MAX_CRASHES || !rng_chance(&s->rng, s->story->faults.crash))
        return false;
    crash(s);
    return true;
}

/* --- one turn --------------------------------------------------------------------------------- */

/* False: the core crashed on the way. */
static bool fold(struct sim *s, const struct events *es)
{
    for (size_t i = 0; i < es->n; i++) {
        const struct event *ev = &es->v[i];
        check_event(s, ev);
        journal_line(&s->batch, s->job, ev);
        job_apply(s->job, ev);
        events_add(&s->log, ev);
        sim_count(s, ev);
        s->result->events++;
        if (s->watch && s->watch->event)
            s->watch->event(s->watch->ctx, s->job, ev, s->now);
        if (crashes(s))
            return false;
    }
    return true;
}

static bool commit(struct sim *s)
{
    if (s->batch.len == 0)
        return true;
    strbuf_add(&s->journal, s->batch.buf, s->batch.len);
    strbuf_truncate(&s->batch, 0);
    follow_journal(s);
    compare(s, "live");
    return !crashes(s);
}

static void carry_out(struct sim *s, const struct event *ev)
{
    const struct engine_ops *ops = s->engine.ops;

    if (ev->type == EVENT_OPEN)
        ops->open(&s->engine, ev->replica, s->job->attempt);
    else if (ev->type == EVENT_START || ev->type == EVENT_RESTART)
        ops->start(&s->engine, ev->process, job_start(s->job, ev->process));
    else if (ev->type == EVENT_ATTEMPT || ev->type == EVENT_PAUSED)
        ops->clear(&s->engine);
    else if (ev->type == EVENT_HELD)
        ops->hold(&s->engine);
    else if (ev->type == EVENT_STOP)
        ops->signal(&s->engine, SIGTERM);
    else if (ev->type == EVENT_KILL)
        ops->kill(&s->engine);
    else if (ev->type == EVENT_ENDED)
        ops->release(&s->engine);
}

/* Decisions that are in the journal may not have been carried out: a new core does it again. */
static void catch_up(struct sim *s)
{
    const struct job *job = s->job;

    if (!job->begun)
        carry_out(s, &(struct event){.type = EVENT_ATTEMPT});
    for (uint32_t i = 0; job->gated && i < s->plan->n_replicas; i++)
        if (job->gates[i] == GATE_ASKED)
            carry_out(s, &(struct event){.type = EVENT_OPEN, .replica = i});
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (job->procs[i].state == PROC_STARTING)
            carry_out(s, &(struct event){.type = EVENT_START, .process = i});
    if (job->phase == JOB_STOPPING)
        carry_out(s, &(struct event){.type = EVENT_STOP});
    if (job->phase == JOB_KILLING)
        carry_out(s, &(struct event){.type = EVENT_KILL});
    if (job->phase == JOB_ENDED)
        carry_out(s, &(struct event){.type = EVENT_ENDED});
}

/* Asks twice: a question changes nothing. */
static void decide(struct sim *s, struct events *ret)
{
    struct events again = {0};

    job_decide(s->job, s->now, ret);
    job_decide(s->job, s->now, &again);
    bool same = ret->n == again.n;
    for (size_t i = 0; same && i < again.n; i++)
        same = again.v[i].type == ret->v[i].type && again.v[i].process == ret->v[i].process &&
               again.v[i].replica == ret->v[i].replica && again.v[i].stop == ret->v[i].stop;
    if (!same)
        sim_break(s, "decide, asked twice, gives two answers");
    events_release(&again);
}

static size_t turn(struct sim *s)
{
    size_t n_events = 0;
    bool up = commit(s), idle = false;

    for (int n = 0; up && !idle; n++) {
        struct events es = {0};
        decide(s, &es);
        idle = es.n == 0;
        n_events += es.n;
        up = fold(s, &es) && commit(s);
        for (size_t i = 0; up && i < es.n; i++) {
            carry_out(s, &es.v[i]);
            up = !crashes(s);
        }
        events_release(&es);
        if (n == MAX_ROUNDS && !idle) {
            sim_break(s, "decide has always something more to say");
            break;
        }
    }
    if (up)
        check_turn(s);
    return n_events;
}

static void observed(struct sim *s, const struct observation *o)
{
    struct events es = {0};

    job_observe(s->job, o, &es);
    bool up = fold(s, &es);
    events_release(&es);
    /* what arrives together is one turn */
    bool more = s->n_queue > 0 && s->queue[0].at == s->now && s->queue[0].kind == ITEM_DELIVER;
    if (up && !more)
        (void)turn(s);
}

/* Who finds nobody there comes again when somebody is. */
static void ask_later(struct sim *s, enum item_kind kind)
{
    sim_push(s, (s->back_at - s->now) / NS_PER_MS, (struct item){.kind = kind});
}

static void cancel(struct sim *s, int sig)
{
    struct observation o = {.kind = OBS_CANCEL, .at = s->now, .signal = sig};

    if (s->down)
        ask_later(s, ITEM_CANCEL);
    else
        observed(s, &o);
}

static void ask_pause(struct sim *s, bool on)
{
    struct observation o = {.kind = on ? OBS_PAUSE : OBS_RESUME, .at = s->now};

    s->pause = on;
    if (s->down)
        ask_later(s, on ? ITEM_PAUSE : ITEM_RESUME);
    else
        observed(s, &o);
}

/* Does it wait for something that will come, or for somebody? */
static bool may_wait(const struct sim *s)
{
    const struct job *job = s->job;

    return s->down || s->story->faults.crash > 0 || job->phase == JOB_PAUSED ||
           job->phase == JOB_HELD || job->debugging || job->n_backoff > 0 ||
           s->now <= job->begin_at || s->plan->spec->retry.max < 0;
}

static void story_ends(struct sim *s)
{
    if (world_waits_for_nothing(s) && !may_wait(s))
        sim_break(s, "nothing lives that could still end, and the job goes on");
    s->limit = s->now + s->down_total +
               (s->rules->grace_ms + LIMIT_KILL_WAIT_MS + SLACK_MS +
                MAX_CRASHES * s->story->faults.down_ms) *
                   NS_PER_MS;
    sim_fault(s, "this is how it stays: the simulation ends it");
    cancel(s, SIGTERM);
}

static void happens(struct sim *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_DELIVER:
        if (!s->down)
            observed(s, &item->o);
        break;
    case ITEM_RESYNC:
        if (!s->down)
            sim_tell_all(s);
        sim_push(s, s->story->faults.resync_ms, (struct item){.kind = ITEM_RESYNC});
        break;
    case ITEM_CANCEL:
        cancel(s, s->story->cancel_signal ? s->story->cancel_signal : SIGTERM);
        break;
    case ITEM_PAUSE:
    case ITEM_RESUME:
        ask_pause(s, item->kind == ITEM_PAUSE);
        if (item->kind == ITEM_RESUME && !s->down && (s->rules->hold || s->plan->spec->debug))
            sim_push(s, AGAIN_MS, *item); /* what it waits for next may be that again */
        break;
    case ITEM_HANG:
        if (!s->down)
            observed(s, &(struct observation){.kind = OBS_HUNG,
                                              .at = s->now,
                                              .text = "nothing is written and nothing moves"});
        break;
    case ITEM_BACK:
        s->down = false;
        sim_fault(s, "the core is back");
        catch_up(s);
        sim_tell_all(s);
        (void)turn(s);
        break;
    case ITEM_END:
        story_ends(s);
        break;
    default:
        world_happens(s, item);
        break;
    }
}

/* --- from beginning to end -------------------------------------------------------------------- */

static void begin(struct sim *s)
{
    for (int i = 0; i < 2; i++)
        if (s->story->cancel_ms[i] >= 0)
            sim_push(s, s->story->cancel_ms[i], (struct item){.kind = ITEM_CANCEL});
    if (s->story->pause_ms >= 0)
        sim_push(s, s->story->pause_ms, (struct item){.kind = ITEM_PAUSE});
    if (s->story->resume_ms >= 0)
        sim_push(s, s->story->resume_ms, (struct item){.kind = ITEM_RESUME});
    if (s->story->hang_ms >= 0)
        sim_push(s, s->story->hang_ms, (struct item){.kind = ITEM_HANG});
    sim_push(s, s->story->end_ms, (struct item){.kind = ITEM_END});
    s->pause = s->job->pause_wanted;
    /* without its first line there is no job to come back to: no crash before it is written */
    struct event created = {
        .type = EVENT_CREATED, .at = s->now, .random = (uint32_t)s->story->seed};
    journal_line(&s->journal, s->job, &created);
    job_apply(s->job, &created);
    events_add(&s->log, &created);
    follow_journal(s);
    if (s->watch && s->watch->event)
        s->watch->event(s->watch->ctx, s->job, &created, s->now);
    (void)turn(s);
}

/* What is due has to be done before anything else happens: nobody else may come. */
static void check_awake(struct sim *s, ns_t next)
{
    const struct job *job = s->job;
    ns_t due = job->phase == JOB_STOPPING  ? job->stop_at + s->rules->grace_ms * NS_PER_MS
               : job->phase == JOB_KILLING ? job->kill_at + LIMIT_KILL_WAIT_MS * NS_PER_MS
                                           : next;

    if (!s->down && next > due)
        sim_break(s, "it sleeps, and something was due");
}

static void loop(struct sim *s)
{
    while (!s->released && !*s->result->broken) {
        ns_t wake = s->down ? 0 : job_wake(s->job);
        struct item item;

        if (s->result->events > MAX_EVENTS) {
            sim_break(s, "so many events that it will never end");
        } else if (s->limit && s->now > s->limit) {
            sim_break(s, "cancelled, and still not ended");
        } else if (wake && (s->n_queue == 0 || wake <= s->queue[0].at)) {
            s->now = wake > s->now ? wake : s->now;
            if (turn(s) == 0 && !s->down)
                sim_break(s, "woken, and nothing is due");
        } else if (sim_pop(s, &item)) {
            check_awake(s, item.at);
            s->now = item.at;
            happens(s, &item);
        } else {
            sim_break(s, "nothing will ever happen again");
        }
    }
    if (!*s->result->broken)
        check_end(s);
}

void sim_play(const struct plan *plan, const struct job_rules *rules, const struct sim_story *story,
              const struct sim_watch *watch, struct sim_result *ret)
{
    struct sim s = {.plan = plan,
                    .rules = rules,
                    .story = story,
                    .watch = watch,
                    .result = ret,
                    .rng = {story->seed},
                    .now = SIM_BEGIN_NS,
                    .began = SIM_BEGIN_NS,
                    .job = job_new(plan, rules),
                    .shadow = job_new(plan, rules),
                    .texts = arena_new(),
                    .journal = STRBUF_INIT,
                    .batch = STRBUF_INIT};

    *ret = (struct sim_result){0};
    s.starts = xcalloc(plan->n_processes, sizeof(*s.starts));
    s.ends = xcalloc(plan->n_processes, sizeof(*s.ends));
    world_init(&s);
    begin(&s);
    loop(&s);
    s.engine.ops->free(&s.engine);
    ret->job = s.job;
    job_free(s.shadow);
    arena_free(s.texts);
    strbuf_release(&s.journal);
    strbuf_release(&s.batch);
    events_release(&s.log);
    free(s.starts);
    free(s.ends);
    free(s.queue);
}
