/* check_cluster.c - what must hold of what only clusters have: admission, replicas that wait, that
 * are out of sight, that are gone. All of it is worked out from the log. */
#include <string.h>

#include "engine/sim/inside.h"

/* --- admission ---------------------------------------------------------------------------------
 */

/* When it was admitted since the last pause; 0 = it was not. */
static ns_t admitted_at(const struct sim *s)
{
    for (size_t i = s->log.n; i > 0; i--) {
        if (s->log.v[i - 1].type == EVENT_ADMITTED)
            return s->log.v[i - 1].at;
        if (s->log.v[i - 1].type == EVENT_PAUSED)
            return 0;
    }
    return 0;
}

static void check_admission(struct sim *s, const struct event *ev)
{
    if (!s->rules->queued)
        return;
    if (admitted_at(s) == 0)
        sim_break(s, "%s, and the job is not admitted", event_type_name(ev->type));
}

/* --- in sight, waiting -------------------------------------------------------------------------
 */

/* Is the event about this replica, and does it show that it is there? */
static bool shows(const struct sim *s, const struct event *ev, uint32_t replica)
{
    switch (ev->type) {
    case EVENT_STARTED:
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        return s->plan->processes[ev->process].replica == replica;
    case EVENT_OPENED:
    case EVENT_SEEN:
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
    case EVENT_WAITING:
        return ev->replica == replica;
    default:
        return false;
    }
}

static bool ends_attempt(const struct event *ev)
{
    return ev->type == EVENT_ATTEMPT || ev->type == EVENT_PAUSED;
}

static bool is_lost(const struct sim *s, uint32_t replica)
{
    for (size_t i = s->log.n; i > 0 && !ends_attempt(&s->log.v[i - 1]); i--) {
        const struct event *ev = &s->log.v[i - 1];
        if (shows(s, ev, replica))
            return false;
        if (ev->type == EVENT_UNKNOWN && ev->replica == replica)
            return true;
    }
    return false;
}

static void check_loss(struct sim *s, const struct event *ev)
{
    if (is_lost(s, ev->replica))
        sim_break(s, "replica %u is lost from sight twice", ev->replica);
    for (size_t i = s->log.n; i > 0 && !ends_attempt(&s->log.v[i - 1]); i--)
        if (s->log.v[i - 1].type == EVENT_UNKNOWN && s->log.v[i - 1].replica == ev->replica &&
            s->log.v[i - 1].at >= ev->at)
            sim_break(s, "replica %u is out of sight again by an old report", ev->replica);
}

static void check_waiting(struct sim *s, const struct event *ev)
{
    const struct wait_reason *w = job_waiting(s->job, ev->replica);
    bool same = w && ev->text && strcmp(w->what, ev->text) == 0 && w->needs == ev->needs &&
                w->free == ev->free && w->ahead == ev->ahead && w->fate == ev->end.fate;

    if (same || (!w && !ev->text))
        sim_break(s, "the same reason to wait is told twice");
}

/* --- given up ----------------------------------------------------------------------------------
 */

struct wait { /* of a replica; last is NULL if it does not wait */
    const struct event *last;
    ns_t since;
};

static struct wait wait_of(const struct sim *s, uint32_t replica)
{
    struct wait w = {0};

    for (size_t i = 0; i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        bool waiting = ev->type == EVENT_WAITING && ev->replica == replica;

        if (waiting)
            w = (struct wait){.last = ev, .since = w.last ? w.since : ev->at};
        else if (ends_attempt(ev) ||
                 (shows(s, ev, replica) && ev->type != EVENT_SEEN &&
                  ev->type != EVENT_RANK_STARTED && ev->type != EVENT_RANK_EXITED))
            w = (struct wait){0};
    }
    return w;
}

static ns_t patience(const struct sim *s, ns_t since)
{
    ns_t from = since > s->job->begin_at ? since : s->job->begin_at;

    return from + s->rules->start_timeout_ms * NS_PER_MS;
}

/* Has everything begun that others wait for? Then only what waits itself can be late. */
static bool gate_is_behind(const struct sim *s)
{
    const struct job *job = s->job;

    if (s->plan->launcher >= 0)
        return job->procs[s->plan->launcher].state != PROC_PENDING;
    return !job->gated || job->n_up == s->plan->n_replicas;
}

/* Whoever waits to be admitted is not late; and what it waited for is why it is. */
static void check_given_up(struct sim *s, const struct event *ev)
{
    struct wait w = wait_of(s, (uint32_t)ev->stop_replica);
    const struct replica *r = &s->plan->replicas[ev->stop_replica];

    if (s->rules->queued && s->now < admitted_at(s) + s->rules->start_timeout_ms * NS_PER_MS)
        sim_break(s, "given up before it had its time from the admission on");
    if (ev->end.fate != (w.last ? w.last->end.fate : CAUSE_NONE))
        sim_break(s, "given up as %s, and it waited for something else",
                  cause_kind_name(ev->end.fate));
    if (gate_is_behind(s) && !s->job->debugging && r->role->n_init == 0 &&
        (!w.last || s->now < patience(s, w.since)))
        sim_break(s, "given up before it had waited for the start timeout");
}

/* Nothing waits for ever, whether others wait for it or not; unless the job has succeeded without
 * it. */
static void check_patience(struct sim *s, uint32_t replica)
{
    const struct job *job = s->job;
    struct wait w = wait_of(s, replica);

    if (job->phase == JOB_ENDED || job->phase == JOB_HELD || job->phase == JOB_PAUSED ||
        job->stop != STOP_NONE || job->debugging || !job->admitted || s->down || s->dead)
        return;
    if (w.last && job_waiting(job, replica) && s->now > patience(s, w.since) &&
        oracle_rules(s) != OUTCOME_SUCCEEDED)
        sim_break(s, "replica %u waits for longer than the start timeout", replica);
}

void check_cluster_event(struct sim *s, const struct event *ev)
{
    switch (ev->type) {
    case EVENT_OPEN:
    case EVENT_START:
    case EVENT_RESTART:
        check_admission(s, ev);
        break;
    case EVENT_STOP:
        if (ev->stop == STOP_NOT_READY)
            check_given_up(s, ev);
        for (uint32_t i = 0; ev->stop == STOP_STALLED && i < s->plan->n_replicas; i++)
            if (is_lost(s, i))
                sim_break(s, "called stalled while replica %u is out of sight", i);
        break;
    case EVENT_UNKNOWN:
        check_loss(s, ev);
        break;
    case EVENT_WAITING:
        check_waiting(s, ev);
        break;
    default:
        break;
    }
}

void check_heard(struct sim *s, const struct observation *o, size_t n_before)
{
    if (o->kind != OBS_STARTED || o->attempt != s->job->attempt || s->job->phase == JOB_ENDED ||
        s->dead)
        return;
    uint32_t replica = s->plan->processes[o->process].replica;
    const struct proc *p = &s->job->procs[o->process];
    if (p->state == PROC_RUNNING && p->restarts + 1 == o->instance && is_lost(s, replica) &&
        s->log.n == n_before)
        sim_break(s, "replica %u is heard of, and stays out of sight", replica);
}

void check_cluster_turn(struct sim *s)
{
    const struct job *job = s->job;

    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (job->procs[i].state == PROC_ENDED && s->ends[i] < s->starts[i] && !job->lost)
            sim_break(s, "process %u has ended, and nobody said so", i);
    for (uint32_t i = 0; i < s->plan->n_replicas; i++) {
        const struct replica *r = &s->plan->replicas[i];
        bool up = true;

        if (job->sight[i].lost != is_lost(s, i))
            sim_break(s, "replica %u is %s sight, says the core", i,
                      job->sight[i].lost ? "out of" : "in");
        for (uint32_t p = r->first_process; p < r->first_process + r->n_processes; p++)
            up &= job->procs[p].state == PROC_RUNNING;
        if (up && job_waiting(job, i))
            sim_break(s, "replica %u runs, and waits", i);
        check_patience(s, i);
    }
    if (job->begun && job_waiting(job, WAITING_JOB))
        sim_break(s, "the job has begun, and waits");
}

void check_cluster_end(struct sim *s)
{
    const struct cause *c = &s->job->cause;
    bool somebody = c->process >= 0 || c->launch >= 0;
    bool unknown = somebody && !c->end.known && !c->end.exec_errno && !c->end.oom && !c->end.fate;

    if (somebody && c->end.fate && (c->kind != c->end.fate || c->exit_code != 125))
        sim_break(s, "the platform ended it (%s), and it is told as %s with %d",
                  cause_kind_name(c->end.fate), cause_kind_name(c->kind), c->exit_code);

    if (unknown != (c->kind == CAUSE_GONE && !c->end.fate) || (unknown && c->exit_code != 125))
        sim_break(s, "nobody knows how it ended, and it is told as %s with %d",
                  cause_kind_name(c->kind), c->exit_code);
}
