/* decide.c - what is due: start, stop, kill, end.
 *
 * Everything here is a question to the state and the time. A job passes through
 *     pending -> running -> (stopping -> (killing)) -> (held) -> ended
 * and at its last step, instead of ending, back to pending (another attempt) or to a pause,
 * and ends as soon as no command and no rank of it lives: waiting MPI workers have no process of
 * their own and go with the job.
 */
#include "base/limits.h"
#include "job/blame.h"
#include "job/job.h"
#include "job/sight.h"

/* Is its replica still at its init containers? Restarts do not run them again. */
static bool is_preparing(const struct job *job, uint32_t process)
{
    const struct replica *r = &job->plan->replicas[job->plan->processes[process].replica];

    return job->procs[process].state == PROC_STARTING && job->procs[process].restarts == 0 &&
           r->role->n_init > 0;
}

/* Does its end have to be waited for? What runs beside the waiting, or before it, ends with the
 * job, but is given the time to. */
static bool counts(const struct job *job, uint32_t process)
{
    return !job_waits(job, process) ||
           (job->stop != STOP_NONE &&
            (is_preparing(job, process) ||
             process_waiting_argv(&job->plan->processes[process], job_start(job, process))));
}

struct live {
    uint32_t commands, ranks, waiting_pending, waiting_up;
    int32_t not_up; /* first replica that has to answer and has not, -1 = none */
};

static struct live count_live(const struct job *job)
{
    struct live live = {.not_up = -1};

    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        enum proc_state s = job->procs[i].state;
        bool alive = s == PROC_STARTING || s == PROC_RUNNING;
        if (counts(job, i)) {
            live.commands += alive;
        } else if (s == PROC_RUNNING) {
            live.waiting_up++;
        } else {
            live.waiting_pending += s == PROC_PENDING;
            if (live.not_up < 0 && !job->gated)
                live.not_up = (int32_t)job->plan->processes[i].replica;
        }
    }
    for (uint32_t i = 0; job->gated && job->n_up < job->plan->n_replicas; i++)
        if (job->gates[i] != GATE_UP) {
            live.not_up = (int32_t)i;
            break;
        }
    for (uint32_t n = 0; n < job->n_launches; n++)
        for (uint32_t r = 0; r < job->launches[n].size; r++)
            live.ranks += job->launches[n].ranks[r].state == PROC_RUNNING;
    return live;
}

/* Is there something that has to answer before commands start? With a launcher, its workers; in a
 * gang, every replica. */
static bool has_gate(const struct job *job)
{
    return job->gated || job->plan->launcher >= 0;
}

/* What has to answer comes first, and the commands wait for all of it; else all start at once. */
static void decide_starts(const struct job *job, const struct live *live, ns_t now,
                          struct events *out)
{
    bool gate_open = !has_gate(job) || live->not_up < 0;

    if (now < job->begin_at || !job->admitted)
        return;

    for (uint32_t i = 0; job->gated && !gate_open && i < job->plan->n_replicas; i++)
        if (job->gates[i] == GATE_CLOSED)
            events_add(out, &(struct event){.type = EVENT_OPEN, .at = now, .replica = i});
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_PENDING &&
            (gate_open || (job_waits(job, i) && !job->gated)))
            events_add(out, &(struct event){.type = EVENT_START, .at = now, .process = i});
}

/* What the role of a process is given to end. */
static ns_t grace_of(const struct job *job, uint32_t process)
{
    const struct plan *plan = job->plan;
    const struct role *role = plan->replicas[plan->processes[process].replica].role;

    return job_grace_ms(job, (size_t)(role - plan->spec->roles)) * NS_PER_MS;
}

/* When a process that has ended is to be started again. A launcher waits for the ranks of its last
 * mpirun to be gone, but no longer than they would be given to end. */
static ns_t restart_time(const struct job *job, const struct live *live, uint32_t process)
{
    ns_t at = job->procs[process].restart_at;

    if ((int32_t)process == job->plan->launcher && live->ranks > 0)
        at += job_longest_grace_ms(job) * NS_PER_MS;
    return at;
}

static void decide_restarts(const struct job *job, const struct live *live, ns_t now,
                            struct events *out)
{
    for (uint32_t i = 0; job->n_backoff > 0 && i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_BACKOFF && now >= restart_time(job, live, i))
            events_add(out, &(struct event){.type = EVENT_RESTART, .at = now, .process = i});
}

static ns_t later(ns_t a, ns_t b)
{
    return a > b ? a : b;
}

/* The newest mpirun, if it has lost a daemon before it had ranks, and has not ended. */
static const struct launch *launch_that_lost(const struct job *job)
{
    const struct launch *l =
        job->n_launches > job->launch_base ? &job->launches[job->n_launches - 1] : NULL;

    return l && l->size == 0 && l->blame.kind != BLAME_NONE && !l->over ? l : NULL;
}

/* When does an MPI job count as stalled? 0 = not in sight.
 *
 * Open MPI's recovery flags make mpirun wait for ever after a rank has failed, Hydra waits for the
 * other ranks of a program that is no MPI program and for a proxy that was killed, and an mpirun
 * whose ranks have all ended may still hang. So: all ranks ended, and mpirun has had the grace
 * period to follow; or a rank failed, a daemon was lost or mpirun ended only some of its ranks, and
 * for the recovery time no rank ended and no byte was written; or a daemon was lost before there
 * were ranks, after which mpirun can only give up. Once mpirun has ended, what runs is the
 * launcher's own script: that may take as long as it likes. */
static ns_t stall_deadline(const struct job *job)
{
    const struct launch *l = job_last_launch(job), *lost = launch_that_lost(job);

    if (job->plan->launcher < 0 || job->procs[job->plan->launcher].state != PROC_RUNNING ||
        sight_any_lost(job)) /* what it writes may be out of sight, too */
        return 0;
    if (lost)
        return later(lost->blame.at, job->activity) + grace_of(job, (uint32_t)job->plan->launcher);
    if (!l || l->over)
        return 0;
    if (l->ended == l->size)
        return l->last_end + grace_of(job, (uint32_t)job->plan->launcher);
    if (l->first_failed >= 0 || l->blame.kind != BLAME_NONE || blame_has_leaver(l))
        return job->activity + job->rules.recovery_timeout_ms * NS_PER_MS;
    return 0;
}

/* Once the launcher has been started the gate is behind it: a worker that has left since is no
 * worker that never came. */
static ns_t gate_deadline(const struct job *job, const struct live *live)
{
    bool passed = job->debugging ? job->phase != JOB_PENDING
                                 : job->plan->launcher >= 0 &&
                                       job->procs[job->plan->launcher].state != PROC_PENDING;

    if (!has_gate(job) || live->not_up < 0 || passed || !job->admitted)
        return 0;
    return job->begin_at + job->rules.start_timeout_ms * NS_PER_MS;
}

/* The first replica that is, -1 = none. */
static int32_t preparing(const struct job *job)
{
    for (uint32_t i = 0; job->n_starting > 0 && i < job->plan->n_processes; i++)
        if (is_preparing(job, i))
            return (int32_t)job->plan->processes[i].replica;
    return -1;
}

static ns_t init_deadline(const struct job *job)
{
    return preparing(job) < 0 || job->debugging
               ? 0
               : job->begin_at + job->rules.start_timeout_ms * NS_PER_MS;
}

static bool due(ns_t deadline, ns_t now)
{
    return deadline != 0 && now >= deadline;
}

/* Also of what no gate waits for: a replica that is restarted, a launcher, a job of one replica. */
static ns_t waiting_deadline(const struct job *job)
{
    int32_t replica;

    return job->admitted && !job->debugging ? sight_patience(job, &replica) : 0;
}

/* Who is late. Of those that did not come, one that said why. */
static int32_t late_replica(const struct job *job, const struct live *live, ns_t now)
{
    int32_t waits, with_fate = -1, with_reason = -1;

    if (due(init_deadline(job), now))
        return preparing(job);
    if (!due(gate_deadline(job, live), now))
        return sight_patience(job, &waits) ? waits : -1;
    for (uint32_t i = 0; job->waiting && i < job->plan->n_replicas; i++) {
        const struct wait_reason *w = job_waiting(job, i);

        if (w && w->fate && with_fate < 0)
            with_fate = (int32_t)i;
        if (w && with_reason < 0)
            with_reason = (int32_t)i;
    }
    return with_fate >= 0 ? with_fate : with_reason >= 0 ? with_reason : live->not_up;
}

static void add_late(const struct job *job, const struct live *live, ns_t now, struct event *stop)
{
    stop->stop_replica = late_replica(job, live, now);
    const struct wait_reason *w = job_waiting(job, (uint32_t)stop->stop_replica);
    stop->end.fate = w ? w->fate : CAUSE_NONE;
    stop->text = w ? w->what : NULL;
}

static ns_t stop_deadline(const struct job *job)
{
    return job->stop_at + job_longest_grace_ms(job) * NS_PER_MS;
}

static ns_t kill_deadline(const struct job *job)
{
    return job->kill_at + LIMIT_KILL_WAIT_MS * NS_PER_MS;
}

ns_t job_deadline(const struct job *job)
{
    int64_t s = job->plan->spec->deadline_s;
    /* Operators count the time that pods wait for a node, too. */
    bool waiting_counts = job->plan->facts->site.operated && job->phase != JOB_PAUSED;
    ns_t from = waiting_counts ? job->begin_at : job->deadline_from;

    return s > 0 && from ? from + s * NS_PER_S : 0;
}

/* A job has succeeded by the end of some replicas. Those that end by themselves (workers of a
 * PyTorchJob whose master was the quicker one) are given the grace period to do so; 0 = there are
 * none. */
static ns_t linger_deadline(const struct job *job, const struct trigger *t)
{
    ns_t at = 0;

    for (uint32_t i = 0; t->outcome == OUTCOME_SUCCEEDED && i < job->plan->n_processes; i++) {
        enum proc_state s = job->procs[i].state;
        if ((s == PROC_STARTING || s == PROC_RUNNING) && !job_waits(job, i) &&
            job->plan->replicas[job->plan->processes[i].replica].role->ends_alone)
            at = t->at + grace_of(job, i) > at ? t->at + grace_of(job, i) : at;
    }
    return at;
}

/* Why what still runs is to be stopped, whatever its endings say. */
static enum stop_reason other_reason(const struct job *job, const struct live *live, ns_t now)
{
    if (job->cancel_signal)
        return STOP_CANCEL;
    if (due(job_deadline(job), now))
        return STOP_DEADLINE;
    if (job->hung)
        return STOP_HANG;
    if (job->pause_wanted)
        return STOP_PAUSE;
    if (job->debug_over)
        return STOP_DEBUG;
    if (due(gate_deadline(job, live), now) || due(init_deadline(job), now) ||
        due(waiting_deadline(job), now))
        return STOP_NOT_READY;
    if (due(stall_deadline(job), now))
        return STOP_STALLED;
    return STOP_NONE;
}

static enum stop_reason stop_wanted(const struct job *job, const struct trigger *t,
                                    const struct live *live, ns_t now)
{
    enum stop_reason other = other_reason(job, live, now);

    if (other == STOP_NOT_READY && t->outcome == OUTCOME_SUCCEEDED)
        other = STOP_NONE; /* whoever has not come is not needed any more */
    if (t->outcome == OUTCOME_NONE)
        return other;
    if (t->outcome == OUTCOME_FAILED)
        return STOP_FAILURE;
    return other == STOP_NONE && now < linger_deadline(job, t) ? STOP_NONE : STOP_COMPLETED;
}

/* Whoever debugs a job says when that is over. */
static bool all_ended(const struct job *job, const struct live *live)
{
    if (job->rules.preflight_only && job->stop == STOP_NONE && job->phase == JOB_PENDING)
        return job->n_up == job->plan->n_replicas;
    if (live->commands > 0 || (job->debugging && job->stop == STOP_NONE))
        return false;
    return job->stop != STOP_NONE || job->n_pending + job->n_backoff == 0;
}

/* Somebody wants to see what is left of an attempt that has failed by itself. */
static bool is_kept(const struct job *job)
{
    return job->rules.hold && !job->hold_over && !job->cancel_signal && !job->lost &&
           job_cause(job).kind != CAUSE_NONE;
}

/* The attempt is over: what follows it? Where a process lives that cannot be killed, nothing that
 * would start it a second time. */
static void decide_next(const struct job *job, bool all_gone, ns_t now, struct events *out)
{
    struct event next = {.type = EVENT_ENDED, .at = now};
    struct retry again = all_gone ? job_retry(job) : (struct retry){0};

    if (job->stop == STOP_PAUSE) {
        next.type = EVENT_PAUSED;
    } else if (job->stop == STOP_DEBUG) {
        next.type = EVENT_ATTEMPT;
        next.attempt = job->attempt + 1;
        next.begin_at = now;
    } else if (is_kept(job)) {
        next.type = EVENT_HELD;
    } else if (again.again) {
        next = (struct event){.type = EVENT_ATTEMPT,
                              .at = now,
                              .attempt = job->attempt + 1,
                              .begin_at = now + again.delay_ms * NS_PER_MS,
                              .counted = again.counted,
                              .retry = true};
    }
    if (next.type != EVENT_HELD)
        next.cause = job_cause(job);
    events_add(out, &next);
}

static void decide_end(const struct job *job, ns_t now, struct events *out)
{
    events_add(out, &(struct event){.type = EVENT_ENDED, .at = now, .cause = job_cause(job)});
}

/* Without its supervisor nothing of it could be started again. */
static void decide_paused(const struct job *job, ns_t now, struct events *out)
{
    if (job->cancel_signal || job->lost)
        decide_end(job, now, out);
    else if (!job->pause_wanted)
        events_add(out, &(struct event){.type = EVENT_ATTEMPT,
                                        .at = now,
                                        .attempt = job->attempt,
                                        .begin_at = now,
                                        .cause = job_cause(job)});
}

static void decide_held(const struct job *job, ns_t now, struct events *out)
{
    struct live live = count_live(job);

    if (job->cancel_signal || job->lost)
        decide_end(job, now, out);
    else if (job->hold_over)
        decide_next(job, live.commands + live.ranks == 0, now, out);
}

static void decide_role_kills(const struct job *job, ns_t now, struct events *out)
{
    for (uint32_t k = 0; k < job->plan->spec->n_roles; k++)
        if (due(job_role_kill_at(job, k), now))
            events_add(out, &(struct event){.type = EVENT_KILL_ROLE, .at = now, .role = k});
}

void job_decide(const struct job *job, ns_t now, struct events *out)
{
    if (job->phase == JOB_ENDED)
        return;
    if (job->phase == JOB_PAUSED) {
        decide_paused(job, now, out);
        return;
    }
    if (job->phase == JOB_HELD) {
        decide_held(job, now, out);
        return;
    }

    struct live live = count_live(job);
    bool over = all_ended(job, &live);

    if (over && (live.ranks == 0 || (job->phase == JOB_KILLING && due(kill_deadline(job), now)))) {
        decide_next(job, live.ranks == 0, now, out);
        return;
    }
    if (job->phase == JOB_KILLING) {
        if (due(kill_deadline(job), now))
            decide_next(job, false, now, out);
        return;
    }
    if (job->stop == STOP_NONE) {
        struct trigger t = job_trigger(job);
        struct event stop = {
            .type = over ? EVENT_KILL : EVENT_STOP,
            .at = now,
            .stop = over ? STOP_FINISHED : stop_wanted(job, &t, &live, now),
            .stop_replica = -1,
        };
        if (stop.stop == STOP_NOT_READY)
            add_late(job, &live, now, &stop);
        if (stop.stop != STOP_NONE) {
            events_add(out, &stop);
        } else if (t.outcome == OUTCOME_NONE) { /* else nothing begins any more */
            decide_starts(job, &live, now, out);
            decide_restarts(job, &live, now, out);
        }
        return;
    }
    if (job->cancel_again || due(stop_deadline(job), now))
        events_add(out, &(struct event){.type = EVENT_KILL, .at = now, .stop = job->stop});
    else
        decide_role_kills(job, now, out);
}

static ns_t earlier(ns_t a, ns_t b)
{
    return a == 0 ? b : b == 0 ? a : a < b ? a : b;
}

/* When something of a job that is being stopped is killed next. */
static ns_t next_kill(const struct job *job)
{
    ns_t at = stop_deadline(job);

    for (size_t k = 0; k < job->plan->spec->n_roles; k++)
        at = earlier(at, job_role_kill_at(job, k));
    return at;
}

ns_t job_wake(const struct job *job)
{
    if (job->phase == JOB_ENDED || job->phase == JOB_PAUSED || job->phase == JOB_HELD)
        return 0;
    if (job->phase == JOB_KILLING)
        return kill_deadline(job);
    if (job->stop != STOP_NONE)
        return next_kill(job);

    struct live live = count_live(job);
    struct trigger t = job_trigger(job);
    if (t.outcome == OUTCOME_SUCCEEDED) /* nobody waits for a replica any more */
        return earlier(earlier(linger_deadline(job, &t), job_deadline(job)), stall_deadline(job));
    ns_t at = earlier(gate_deadline(job, &live), stall_deadline(job));
    at = earlier(at, init_deadline(job));
    at = earlier(at, waiting_deadline(job));
    at = earlier(at, job_deadline(job));
    at = earlier(at, linger_deadline(job, &t));
    if (!job->begun && job->admitted)
        at = earlier(at, job->begin_at);
    for (uint32_t i = 0;
         t.outcome == OUTCOME_NONE && job->n_backoff > 0 && i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_BACKOFF)
            at = earlier(at, restart_time(job, &live, i));
    return at;
}
