/* check.c - what must hold at every step, whatever the world and the reports do.
 *
 * Each rule looks at the world as it is and at the log of events, not at what the core thinks of
 * them, wherever that is possible: a core that deceives itself must not deceive the check.
 */
#include <string.h>

#include "base/limits.h"
#include "engine/sim/inside.h"
#include "job/hint.h"
#include "job/mask.h"
#include "job/report.h"
#include "job/verdict.h"

static ns_t ms(int64_t n)
{
    return n * NS_PER_MS;
}

static bool is_up(const struct thing *t)
{
    return t->being == BEING_LIVE || t->being == BEING_STARTING;
}

/* --- one event -------------------------------------------------------------------------------- */

static const struct role *role_of(const struct sim *s, uint32_t process)
{
    return s->plan->replicas[s->plan->processes[process].replica].role;
}

static void check_start(struct sim *s, const struct event *ev)
{
    uint32_t p = ev->process;
    bool again = ev->type == EVENT_RESTART;

    if (again)
        check_restart(s, p);
    if (s->starts[p] != s->ends[p] || (s->starts[p] > 0) != again || is_up(&s->procs[p]))
        sim_break(s, "process %u is started twice", p);
    if (s->job->phase == JOB_PAUSED || s->job->pause_wanted)
        sim_break(s, "a paused job starts process %u", p);
    if (s->cancels > 0)
        sim_break(s, "a cancelled job starts process %u", p);
    for (size_t i = 0; s->job->debugging && i < s->log.n; i++)
        if (s->log.v[i].type == EVENT_STOP && s->log.v[i].stop == STOP_DEBUG)
            sim_break(s, "process %u is debugged although that is over", p);
    if (s->job->stop != STOP_NONE || s->job->phase >= JOB_STOPPING)
        sim_break(s, "a job that is being stopped starts process %u", p);
    if (s->plan->launcher >= 0 && !sim_waits(s, p) && !again)
        for (uint32_t i = 0; i < s->plan->n_processes; i++)
            if (sim_waits(s, i) && s->procs[i].started == 0)
                sim_break(s, "process %u starts before worker process %u answers", p, i);
    for (uint32_t i = 0; s->job->gated && !again && i < s->plan->n_replicas; i++)
        if (s->replicas[i] != BEING_LIVE)
            sim_break(s, "process %u starts before replica %u answers", p, i);
}

static void check_exit(struct sim *s, const struct event *ev)
{
    const struct thing *t = &s->procs[ev->process];

    if (s->ends[ev->process] >= s->starts[ev->process])
        sim_break(s, "process %u ends twice", ev->process);
    if (t->being != BEING_DEAD)
        sim_break(s, "process %u has ended, says the core, and lives", ev->process);
    else if (!s->lost && (t->end.code != ev->end.code || t->end.signal != ev->end.signal ||
                          t->end.at != ev->at))
        sim_break(s, "process %u ended otherwise", ev->process);
}

static void check_rank(struct sim *s, const struct event *ev)
{
    const struct launch *l =
        ev->launch <= s->job->n_launches ? &s->job->launches[ev->launch - 1] : NULL;
    const struct rank *known = l && ev->rank < l->size ? &l->ranks[ev->rank] : NULL;
    if (ev->launch > s->n_mpiruns) {
        sim_break(s, "there was no mpirun %u", ev->launch);
        return;
    }
    const struct thing *t = &s->mpiruns[ev->launch - 1].ranks[ev->rank];

    if (ev->type == EVENT_RANK_STARTED) {
        if (known && known->incarnations >= t->instances)
            sim_break(s, "rank %u has more lives than it had", ev->rank);
        if (known && known->state == PROC_RUNNING)
            sim_break(s, "rank %u lives twice", ev->rank);
        return;
    }
    if (!known || known->state != PROC_RUNNING)
        sim_break(s, "rank %u ends twice", ev->rank);
    else if (ev->at < known->started)
        sim_break(s, "rank %u ends before it started", ev->rank);
}

/* The job has succeeded: who ends by itself has had the time for that. */
static void check_left_alone(struct sim *s)
{
    const struct job *job = s->job;
    struct trigger t = job_trigger(job);

    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (job->procs[i].state == PROC_RUNNING && role_of(s, i)->ends_alone && !sim_waits(s, i) &&
            s->now < t.at + sim_grace(s, i) &&
            (job_deadline(job) == 0 || s->now < job_deadline(job)))
            sim_break(s, "process %u ends alone, and is stopped at once", i);
}

/* Is something of a replica still at its init commands? That has to be done in time, too. */
static bool prepares(const struct sim *s, int32_t replica)
{
    const struct replica *r = &s->plan->replicas[replica];

    for (uint32_t i = 0; r->role->n_init > 0 && i < r->n_processes; i++)
        if (s->job->procs[r->first_process + i].state == PROC_STARTING)
            return true;
    return false;
}

static bool all_run(const struct job *job, int32_t replica)
{
    const struct replica *r = &job->plan->replicas[replica];

    for (uint32_t i = 0; i < r->n_processes; i++)
        if (job->procs[r->first_process + i].state != PROC_RUNNING)
            return false;
    return true;
}

/* Has the core been told so, of the last one? */
static bool mpirun_has_ended(const struct sim *s)
{
    uint32_t last = 0;
    bool ended = false;

    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if (ev->type == EVENT_RANK_STARTED && ev->launch > last) {
            last = ev->launch;
            ended = false;
        }
        ended |= ev->type == EVENT_MPIRUN_ENDED && ev->launch == last;
    }
    return ended;
}

static void check_stop(struct sim *s, const struct event *ev)
{
    const struct job *job = s->job;
    bool failed = false;

    if (job->stop != STOP_NONE)
        sim_break(s, "the job is stopped twice");
    for (size_t i = 0; i < s->log.n; i++) {
        const struct event *was = &s->log.v[i];
        failed |=
            (was->type == EVENT_EXITED || was->type == EVENT_START_FAILED) && !ending_ok(&was->end);
    }
    if (ev->stop == STOP_DEADLINE)
        check_deadline(s);
    if (ev->stop == STOP_CANCEL && s->cancels == 0)
        sim_break(s, "stopped as cancelled, and nobody cancelled");
    if (ev->stop == STOP_FAILURE && !failed)
        sim_break(s, "stopped for a failure, and nothing failed");
    enum outcome rules = oracle_rules(s);
    if ((ev->stop == STOP_FAILURE) != (rules == OUTCOME_FAILED) ||
        (ev->stop == STOP_COMPLETED) != (rules == OUTCOME_SUCCEEDED))
        sim_break(s, "stopped for reason %d, and by its rules it has %s", (int)ev->stop,
                  rules ? outcome_name(rules) : "not ended");
    if (ev->stop == STOP_COMPLETED && !job->cancel_signal && !job->pause_wanted && !job->hung &&
        !job->debug_over)
        check_left_alone(s);
    if (ev->stop == STOP_NOT_READY && s->now < job->begin_at + ms(s->rules->start_timeout_ms))
        sim_break(s, "given up before the start timeout");
    if (ev->stop == STOP_NOT_READY && s->plan->launcher >= 0 && !job->debugging &&
        job->procs[s->plan->launcher].state != PROC_PENDING &&
        s->plan->replicas[ev->stop_replica].role->n_init == 0 &&
        !job_waiting(job, (uint32_t)ev->stop_replica))
        sim_break(s, "given up as not ready, and it has started");
    if (ev->stop == STOP_NOT_READY && !job->gated && !prepares(s, ev->stop_replica) &&
        all_run(job, ev->stop_replica))
        sim_break(s, "the worker that did not answer did");
    if (ev->stop == STOP_NOT_READY && job->gated && !prepares(s, ev->stop_replica) &&
        job->gates[ev->stop_replica] == GATE_UP)
        sim_break(s, "the replica that did not answer did");
    /* no launch: all reports of its ranks were lost, and a daemon of mpirun is blamed */
    if (ev->stop == STOP_STALLED && job_last_launch(job) &&
        s->now < job->activity + ms(s->rules->recovery_timeout_ms) &&
        s->now < job_last_launch(job)->last_end + sim_grace(s, (uint32_t)s->plan->launcher))
        sim_break(s, "called stalled while it is not");
    if (ev->stop == STOP_STALLED && mpirun_has_ended(s))
        sim_break(s, "called stalled, and its mpirun has ended");
}

static void check_kill(struct sim *s, const struct event *ev)
{
    const struct job *job = s->job;

    if (job->phase == JOB_KILLING)
        sim_break(s, "killed twice");
    if (ev->stop != STOP_FINISHED && s->cancels < 2 &&
        (job->stop == STOP_NONE || s->now < job->stop_at + sim_longest_grace(s)))
        sim_break(s, "killed without its grace period");
}

static void check_kill_role(struct sim *s, const struct event *ev)
{
    if (s->job->phase != JOB_STOPPING)
        sim_break(s, "role %u is killed, and nobody stops it", ev->role);
    if (s->job->role_killed[ev->role])
        sim_break(s, "role %u is killed twice", ev->role);
    if (s->now < s->job->stop_at + sim_role_grace(s, ev->role))
        sim_break(s, "role %u is killed without its grace period", ev->role);
}

static void check_ended(struct sim *s)
{
    const struct job *job = s->job;
    bool waited = (job->phase == JOB_KILLING || job->phase == JOB_HELD) && job->kill_at &&
                  s->now >= job->kill_at + ms(LIMIT_KILL_WAIT_MS);

    if (job->debugging && job->stop == STOP_NONE && !job->lost && job->phase != JOB_PAUSED)
        sim_break(s, "ended, and it is debugged");
    for (uint32_t i = 0; i < s->plan->n_processes; i++) {
        if (is_up(&s->procs[i]) && !sim_waits(s, i) && !waited)
            sim_break(s, "ended, and process %u lives", i);
        if (!sim_waits(s, i) && s->procs[i].being == BEING_NOT && job->stop == STOP_NONE)
            sim_break(s, "ended, and process %u was never started", i);
    }
    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        for (uint32_t r = 0; r < s->mpiruns[l].as->size; r++)
            if (s->mpiruns[l].ranks[r].being == BEING_LIVE && !waited && l < job->n_launches &&
                r < job->launches[l].size && job->launches[l].ranks[r].state == PROC_RUNNING)
                sim_break(s, "ended, and rank %u lives", r);
}

static void check_attempt(struct sim *s, const struct event *ev)
{
    if (s->cancels > 0)
        sim_break(s, "a cancelled job begins another attempt");
    if (!ev->retry)
        return;
    check_ended(s);
    check_retry(s, ev);
}

/* It ends, or is tried again, and nobody has had a look. */
static void check_not_held(struct sim *s)
{
    if (s->rules->hold && s->job->phase != JOB_HELD && s->cancels == 0 && !s->job->lost &&
        job_cause(s->job).kind != CAUSE_NONE)
        sim_break(s, "failed, and not held");
}

static void check_held(struct sim *s)
{
    if (!s->rules->hold)
        sim_break(s, "held, and nobody asked for it");
    if (s->cancels > 0 || s->job->lost)
        sim_break(s, "held, and nobody can or wants to look");
    if (s->job->phase == JOB_HELD)
        sim_break(s, "held twice");
    if (job_cause(s->job).kind == CAUSE_NONE)
        sim_break(s, "held, and nothing failed");
}

/* What is put away as an attempt, or looked into, has its own outcome. */
static void check_cause(struct sim *s)
{
    int exit_code = job_cause(s->job).exit_code, wanted = oracle(s).exit_code;

    if (exit_code != wanted)
        sim_break(s, "the attempt ends with %d and should with %d", exit_code, wanted);
}

void check_event(struct sim *s, const struct event *ev)
{
    check_cluster_event(s, ev);
    if (s->job->phase == JOB_ENDED)
        sim_break(s, "something happens to a job that has ended: %s", event_type_name(ev->type));
    switch (ev->type) {
    case EVENT_OPEN:
        if (s->cancels > 0 || s->job->stop != STOP_NONE)
            sim_break(s, "a job that is being stopped makes replica %u", ev->replica);
        break;
    case EVENT_OPENED:
        if (s->replicas[ev->replica] != BEING_LIVE && !s->lost)
            sim_break(s, "replica %u answers, says the core", ev->replica);
        if (s->job->gates[ev->replica] == GATE_UP)
            sim_break(s, "replica %u answers twice", ev->replica);
        break;
    case EVENT_START:
    case EVENT_RESTART:
        check_start(s, ev);
        break;
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        check_exit(s, ev);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        check_rank(s, ev);
        break;
    case EVENT_STOP:
        check_stop(s, ev);
        break;
    case EVENT_KILL:
        check_kill(s, ev);
        break;
    case EVENT_KILL_ROLE:
        check_kill_role(s, ev);
        break;
    case EVENT_ATTEMPT:
        check_cause(s);
        check_attempt(s, ev);
        if (ev->retry)
            check_not_held(s);
        break;
    case EVENT_HELD:
        check_cause(s);
        check_held(s);
        check_ended(s);
        break;
    case EVENT_ENDED:
        check_not_held(s);
        check_ended(s);
        break;
    case EVENT_PAUSED:
        check_ended(s);
        break;
    default:
        break;
    }
}

/* --- one turn --------------------------------------------------------------------------------- */

static void check_counts(struct sim *s)
{
    const struct job *job = s->job;
    uint32_t n[PROC_ENDED + 1] = {0}, up = 0;

    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        n[job->procs[i].state]++;
    if (n[PROC_PENDING] != job->n_pending || n[PROC_STARTING] != job->n_starting ||
        n[PROC_BACKOFF] != job->n_backoff || n[PROC_RUNNING] != job->n_running ||
        n[PROC_ENDED] != job->n_ended)
        sim_break(s, "the counts of processes are wrong");
    for (uint32_t i = 0; job->gated && i < s->plan->n_replicas; i++)
        up += job->gates[i] == GATE_UP;
    if (up != job->n_up)
        sim_break(s, "the count of replicas that answer is wrong");
    for (uint32_t l = 0; l < job->n_launches; l++) {
        uint32_t started = 0, ended = 0;
        for (uint32_t r = 0; r < job->launches[l].size; r++) {
            started += job->launches[l].ranks[r].state != PROC_PENDING;
            ended += job->launches[l].ranks[r].state == PROC_ENDED;
        }
        if (started != job->launches[l].started || ended != job->launches[l].ended)
            sim_break(s, "the counts of ranks are wrong");
    }
}

/* Is the job stopping as soon as it should? */
static void check_promptness(struct sim *s)
{
    const struct job *job = s->job;

    if (job->phase == JOB_ENDED)
        return;
    if (s->cancels > 0 && job->stop == STOP_NONE)
        sim_break(s, "cancelled, and not being stopped");
    if (s->cancels > 1 && job->phase != JOB_KILLING)
        sim_break(s, "cancelled twice, and not being killed");
    if (job->phase == JOB_STOPPING && s->now >= sim_next_kill(s))
        sim_break(s, "the grace period is over, and it is not being killed");
    if (job->phase == JOB_KILLING && s->now >= job->kill_at + ms(LIMIT_KILL_WAIT_MS))
        sim_break(s, "killed, waited for, and not ended");
    if (job->stop == STOP_NONE && job_trigger(job).outcome == OUTCOME_SUCCEEDED &&
        s->now >= job_trigger(job).at + sim_longest_grace(s))
        sim_break(s, "succeeded, and what still runs is not being stopped");
    if (job->phase == JOB_HELD && job->pause_wanted)
        sim_break(s, "held, and still to be paused");
    if (s->job->pause_wanted && job->stop == STOP_NONE && job->phase != JOB_PAUSED)
        sim_break(s, "to be paused, and not being stopped");
    for (uint32_t i = 0; job->phase == JOB_PAUSED && i < s->plan->n_processes; i++)
        if (s->procs[i].being != BEING_NOT)
            sim_break(s, "paused, and process %u is there", i);
    if (job->phase == JOB_RUNNING && job->n_pending)
        sim_break(s, "running, and something is still to be started");
    if (job->phase == JOB_PENDING && job->n_pending + job->n_starting == 0 && job->n_running > 0)
        sim_break(s, "everything runs, and the job is pending");
}

/* What programs write last; a hint may follow of each. */
static const char *const last_words[] = {
    "line 3: x: unbound variable",
    "sh: 1: horovodrun: not found",
    "KeyError: 'RANK'",
    "KeyError: 'MUSTER_RANK'",
    "ValueError: environment variable MASTER_ADR expected, but not set",
    "[Errno 98] Address already in use (port: 29500)",
    "OSError: EADDRINUSE",
    "Unable to find address for: eth7",
    "no socket interface found",
    "RuntimeError: No CUDA GPUs are available",
    "ModuleNotFoundError: No module named 'torch'",
    "unexpected bus error encountered in worker",
    "RuntimeWarning: suspicious MPI execution environment",
    "Horovod has been shut down",
    "unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>)",
    "Root Cause (first observed failure):",
    "  rank      : 3 (local_rank: 1)",
    "  exitcode  : -9 (pid: 8)",
    "  exitcode  : 7 (pid: 8)",
    "epoch 1",
};

/* What is told has to be tellable, at any time. */
static void check_views(struct sim *s)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    auto_strbuf struct strbuf sentence = STRBUF_INIT;
    struct strvec tail = {0};
    struct json j = JSON_COMPACT(&sb);

    for (uint32_t i = rng_below(&s->rng, ARRAY_SIZE(last_words)), n = 0; n < 3; n++)
        strvec_push(&tail, last_words[(i + n) % ARRAY_SIZE(last_words)]);
    strvec_push(&tail, "logged in with " SIM_SECRET);
    mask_lines(s->plan, &tail, rng_chance(&s->rng, 500));
    verdict_sentence(s->job, &sentence);
    verdict_stopped(s->job, &sb);
    strbuf_truncate(&sb, 0);
    report_write(s->job,
                 &(struct report_context){.engine = "sim", .log_tail = (const char *const *)tail.v},
                 &j);
    if (hint_exception((const char *const *)tail.v) &&
        hint_lost_others((const char *const *)tail.v))
        sim_break(s, "who has lost the others is taken for the reason");
    strvec_release(&tail);
    if (s->plan->spec->secret_texts && strstr(sb.buf, SIM_SECRET))
        sim_break(s, "the report tells a secret");
    if (sentence.len == 0 || sb.len == 0)
        sim_break(s, "there is no verdict");
}

void check_turn(struct sim *s)
{
    check_counts(s);
    check_promptness(s);
    check_cluster_turn(s);
    if (rng_chance(&s->rng, 20))
        check_views(s);
}

/* --- after a crash ---------------------------------------------------------------------------- */

static void check_said_again(struct sim *s, uint32_t process)
{
    const struct job *job = s->job;
    const struct proc *p = &job->procs[process];
    const struct thing *t = &s->procs[process];
    const struct role *role = role_of(s, process);
    bool killed = job->phase == JOB_KILLING ||
                  (job->phase == JOB_STOPPING && job->role_killed[role - s->plan->spec->roles]);

    if (p->state == PROC_STARTING && t->instances < p->restarts + 1)
        sim_break(s, "back from a crash, and the start of process %u is forgotten", process);
    if (job->phase == JOB_STOPPING && is_up(t) && !sim_waits(s, process) && !t->told_to_end)
        sim_break(s, "back from a crash, and process %u is not told to end", process);
    if (killed && is_up(t) && !t->kill_asked)
        sim_break(s, "back from a crash, and process %u is not killed", process);
}

void check_caught_up(struct sim *s)
{
    for (uint32_t i = 0; !s->lost && s->job->gated && i < s->plan->n_replicas; i++)
        if (s->job->gates[i] == GATE_ASKED && s->replicas[i] == BEING_NOT)
            sim_break(s, "back from a crash, and replica %u is forgotten", i);
    if (s->job->phase == JOB_HELD && !s->held && !s->lost)
        sim_break(s, "back from a crash, and its replicas are not held");
    for (uint32_t i = 0; !s->lost && i < s->plan->n_processes; i++)
        check_said_again(s, i);
}

/* --- the end ---------------------------------------------------------------------------------- */

void check_end(struct sim *s)
{
    const struct job *job = s->job;
    const struct cause *c = &job->cause;
    struct expected want = oracle(s);

    if (job->phase != JOB_ENDED) {
        sim_break(s, "released, and not ended");
        return;
    }
    if ((job->outcome == OUTCOME_SUCCEEDED) != (job->exit_code == 0) ||
        (job->exit_code == 0) != (c->kind == CAUSE_NONE) ||
        (job->outcome == OUTCOME_CANCELLED) != (c->kind == CAUSE_CANCELLED))
        sim_break(s, "outcome %s, exit code %d and cause %s do not agree",
                  outcome_name(job->outcome), job->exit_code, cause_kind_name(c->kind));
    if (job->outcome != want.outcome || job->exit_code != want.exit_code)
        sim_break(s, "it %s with %d and should have %s with %d", outcome_name(job->outcome),
                  job->exit_code, outcome_name(want.outcome), want.exit_code);
    else if (c->blame != BLAME_EARLY && /* inferred where the report of a rank's failure is lost */
             (c->process != want.process || (want.process < 0 && c->rank != want.rank)))
        sim_break(s, "first was process %d rank %d, says the core; it was process %d rank %d",
                  c->process, c->rank, want.process, want.rank);
    if (c->process >= 0 && job_proc_outcome(job, (uint32_t)c->process) != OUTCOME_FAILED &&
        c->process != s->plan->launcher)
        sim_break(s, "the cause is a process that did not fail");
    check_cluster_end(s);
    if (job_wake(job) != 0)
        sim_break(s, "an ended job wants to be woken");
    check_early(s);
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (job->procs[i].state == PROC_ENDED && job->procs[i].end.by_itself &&
            job_proc_outcome(job, i) != OUTCOME_FAILED)
            sim_break(s, "process %u failed by itself, and is called stopped", i);
    check_views(s);
}
