/* play.c - the loop of a simulation: simulated time, and whatever happens next in it.
 *
 * The core and its turn are in core.c, the world that a story is about in world.c.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/sim/inside.h"
#include "engine/turn.h"
#include "journal/journal.h"

enum {
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

/* --- what happens ----------------------------------------------------------------------------- */

/* Who finds nobody there comes again when somebody is. */
static void ask_later(struct sim *s, enum item_kind kind)
{
    sim_push(s, (s->back_at - s->now) / NS_PER_MS, (struct item){.kind = kind});
}

static void cancel(struct sim *s, int sig)
{
    struct observation o = {
        .kind = OBS_CANCEL, .at = s->now, .signal = sig, .asked = s->story->cancel_asked};

    if (s->down)
        ask_later(s, ITEM_CANCEL);
    else
        sim_observed(s, &o);
}

static void ask_pause(struct sim *s, bool on)
{
    struct observation o = {.kind = on ? OBS_PAUSE : OBS_RESUME, .at = s->now};

    s->pause = on;
    if (s->down)
        ask_later(s, on ? ITEM_PAUSE : ITEM_RESUME);
    else
        sim_observed(s, &o);
}

/* Does it wait for something that will come, or for somebody? */
static bool may_wait(const struct sim *s)
{
    const struct job *job = s->job;

    for (uint32_t i = 0; i < s->plan->n_replicas; i++)
        if (s->out_of_sight[i])
            return true;
    return s->down || s->story->faults.crash > 0 || !job->admitted || job->phase == JOB_PAUSED ||
           job->phase == JOB_HELD || job->debugging || job->n_backoff > 0 ||
           s->now <= job->begin_at || s->plan->spec->retry.max < 0;
}

static void story_ends(struct sim *s)
{
    if (world_waits_for_nothing(s) && !may_wait(s))
        sim_break(s, "nothing lives that could still end, and the job goes on");
    s->limit = s->now + s->down_total +
               (sim_longest_grace(s) / NS_PER_MS + LIMIT_KILL_WAIT_MS + SLACK_MS +
                SIM_MAX_CRASHES * s->story->faults.down_ms) *
                   NS_PER_MS;
    sim_fault(s, "nothing more will happen; the simulation cancels the job");
    cancel(s, SIGTERM);
}

static void happens(struct sim *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_DELIVER:
        if (!s->down)
            sim_observed(s, &item->o);
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
            sim_observed(s, &(struct observation){.kind = OBS_HUNG,
                                                  .at = s->now,
                                                  .text = "nothing is written and nothing moves"});
        break;
    case ITEM_ADMIT:
        if (!s->down)
            sim_observed(s, &(struct observation){.kind = OBS_ADMITTED, .at = s->now});
        sim_push(s, AGAIN_MS, *item); /* after a pause it needs that again */
        break;
    case ITEM_BACK:
        sim_come_back(s);
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
    if (s->rules->queued) {
        sim_push(s, s->story->admit_ms, (struct item){.kind = ITEM_ADMIT});
        sim_push(s, 0,
                 (struct item){.kind = ITEM_DELIVER,
                               .o = {.kind = OBS_WAITING,
                                     .at = s->now,
                                     .replica = WAITING_JOB,
                                     .text = "GPUs",
                                     .needs = 4,
                                     .free = 2,
                                     .ahead = 3}});
    }
    sim_push(s, s->story->end_ms, (struct item){.kind = ITEM_END});
    s->pause = s->job->pause_wanted;
    sim_begin(s);
}

/* What is due has to be done before anything else happens: nobody else may come. */
static void check_awake(struct sim *s, ns_t next)
{
    const struct job *job = s->job;
    ns_t due = job->phase == JOB_STOPPING  ? sim_next_kill(s)
               : job->phase == JOB_KILLING ? job->kill_at + LIMIT_KILL_WAIT_MS * NS_PER_MS
                                           : next;

    if (!s->down && next > due)
        sim_break(s, "it sleeps, and something was due");
}

static void loop(struct sim *s)
{
    while (!s->released && !*s->result->broken) {
        ns_t wake = s->down ? 0 : s->wake;
        struct item item;

        if (s->result->events > MAX_EVENTS) {
            sim_break(s, "so many events that it will never end");
        } else if (s->limit && s->now > s->limit) {
            sim_break(s, "cancelled, and still not ended");
        } else if (wake && (s->n_queue == 0 || wake <= s->queue[0].at)) {
            s->now = wake > s->now ? wake : s->now;
            if (sim_turn(s) == 0 && !s->down)
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
    if (!*s->result->broken)
        check_record(s);
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
                    .texts = arena_new(),
                    .journal = STRBUF_INIT,
                    .batch = STRBUF_INIT,
                    .snapshot = STRBUF_INIT,
                    .snapshots = {story->seed}};

    *ret = (struct sim_result){0};
    s.shadow = job_new(sim_other_rules(s.texts, plan), rules);
    s.starts = xcalloc(plan->n_processes, sizeof(*s.starts));
    s.ends = xcalloc(plan->n_processes, sizeof(*s.ends));
    world_init(&s);
    begin(&s);
    loop(&s);
    turn_free(s.turn);
    s.engine.ops->free(&s.engine);
    ret->job = s.job;
    job_free(s.shadow);
    arena_free(s.texts);
    strbuf_release(&s.journal);
    strbuf_release(&s.batch);
    strbuf_release(&s.snapshot);
    events_release(&s.log);
    free(s.starts);
    free(s.ends);
    free(s.queue);
}
