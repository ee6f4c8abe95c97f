/* core.c - the core of a simulated job: the product's own turn, which may crash at every step.
 *
 * The journal, the engine and the watcher of the turn are the simulation's. Each event added, each
 * commit and each action is a point where the core may crash: from there on nothing it does has any
 * effect (s->dead), until the turn has returned and it is thrown away. Then a part of what was
 * being written is in the journal, and a new core goes on from its text.
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "engine/sim/inside.h"
#include "engine/turn.h"
#include "job/snapshot.h"

enum { MAX_COMMITS = 5 /* of one turn */ };

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

static void new_turn(struct sim *s);

/* A core that goes on from what the journal holds. */
static void new_core(struct sim *s)
{
    size_t whole = 0;
    struct err e;

    turn_free(s->turn);
    job_free(s->job);
    size_t from = 0;
    if (s->snapshot.len > 0 && rng_chance(&s->snapshots, 500) &&
        job_load(s->plan, s->rules, s->snapshot.buf, s->snapshot.len, &s->job, &e) == 0)
        from = s->snapshot_at;
    else
        s->job = job_new(s->plan, s->rules);
    if (journal_replay(s->job, s->journal.buf + from, s->journal.len - from, &whole, &e) < 0)
        sim_break(s, "the journal cannot be replayed: %s", e.text);
    strbuf_truncate(&s->journal, from + whole);
    new_turn(s);
}

static void crash(struct sim *s)
{
    const struct sim_faults *f = &s->story->faults;
    size_t written = rng_chance(&s->rng, 500) ? rng_below(&s->rng, (uint32_t)s->batch.len + 1) : 0;
    uint32_t given = s->cancels;
    int64_t down = f->down_ms > 0 ? rng_between(&s->rng, 0, f->down_ms) : 0;

    s->dead = false;
    strbuf_add(&s->journal, s->batch.buf, written);
    strbuf_truncate(&s->batch, 0);
    new_core(s);
    follow_journal(s);
    compare(s, "after a crash");
    sim_fault(s, "the core crashes; %zu of its events are not in the journal",
              s->log.n - s->n_committed);
    s->log.n = s->n_heard = s->n_committed;
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

/* From here on the core has no effect; what becomes of it is seen to when it has returned. */
static void may_crash(struct sim *s)
{
    /* one that crashes at every step would never come beyond catching up */
    uint32_t chance = s->story->faults.crash / (s->catching_up ? 16 : 1);

    if (s->result->crashes >= SIM_MAX_CRASHES || !rng_chance(&s->rng, chance))
        return;
    s->result->crashes++;
    s->dead = true;
}

/* --- what the turn is given ------------------------------------------------------------------- */

static bool is_decision(const struct event *ev)
{
    static const enum event_type decisions[] = {
        EVENT_OPEN, EVENT_START, EVENT_RESTART, EVENT_ATTEMPT,   EVENT_PAUSED,
        EVENT_STOP, EVENT_HELD,  EVENT_KILL,    EVENT_KILL_ROLE, EVENT_ENDED};

    for (size_t i = 0; i < ARRAY_SIZE(decisions); i++)
        if (ev->type == decisions[i])
            return true;
    return false;
}

static struct sim *of_journal(struct journal *jn)
{
    return (struct sim *)((char *)jn - offsetof(struct sim, to_journal));
}

/* Without its first line there is no job to come back to: no crash before it is written. */
static void add(struct journal *jn, const struct job *job, const struct event *ev)
{
    struct sim *s = of_journal(jn);

    if (s->dead)
        return;
    if (ev->type != EVENT_CREATED)
        check_event(s, ev);
    journal_line(&s->batch, job, ev);
    events_add(&s->log, ev);
    sim_count(s, ev);
    s->result->events++;
    s->undecided += is_decision(ev);
    if (ev->type != EVENT_CREATED)
        may_crash(s);
}

/* What was saved is what a later core may begin with, and the rest of the journal. */
static void take_snapshot(struct sim *s)
{
    if (!rng_chance(&s->snapshots, 100))
        return;
    strbuf_truncate(&s->snapshot, 0);
    job_save(s->job, &s->snapshot);
    s->snapshot_at = s->journal.len;
    check_snapshot(s);
}

static int commit(struct journal *jn, struct err *e)
{
    struct sim *s = of_journal(jn);

    (void)e;
    if (s->dead || s->batch.len == 0)
        return 0;
    strbuf_add(&s->journal, s->batch.buf, s->batch.len);
    strbuf_truncate(&s->batch, 0);
    s->decided += s->undecided;
    s->undecided = 0;
    follow_journal(s);
    compare(s, "live");
    take_snapshot(s);
    if (++s->commits > MAX_COMMITS)
        sim_break(s, "decide has always something more to say");
    may_crash(s);
    return 0;
}

static const struct journal_ops journal_ops = {.add = add, .commit = commit};

/* Actions come after their cause, and once. */
bool sim_acts(struct sim *s)
{
    if (s->live) {
        s->now = clock_run();
        return true;
    }
    if (s->dead)
        return false;
    if (s->batch.len > 0)
        sim_break(s, "something is done before its cause is in the journal");
    if (!s->catching_up && s->decided-- == 0)
        sim_break(s, "something is done that was not decided, or twice");
    return true;
}

void sim_acted(struct sim *s)
{
    if (s->live)
        return;
    s->collected = true;
    may_crash(s);
}

void sim_wrote(struct sim *s)
{
    if (s->down || s->live)
        return;
    job_activity(s->job, s->now);
    s->wake = job_wake(s->job);
}

static void heard(void *ctx, const struct event *ev)
{
    struct sim *s = ctx;

    if (s->dead)
        return;
    if (s->batch.len > 0)
        sim_break(s, "%s is told before it is in the journal", event_type_name(ev->type));
    s->n_heard++;
    if (s->watch && s->watch->event)
        s->watch->event(s->watch->ctx, s->job, ev, s->now);
}

static void new_turn(struct sim *s)
{
    const struct turn_host host = {.event = heard, .ctx = s};

    s->to_journal.ops = &journal_ops;
    s->turn = turn_new(s->job, &s->to_journal, &s->engine, &host);
    s->decided = s->undecided = 0;
    s->collected = false;
}

/* --- one turn --------------------------------------------------------------------------------- */

/* Asks twice: a question changes nothing. */
static void ask_twice(struct sim *s)
{
    struct events once = {0}, again = {0};

    job_decide(s->job, s->now, &once);
    job_decide(s->job, s->now, &again);
    bool same = once.n == again.n;
    for (size_t i = 0; same && i < again.n; i++)
        same = again.v[i].type == once.v[i].type && again.v[i].process == once.v[i].process &&
               again.v[i].replica == once.v[i].replica && again.v[i].role == once.v[i].role &&
               again.v[i].stop == once.v[i].stop;
    if (!same)
        sim_break(s, "decide, asked twice, gives two answers");
    events_release(&once);
    events_release(&again);
}

/* What the turn has left undone. */
static void check_done(struct sim *s)
{
    struct events due = {0};

    if (s->batch.len > 0)
        sim_break(s, "a turn ends, and events are not in the journal");
    if (s->decided > 0)
        sim_break(s, "a turn ends, and %u decisions are not carried out", s->decided);
    if (s->collected)
        sim_break(s, "a turn ends, and the engine was not told that its decisions are complete");
    if (s->n_heard != s->n_committed)
        sim_break(s, "of %zu events watchers have heard %zu", s->n_committed, s->n_heard);
    job_decide(s->job, s->now, &due);
    if (due.n > 0)
        sim_break(s, "a turn ends, and something is due");
    events_release(&due);
}

/* Returns how many events there were. */
uint32_t sim_turn(struct sim *s)
{
    uint32_t before = s->result->events;

    ask_twice(s);
    s->commits = 0;
    s->wake = turn_run(s->turn, s->now);
    if (s->dead) {
        crash(s);
    } else {
        check_done(s);
        check_turn(s);
    }
    return s->result->events - before;
}

void sim_observed(struct sim *s, const struct observation *o)
{
    /* what arrives together is one turn */
    bool more = s->n_queue > 0 && s->queue[0].at == s->now && s->queue[0].kind == ITEM_DELIVER;

    size_t n = s->log.n;
    turn_observe(s->turn, o);
    check_heard(s, o, n);
    if (s->dead)
        crash(s);
    else if (!more)
        (void)sim_turn(s);
}

void sim_come_back(struct sim *s)
{
    s->down = false;
    sim_fault(s, "the core is back");
    s->catching_up = true;
    turn_catch_up(s->turn);
    s->catching_up = false;
    if (!s->dead)
        check_caught_up(s);
    sim_tell_all(s);
    if (s->dead)
        crash(s);
    else
        (void)sim_turn(s);
}

void sim_begin(struct sim *s)
{
    new_turn(s);
    turn_event(
        s->turn,
        &(struct event){.type = EVENT_CREATED, .at = s->now, .random = (uint32_t)s->story->seed});
    (void)sim_turn(s);
}
