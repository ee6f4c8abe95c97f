/* world.c - what really happens: the engine of the simulation.
 *
 * Everything here is true; what the core hears of it may come late, twice, out of order or not at
 * all (tell.c). Calls of the core may be repeated, as engine.h demands: starting what was started
 * does nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/sim/inside.h"

enum {
    MPIRUN_MS = 100,
    AGAIN_MS = 50,
    MPIRUN_KILLS_MS = 5000,
    OPENING_MS = 1,
    OTHER_REASON_MS = 300
};

bool sim_waits(const struct sim *s, uint32_t process)
{
    return job_waits(s->job, process);
}

/* The same of one that was started, whatever the core makes of it. */
static bool waits(const struct sim *s, uint32_t process)
{
    return process_waits(&s->plan->processes[process], s->procs[process].start);
}

static bool lives(const struct thing *t)
{
    return t->being == BEING_LIVE || t->being == BEING_STARTING;
}

static struct ending by_signal(int sig)
{
    return (struct ending){.known = true,
                           .code = -1,
                           .signal = sig,
                           .max_rss = -1,
                           .memory_limit = -1,
                           .memory_peak = -1};
}

/* --- ranks ------------------------------------------------------------------------------------ */

static bool launcher_lives(const struct sim *s)
{
    return s->plan->launcher >= 0 && s->procs[s->plan->launcher].being == BEING_LIVE;
}

static void doom_rank(struct sim *s, uint32_t l, uint32_t r, int64_t in_ms, struct ending end)
{
    if (in_ms >= 0)
        sim_push(s, in_ms,
                 (struct item){.kind = ITEM_RANK_DIE,
                               .id = l,
                               .rank = r,
                               .instance = s->mpiruns[l].ranks[r].instances,
                               .end = end});
}

static void start_rank(struct sim *s, uint32_t l, uint32_t r, int64_t in_ms)
{
    struct thing *t = &s->mpiruns[l].ranks[r];

    t->being = BEING_STARTING;
    t->instances++;
    if (in_ms >= 0)
        sim_push(s, in_ms,
                 (struct item){.kind = ITEM_RANK_UP, .id = l, .rank = r, .instance = t->instances});
}

static void rank_up(struct sim *s, const struct item *item)
{
    struct mpirun *m = &s->mpiruns[item->id];
    struct thing *t = &m->ranks[item->rank];
    const struct sim_fate *f = &s->mpiruns[item->id].as->ranks[item->rank];
    struct ending end = f->end;

    if (t->being != BEING_STARTING || t->instances != item->instance || !launcher_lives(s))
        return;
    t->being = BEING_LIVE;
    t->started = s->now;
    sim_tell_rank(s, item->id, item->rank, false);
    if (m->again[item->rank])
        end = (struct ending){.known = true, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};
    doom_rank(s, item->id, item->rank, f->life_ms, end);
    if (t->told_to_end)
        doom_rank(s, item->id, item->rank, f->term_ms, by_signal(SIGTERM));
}

static bool was_seen(const struct mpirun *m)
{
    for (uint32_t r = 0; r < m->as->size; r++)
        if (m->ranks[r].started)
            return true;
    return false;
}

static void forget_last_mpirun(struct sim *s)
{
    struct mpirun *m = &s->mpiruns[--s->n_mpiruns];

    free(m->ranks);
    free(m->again);
}

/* An mpirun has its number from the first of its ranks: one that was ended before has none. */
static void next_mpirun(struct sim *s)
{
    if (!launcher_lives(s) || s->step >= s->story->n_mpiruns)
        return;
    if (s->n_mpiruns > 0 && !was_seen(&s->mpiruns[s->n_mpiruns - 1]))
        forget_last_mpirun(s);
    const struct sim_mpirun *as = &s->story->mpiruns[s->step];
    uint32_t l = s->n_mpiruns;
    s->mpiruns = xrealloc_array(s->mpiruns, l + 1, sizeof(*s->mpiruns));
    s->mpiruns[l] = (struct mpirun){.as = as, .began = as->program ? s->now : 0};
    s->mpiruns[l].ranks = xcalloc(as->size, sizeof(*s->mpiruns[l].ranks));
    s->mpiruns[l].again = xcalloc(as->size, sizeof(*s->mpiruns[l].again));
    s->n_mpiruns++;
    s->step++;
    for (uint32_t r = 0; r < as->size; r++)
        start_rank(s, l, r, as->ranks[r].start_ms);
}

static void doom_process(struct sim *s, uint32_t id, int64_t in_ms, struct ending end)
{
    if (in_ms >= 0)
        sim_push(s, in_ms,
                 (struct item){
                     .kind = ITEM_DIE, .id = id, .instance = s->procs[id].instances, .end = end});
}

static bool any_lives(const struct mpirun *m)
{
    for (uint32_t r = 0; r < m->as->size; r++)
        if (lives(&m->ranks[r]))
            return true;
    return false;
}

/* mpirun has seen its last rank end: the launcher's script goes on. */
static void mpirun_over(struct sim *s, uint32_t l)
{
    const struct sim_mpirun *as = s->mpiruns[l].as;
    struct mpirun *m = &s->mpiruns[l];

    if (any_lives(m))
        return;
    m->over = s->now;
    if (!launcher_lives(s) || (m->failed && as->recovers))
        return;
    if (as->seen) {
        m->ended = s->now;
        sim_tell_mpirun(s, l);
    }
    if (l + 1 < s->n_mpiruns)
        return; /* of a launcher before this one */
    if (s->step < s->story->n_mpiruns) {
        sim_push(s, MPIRUN_MS, (struct item){.kind = ITEM_MPIRUN});
        return;
    }
    const struct sim_fate *f = &s->story->processes[s->plan->launcher];
    struct ending end = f->end;
    if (ending_ok(&end) && m->failed && !as->lies)
        end.code = m->code;
    doom_process(s, (uint32_t)s->plan->launcher, f->life_ms, end);
}

static void rank_dies(struct sim *s, uint32_t l, uint32_t r, const struct ending *end)
{
    const struct sim_mpirun *as = s->mpiruns[l].as;
    struct mpirun *m = &s->mpiruns[l];
    struct thing *t = &m->ranks[r];

    t->being = BEING_DEAD;
    t->end = *end;
    t->end.at = s->now;
    t->end.told = t->told;
    sim_tell_rank(s, l, r, true);
    if (!ending_ok(end) && launcher_lives(s) && !t->told_to_end) {
        if (m->restarts < as->restarts && !m->again[r]) {
            m->again[r] = true;
            m->restarts++;
            start_rank(s, l, r, AGAIN_MS);
            return;
        }
        m->code = m->failed ? m->code : ending_exit_code(end);
        m->failed = true;
        if (!as->recovers)
            sim_push(s, MPIRUN_MS, (struct item){.kind = ITEM_MPIRUN_STOPS, .id = l});
    }
    if (ending_ok(end) && as->strict && !as->recovers && !m->failed && launcher_lives(s) &&
        !t->told_to_end && any_lives(m)) {
        m->code = 1;
        m->failed = true;
        sim_push(s, MPIRUN_MS, (struct item){.kind = ITEM_MPIRUN_STOPS, .id = l});
    }
    mpirun_over(s, l);
}

/* role: of its replicas only; NULL: all. */
static void end_ranks(struct sim *s, int sig, const struct role *role)
{
    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        for (uint32_t r = 0; r < s->mpiruns[l].as->size; r++) {
            struct thing *t = &s->mpiruns[l].ranks[r];
            const struct sim_fate *f = &s->mpiruns[l].as->ranks[r];
            if (role && s->plan->replicas[sim_rank_replica(s, r)].role != role)
                continue;
            if (t->being == BEING_STARTING && sig == SIGKILL)
                t->being = t->started ? BEING_DEAD : BEING_NOT;
            if (!lives(t))
                continue;
            t->told_to_end = true;
            doom_rank(s, l, r, sig == SIGKILL ? f->kill_ms : f->term_ms, by_signal(sig));
        }
}

/* mpirun gives the others up after a failure: SIGTERM, then SIGKILL. */
static void mpirun_stops(struct sim *s, uint32_t l)
{
    for (uint32_t r = 0; r < s->mpiruns[l].as->size; r++) {
        struct thing *t = &s->mpiruns[l].ranks[r];
        if (!lives(t))
            continue;
        if (t->being == BEING_STARTING)
            t->being = BEING_NOT;
        t->told_to_end = true;
        t->told = t->told ? t->told : s->now;
        doom_rank(s, l, r, s->mpiruns[l].as->ranks[r].term_ms, by_signal(SIGTERM));
        doom_rank(s, l, r, MPIRUN_KILLS_MS, by_signal(SIGKILL));
    }
    mpirun_over(s, l);
}

/* --- processes -------------------------------------------------------------------------------- */

/* A second try may go better than the first. */
static struct ending end_of(struct sim *s, const struct sim_fate *f)
{
    static const struct ending good = {
        .known = true, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};

    return s->attempt > 1 && rng_chance(&s->rng, s->story->mends) ? good : f->end;
}

static void process_up(struct sim *s, uint32_t id, uint32_t instance)
{
    struct thing *t = &s->procs[id];
    const struct sim_fate *f = &s->story->processes[id];

    if (t->being != BEING_STARTING || t->instances != instance)
        return;
    bool never_was = f->end.exec_errno != 0 || ending_is_refused(&f->end);
    if (never_was || *f->end.init) {
        t->being = BEING_DEAD;
        t->never_was = never_was;
        t->end = f->end;
        t->end.at = s->now;
        sim_tell_process(s, id, true);
        return;
    }
    t->being = BEING_LIVE;
    t->started = s->now;
    sim_tell_process(s, id, false);
    if (t->start.debug && waits(s, id))
        return; /* it only waits */
    if ((int32_t)id == s->plan->launcher && s->story->n_mpiruns > 0)
        sim_push(s, MPIRUN_MS, (struct item){.kind = ITEM_MPIRUN});
    else
        doom_process(s, id, f->life_ms, end_of(s, f));
    if (t->told_to_end)
        doom_process(s, id, f->term_ms, by_signal(SIGTERM));
}

static void process_dies(struct sim *s, uint32_t id, const struct ending *end)
{
    struct thing *t = &s->procs[id];

    if (!lives(t))
        return;
    t->being = BEING_DEAD;
    t->end = *end;
    t->end.at = s->now;
    sim_tell_process(s, id, true);
    if ((int32_t)id == s->plan->launcher)
        end_ranks(s, SIGKILL, NULL); /* their daemons notice */
}

/* The daemon of the last mpirun on this replica is killed: its ranks exit, mpirun gives up the
 * others. */
static bool lose_daemon(struct sim *s, uint32_t replica)
{
    uint32_t l = s->n_mpiruns - 1, n = 0, size = s->n_mpiruns ? s->mpiruns[l].as->size : 0;
    struct ending noticed = {
        .known = true, .code = 195, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};

    for (uint32_t r = 0; r < size; r++)
        n += s->mpiruns[l].ranks[r].being == BEING_LIVE && sim_rank_replica(s, r) == replica &&
             !s->mpiruns[l].ranks[r].told_to_end;
    if (n == 0 || !launcher_lives(s) || s->mpiruns[l].blame.launch)
        return false;
    struct mpirun *m = &s->mpiruns[l];
    m->blame = (struct observation){.kind = OBS_BLAMED,
                                    .at = s->now,
                                    .attempt = s->attempt,
                                    .launch = l + 1,
                                    .replica = replica,
                                    .blame = BLAME_DAEMON,
                                    .end = by_signal(SIGKILL)};
    m->code = m->failed ? m->code : 1;
    m->failed = true;
    sim_tell(s, &m->blame);
    sim_push(s, MPIRUN_MS, (struct item){.kind = ITEM_MPIRUN_STOPS, .id = l});
    for (uint32_t r = 0; r < size; r++)
        if (s->mpiruns[l].ranks[r].being == BEING_LIVE && sim_rank_replica(s, r) == replica) {
            s->mpiruns[l].ranks[r].told_to_end = true;
            rank_dies(s, l, r, &noticed);
        }
    return true;
}

static void blow(struct sim *s, const struct sim_blow *b)
{
    const struct replica *rp = &s->plan->replicas[b->replica];
    bool hit = b->daemon && rp->role->kind == ROLE_HOST && lose_daemon(s, b->replica);

    if (hit)
        return;

    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        for (uint32_t r = 0; r < s->mpiruns[l].as->size && !(hit && b->once); r++)
            if (s->mpiruns[l].ranks[r].being == BEING_LIVE &&
                sim_rank_replica(s, r) == b->replica && rp->role->kind == ROLE_HOST) {
                rank_dies(s, l, r, &b->end);
                hit = true;
            }
    for (uint32_t i = 0; i < rp->n_processes && !(hit && (b->once || rp->role->kind == ROLE_HOST));
         i++)
        if (s->procs[rp->first_process + i].being == BEING_LIVE) {
            process_dies(s, rp->first_process + i, &b->end);
            hit = true;
        }
}

/* The supervisor dies and everything with it. */
static void lose(struct sim *s)
{
    struct observation o = {.kind = OBS_LOST, .at = s->now};

    if (s->released)
        return;
    s->lost = true;
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (lives(&s->procs[i]))
            s->procs[i].being = BEING_DEAD;
    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        for (uint32_t r = 0; r < s->mpiruns[l].as->size; r++)
            s->mpiruns[l].ranks[r].being = BEING_DEAD;
    sim_tell(s, &o);
}

static void output(struct sim *s)
{
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (s->procs[i].being == BEING_LIVE && !waits(s, i)) {
            sim_wrote(s);
            sim_push(s, s->story->output_ms, (struct item){.kind = ITEM_OUTPUT});
            return;
        }
}

static void hide(struct sim *s, uint32_t absence)
{
    const struct sim_absence *a = &s->story->absences[absence];

    if (s->out_of_sight[a->replica])
        return;
    sim_fault(s, "replica %u is out of sight", a->replica);
    s->out_of_sight[a->replica] = true;
    sim_tell(s,
             &(struct observation){
                 .kind = OBS_UNKNOWN, .at = s->now, .attempt = s->attempt, .replica = a->replica});
    sim_push(s, a->for_ms, (struct item){.kind = ITEM_SHOW, .id = a->replica});
}

/* Some say why they are not there yet. */
static void tell_waiting(struct sim *s, uint32_t replica)
{
    static const struct {
        const char *text;
        enum cause_kind fate;
    } reasons[] = {{"the image is pulled", CAUSE_NONE},
                   {"no node is free", CAUSE_UNSCHEDULABLE},
                   {"the registry does not answer", CAUSE_IMAGE}};

    if (!rng_chance(&s->rng, s->story->waits))
        return;
    uint32_t why = rng_below(&s->rng, 3);
    struct observation o = {.kind = OBS_WAITING,
                            .at = s->now,
                            .attempt = s->attempt,
                            .replica = replica,
                            .text = reasons[why].text,
                            .end.fate = reasons[why].fate,
                            .free = -1};
    sim_tell(s, &o);
    if (!rng_chance(&s->rng, 500))
        return;
    why = (why + 1) % 3; /* then for something else */
    o.at += OTHER_REASON_MS * NS_PER_MS;
    o.text = reasons[why].text;
    o.end.fate = reasons[why].fate;
    sim_push(s, OTHER_REASON_MS, (struct item){.kind = ITEM_DELIVER, .o = o});
}

void world_happens(struct sim *s, const struct item *item)
{
    struct observation opened = {
        .kind = OBS_OPENED, .at = s->now, .attempt = s->attempt, .replica = item->id};
    const struct thing *t;

    if (s->lost || (item->kind <= ITEM_MPIRUN_STOPS && item->epoch != s->epoch))
        return;
    switch (item->kind) {
    case ITEM_OPENED:
        if (s->replicas[item->id] != BEING_STARTING)
            break;
        s->replicas[item->id] = BEING_LIVE;
        sim_tell(s, &opened);
        break;
    case ITEM_UP:
        process_up(s, item->id, item->instance);
        break;
    case ITEM_DIE:
        if (s->procs[item->id].instances == item->instance)
            process_dies(s, item->id, &item->end);
        break;
    case ITEM_RANK_UP:
        rank_up(s, item);
        break;
    case ITEM_RANK_DIE:
        t = &s->mpiruns[item->id].ranks[item->rank];
        if (t->being == BEING_LIVE && t->instances == item->instance)
            rank_dies(s, item->id, item->rank, &item->end);
        break;
    case ITEM_MPIRUN:
        next_mpirun(s);
        break;
    case ITEM_MPIRUN_STOPS:
        mpirun_stops(s, item->id);
        break;
    case ITEM_BLOW:
        blow(s, &s->story->blows[item->id]);
        break;
    case ITEM_LOST:
        lose(s);
        break;
    case ITEM_OUTPUT:
        output(s);
        break;
    case ITEM_HIDE:
        hide(s, item->id);
        break;
    case ITEM_SHOW:
        s->out_of_sight[item->id] = false;
        if (!s->down)
            sim_tell_all(s);
        break;
    default:
        break;
    }
}

bool world_waits_for_nothing(const struct sim *s)
{
    for (uint32_t i = 0; i < s->plan->n_processes; i++) {
        const struct mpirun *m = (int32_t)i == s->plan->launcher && s->n_mpiruns > 0
                                     ? &s->mpiruns[s->n_mpiruns - 1]
                                     : NULL;
        ns_t over = m && !m->ended ? m->over : 0;
        bool hangs = over && s->now > over + sim_grace(s, i);
        if (lives(&s->procs[i]) && !waits(s, i) && !hangs)
            return false;
    }
    return true;
}

/* --- the engine ------------------------------------------------------------------------------- */

/* The core goes on to another attempt: of the one before nothing may be left. */
static void enter(struct sim *s, uint32_t attempt)
{
    if (s->attempt != 0 && s->attempt != attempt)
        for (uint32_t i = 0; i < s->plan->n_processes; i++)
            if (lives(&s->procs[i]))
                sim_break(s, "attempt %u begins, and process %u of the last one lives", attempt, i);
    s->attempt = attempt;
}

static void open_replica(struct sim *s, uint32_t replica, uint32_t attempt)
{
    enter(s, attempt);
    if (s->replicas[replica] != BEING_NOT || s->lost)
        return;
    s->replicas[replica] = BEING_STARTING;
    tell_waiting(s, replica);
    if (s->story->open_ms[replica] >= 0)
        sim_push(s, s->story->open_ms[replica] + OPENING_MS,
                 (struct item){.kind = ITEM_OPENED, .id = replica});
}

static bool was_paused(const struct sim *s)
{
    bool paused = s->plan->spec->pause;

    for (size_t i = 0; i < s->log.n; i++)
        paused |= s->log.v[i].type == EVENT_PAUSED;
    return paused;
}

static void start_process(struct sim *s, uint32_t process, struct start start)
{
    struct thing *t = &s->procs[process];

    enter(s, start.attempt);
    if (!s->live && start.resumed != was_paused(s))
        sim_break(s, "process %u is started as if it had %sbeen paused", process,
                  start.resumed ? "" : "not ");
    if (t->instances >= start.instance || s->lost)
        return;
    if (lives(t))
        sim_break(s, "process %u has two live instances", process);
    *t = (struct thing){.being = BEING_STARTING, .instances = start.instance, .start = start};
    if ((int32_t)process == s->plan->launcher)
        s->step = 0;
    tell_waiting(s, s->plan->processes[process].replica);
    if (s->story->processes[process].start_ms >= 0)
        sim_push(s, s->story->processes[process].start_ms,
                 (struct item){.kind = ITEM_UP, .id = process, .instance = start.instance});
}

static void signal_all(struct sim *s, int sig)
{
    for (uint32_t i = 0; i < s->plan->n_processes; i++) {
        struct thing *t = &s->procs[i];
        if (!lives(t) || waits(s, i) || t->told_to_end)
            continue;
        t->told_to_end = true;
        if (t->being == BEING_LIVE)
            doom_process(s, i, s->story->processes[i].term_ms, by_signal(sig));
    }
    end_ranks(s, sig, NULL);
}

static void kill_all_of(struct sim *s, const struct role *role)
{
    for (uint32_t i = 0; i < s->plan->n_replicas; i++)
        if (s->replicas[i] == BEING_STARTING && (!role || s->plan->replicas[i].role == role))
            s->replicas[i] = BEING_DEAD;
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (lives(&s->procs[i]) &&
            (!role || s->plan->replicas[s->plan->processes[i].replica].role == role)) {
            s->procs[i].kill_asked = true;
            doom_process(s, i, s->story->processes[i].kill_ms, by_signal(SIGKILL));
        }
    end_ranks(s, SIGKILL, role);
}

static void forget_mpiruns(struct sim *s)
{
    while (s->n_mpiruns > 0)
        forget_last_mpirun(s);
    free(s->mpiruns);
    s->mpiruns = NULL;
    s->step = 0;
}

static void clear(struct sim *s)
{
    memset(s->procs, 0, s->plan->n_processes * sizeof(*s->procs));
    memset(s->replicas, 0, s->plan->n_replicas * sizeof(*s->replicas));
    forget_mpiruns(s);
    s->held = false;
    s->epoch++;
}

/* What there is stays. Whoever looks into it calls mpirun by hand. */
static void hold(struct sim *s)
{
    s->held = true;
    if (s->live)
        return;
    sim_tell(s, &(struct observation){.kind = OBS_RANK_STARTED,
                                      .at = s->now,
                                      .attempt = s->attempt,
                                      .launch = s->n_mpiruns + 1,
                                      .size = 1});
}

static void world_free(struct engine *en)
{
    world_release((struct sim *)en);
}

/* --- what the turn calls ---------------------------------------------------------------------- */

static void act_open(struct engine *en, uint32_t replica, uint32_t attempt)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        open_replica(s, replica, attempt);
        sim_acted(s);
    }
}

static void act_start(struct engine *en, uint32_t process, struct start start)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        start_process(s, process, start);
        sim_acted(s);
    }
}

static void act_signal(struct engine *en, int sig)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        signal_all(s, sig);
        sim_acted(s);
    }
}

static void act_kill(struct engine *en)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        kill_all_of(s, NULL);
        sim_acted(s);
    }
}

static void act_kill_role(struct engine *en, uint32_t role)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        kill_all_of(s, &s->plan->spec->roles[role]);
        sim_acted(s);
    }
}

static void act_hold(struct engine *en)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        hold(s);
        sim_acted(s);
    }
}

static void act_clear(struct engine *en)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        clear(s);
        sim_acted(s);
    }
}

static void act_release(struct engine *en)
{
    struct sim *s = (struct sim *)en;

    if (sim_acts(s)) {
        s->released = true;
        sim_acted(s);
    }
}

static void act_commit(struct engine *en)
{
    ((struct sim *)en)->collected = false;
}

const struct engine_ops world_ops = {
    .open = act_open,
    .start = act_start,
    .signal = act_signal,
    .kill = act_kill,
    .kill_role = act_kill_role,
    .hold = act_hold,
    .clear = act_clear,
    .release = act_release,
    .commit = act_commit,
    .free = world_free,
};

void world_init(struct sim *s)
{
    const struct sim_story *story = s->story;

    s->engine.ops = &world_ops;
    s->procs = xcalloc(s->plan->n_processes, sizeof(*s->procs));
    s->replicas = xcalloc(s->plan->n_replicas, sizeof(*s->replicas));
    s->out_of_sight = xcalloc(s->plan->n_replicas, sizeof(*s->out_of_sight));
    for (uint32_t i = 0; i < story->n_absences; i++)
        sim_push(s, story->absences[i].at_ms, (struct item){.kind = ITEM_HIDE, .id = i});
    for (uint32_t i = 0; i < story->n_blows; i++)
        sim_push(s, story->blows[i].at_ms, (struct item){.kind = ITEM_BLOW, .id = i});
    if (story->lost_ms >= 0)
        sim_push(s, story->lost_ms, (struct item){.kind = ITEM_LOST});
    if (story->output_ms > 0)
        sim_push(s, story->output_ms, (struct item){.kind = ITEM_OUTPUT});
    if (story->faults.resync_ms > 0)
        sim_push(s, story->faults.resync_ms, (struct item){.kind = ITEM_RESYNC});
}

void world_release(struct sim *s)
{
    forget_mpiruns(s);
    free(s->replicas);
    free(s->out_of_sight);
    free(s->procs);
}
