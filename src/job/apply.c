/* apply.c - the fold: one event into the state of a job. Nothing else in the project writes it.
 *
 * An event that does not fit the state (a second exit of the same process) is job_observe()'s
 * business to leave out; the fold itself only protects memory, not sense.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/attempt.h"
#include "job/blame.h"
#include "job/sight.h"

static bool has_counts(const struct job_spec *spec)
{
    for (size_t k = 0; k < spec->n_roles; k++) {
        const struct role *role = &spec->roles[k];

        if (role->min_failed != 0 || role->min_succeeded > 0 || role->first_decides)
            return true;
        for (size_t i = 0; i < role->n_tasks; i++)
            if (role->tasks[i].serves)
                return true;
    }
    return false;
}

struct job *job_new(const struct plan *plan, const struct job_rules *rules)
{
    struct job *job = xcalloc(1, sizeof(*job));

    job->counted = has_counts(plan->spec);
    job->gated =
        (plan->spec->gang && plan->launcher < 0 && plan->n_replicas > 1) || rules->preflight;
    job->plan = plan;
    job->rules = *rules;
    job->admitted = !rules->queued;
    job->attempt = 1;
    job->free_replica = -1;
    attempt_reset(job, 0);
    if (plan->spec->pause) {
        job->pause_wanted = true;
        job->phase = JOB_PAUSED;
    }
    job->debugging = plan->spec->debug;
    return job;
}

struct job *job_refused(const struct plan *plan, enum cause_kind kind, const char *why, ns_t at)
{
    static const struct job_rules no_rules = {0};
    struct job *job = job_new(plan, &no_rules);

    job->created = job->begin_at = at;
    job->refused = xstrdup(why);
    job->refused_kind = kind;
    job->ended = at;
    struct cause cause = job_cause(job);
    attempt_judge(job, at, &cause);
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    for (uint32_t i = 0; i < job->n_past; i++)
        attempt_release(&job->past[i]);
    free(job->past);
    attempt_release(job);
    free(job);
}

void job_activity(struct job *job, ns_t at)
{
    if (at > job->activity)
        job->activity = at;
}

static void proc_move(struct job *job, uint32_t process, enum proc_state to)
{
    struct proc *p = &job->procs[process];
    uint32_t *const counts[] = {
        [PROC_PENDING] = &job->n_pending,   [PROC_BACKOFF] = &job->n_backoff,
        [PROC_STARTING] = &job->n_starting, [PROC_RUNNING] = &job->n_running,
        [PROC_ENDED] = &job->n_ended,
    };

    (*counts[p->state])--;
    (*counts[to])++;
    p->state = to;
}

static void apply_proc_end(struct job *job, const struct event *e)
{
    struct proc *p = &job->procs[e->process];

    p->end = e->end;
    p->end.at = e->at;
    p->stop_asked = job->stop != STOP_NONE;
    job_activity(job, e->at);
    if (e->end.fate)
        sight_keep_why(job, job->plan->processes[e->process].replica, e->text);
    if (e->again) {
        p->restart_at = e->begin_at;
        p->restarts_counted += e->counted;
        job->restarts_counted += e->counted;
        p->restarts_free = e->counted ? 0 : p->restarts_free + 1;
        proc_move(job, e->process, PROC_BACKOFF);
        return;
    }
    proc_move(job, e->process, PROC_ENDED);
    if (p->stop_asked || ending_ok(&p->end))
        return;
    if (job->first_failed < 0 || e->at < job->procs[job->first_failed].end.at)
        job->first_failed = (int32_t)e->process;
}

static void apply_restart(struct job *job, uint32_t process)
{
    struct proc *p = &job->procs[process];

    p->restarts++;
    p->end = (struct ending){0};
    proc_move(job, process, PROC_STARTING);
    if ((int32_t)process == job->plan->launcher)
        job->launch_base = job->n_launches;
}

static void apply_started(struct job *job, const struct event *e)
{
    job->procs[e->process].started = e->at;
    proc_move(job, e->process, PROC_RUNNING);
    if (!job_waits(job, e->process) && job->deadline_from == 0)
        job->deadline_from = e->at;
}

/* What waits to be started again does so no longer. */
static void end_backoffs(struct job *job)
{
    for (uint32_t i = 0; job->n_backoff > 0 && i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_BACKOFF) {
            job->procs[i].stop_asked = true;
            proc_move(job, i, PROC_ENDED);
        }
}

static void apply_gate(struct job *job, uint32_t replica, enum gate_state to)
{
    job->n_up += to == GATE_UP && job->gates[replica] != GATE_UP;
    job->gates[replica] = to;
}

/* The job runs as soon as nothing is left to be started. */
static void note_running(struct job *job, ns_t at)
{
    if (job->n_pending + job->n_starting == 0 && job->n_running > 0 && job->phase == JOB_PENDING) {
        job->phase = JOB_RUNNING;
        job->running_at = at;
    }
}

/* A launch is known by its number; numbers are given in order, so at most one is new. */
static struct launch *launch_get(struct job *job, uint32_t number, uint32_t size)
{
    while (job->n_launches < number) {
        job->launches = xrealloc_array(job->launches, job->n_launches + 1, sizeof(*job->launches));
        job->launches[job->n_launches++] = (struct launch){.first_failed = -1};
    }
    struct launch *l = &job->launches[number - 1];
    if (size > l->size) {
        l->ranks = xrealloc_array(l->ranks, size, sizeof(*l->ranks));
        memset(l->ranks + l->size, 0, (size - l->size) * sizeof(*l->ranks));
        l->size = size;
    }
    return l;
}

static void apply_rank_started(struct job *job, const struct event *e)
{
    struct launch *l = launch_get(job, e->launch, e->size > e->rank ? e->size : e->rank + 1);
    struct rank *r = &l->ranks[e->rank];

    if (r->state == PROC_ENDED)
        l->ended--;
    if (r->state == PROC_PENDING)
        l->started++;
    free(r->log);
    *r = (struct rank){
        .state = PROC_RUNNING,
        .replica = e->replica,
        .incarnations = r->incarnations + 1,
        .forwarded = e->forwarded,
        .started = e->at,
        .log = e->log ? xstrdup(e->log) : NULL,
    };
    if (l->first_failed == (int32_t)e->rank)
        l->first_failed = rank_first_failed(l); /* it lives anew: that failure is mended */
    l->began = e->began ? e->began : l->began;
    l->program = e->program ? e->program : l->program;
    job_activity(job, e->at);
}

static void apply_rank_exited(struct job *job, const struct event *e)
{
    struct launch *l = &job->launches[e->launch - 1];
    struct rank *r = &l->ranks[e->rank];

    r->state = PROC_ENDED;
    r->end = e->end;
    r->end.at = e->at;
    r->stop_asked = job->stop != STOP_NONE;
    l->ended++;
    if (e->end.fate)
        sight_keep_why(job, r->replica, e->text);
    if (e->at > l->last_end)
        l->last_end = e->at;
    job_activity(job, e->at);
    if (!rank_failed(l, e->rank))
        return;
    if (l->first_failed < 0 || rank_failed_before(l, e->rank, (uint32_t)l->first_failed))
        l->first_failed = (int32_t)e->rank;
}

/* What has ended since its daemon was lost has not failed. */
static void apply_blamed(struct job *job, const struct event *e)
{
    struct launch *l = launch_get(job, e->launch, 0);

    l->blame = (struct blame){
        .kind = e->blame, .at = e->at, .rank = e->rank, .replica = e->replica, .end = e->end};
    l->blame.end.at = e->at;
    l->first_failed = rank_first_failed(l);
}

/* One that has failed without a rank is known by its end alone. */
static void apply_mpirun_ended(struct job *job, const struct event *e)
{
    bool is_new = e->launch > job->n_launches;
    struct launch *l = launch_get(job, e->launch, 0);

    l->over = e->at;
    if (!is_new)
        return;
    l->began = e->began;
    l->program = e->program;
    l->code = ending_exit_code(&e->end);
    l->unwatched = e->end.unobserved;
}

/* Losing the supervisor loses everything it supervised: its pid namespace died with it. */
static void apply_lost(struct job *job, const struct event *e)
{
    job->lost = true;
    job->silent = e->silent;
    end_backoffs(job);
    if (job->stop == STOP_NONE || job->stop == STOP_PAUSE || job->stop == STOP_DEBUG) {
        job->stop = STOP_LOST;
        job->stop_at = e->at;
    }
    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        if (job->procs[i].state != PROC_STARTING && job->procs[i].state != PROC_RUNNING)
            continue;
        job->procs[i].end = (struct ending){.at = e->at, .code = -1, .max_rss = -1};
        job->procs[i].stop_asked = true;
        proc_move(job, i, PROC_ENDED);
    }
    for (uint32_t n = 0; n < job->n_launches; n++) {
        struct launch *l = &job->launches[n];
        for (uint32_t i = 0; i < l->size; i++) {
            if (l->ranks[i].state != PROC_RUNNING)
                continue;
            l->ranks[i].state = PROC_ENDED;
            l->ranks[i].end = (struct ending){.at = e->at, .code = -1, .max_rss = -1};
            l->ranks[i].stop_asked = true;
            l->ended++;
        }
    }
}

static void apply_stop(struct job *job, const struct event *e)
{
    if (job->stop == STOP_NONE) {
        job->stop = e->stop;
        job->stop_replica = e->stop_replica;
        job->stop_fate = e->end.fate;
        job->stop_at = e->at;
        if (e->stop == STOP_NOT_READY)
            sight_keep_why(job, (uint32_t)e->stop_replica, e->text);
        end_backoffs(job);
    }
    job->phase = JOB_STOPPING;
}

/* A pause, or the end of the debugging, that is asked to be the end: for whatever it has stopped,
 * nothing changes. */
static void apply_cancel(struct job *job, const struct event *e)
{
    job->cancel_again = job->cancel_signal != 0;
    if (job->cancel_again)
        return;
    job->cancel_signal = e->signal;
    job->cancel_asked = e->asked;
    if (job->phase == JOB_PAUSED)
        job->stop_at = e->at;
    if (job->phase == JOB_PAUSED || job->stop == STOP_PAUSE || job->stop == STOP_DEBUG)
        job->stop = STOP_CANCEL;
}

/* It is one thing that is gone on with: what was held has failed, so it cannot be paused, and a
 * pause of a job that is debugged is not the end of the debugging. */
static void apply_resume(struct job *job)
{
    if (job->phase == JOB_HELD)
        job->hold_over = true;
    else if (job->pause_wanted)
        job->pause_wanted = false;
    else
        job->debug_over = true;
}

void job_apply(struct job *job, const struct event *e)
{
    sight_apply(job, e);
    switch (e->type) {
    case EVENT_CREATED:
        job->created = job->begin_at = e->at;
        job->random = e->random;
        job_activity(job, e->at);
        break;
    case EVENT_OPEN:
        job->begun = true;
        apply_gate(job, e->replica, GATE_ASKED);
        break;
    case EVENT_OPENED:
        apply_gate(job, e->replica, GATE_UP);
        break;
    case EVENT_START:
        job->begun = true;
        proc_move(job, e->process, PROC_STARTING);
        break;
    case EVENT_RESTART:
        apply_restart(job, e->process);
        break;
    case EVENT_STARTED:
        apply_started(job, e);
        note_running(job, e->at);
        break;
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        apply_proc_end(job, e);
        note_running(job, e->at);
        break;
    case EVENT_RANK_STARTED:
        apply_rank_started(job, e);
        break;
    case EVENT_RANK_EXITED:
        apply_rank_exited(job, e);
        break;
    case EVENT_CANCEL:
        apply_cancel(job, e);
        break;
    case EVENT_PAUSE:
        job->pause_wanted = true;
        break;
    case EVENT_PAUSED:
        attempt_pause(job, e);
        break;
    case EVENT_RESUME:
        apply_resume(job);
        break;
    case EVENT_HELD:
        job->phase = JOB_HELD;
        job->held_at = e->at;
        job->pause_wanted = false; /* it came too late: nothing ran any more */
        break;
    case EVENT_ATTEMPT:
        attempt_begin(job, e);
        break;
    case EVENT_LOST:
        apply_lost(job, e);
        break;
    case EVENT_HUNG:
        free(job->hung);
        job->hung = xstrdup(e->text);
        break;
    case EVENT_STOP:
        apply_stop(job, e);
        break;
    case EVENT_KILL:
        apply_stop(job, e);
        job->phase = JOB_KILLING;
        job->kill_at = e->at;
        break;
    case EVENT_BLAMED:
        apply_blamed(job, e);
        break;
    case EVENT_MPIRUN_ENDED:
        apply_mpirun_ended(job, e);
        break;
    case EVENT_WAITING:
        sight_apply_waiting(job, e);
        break;
    case EVENT_UNKNOWN:
        job->sight[e->replica].lost = true;
        job->sight[e->replica].since = e->at;
        break;
    case EVENT_REMOVAL:
    case EVENT_SEEN:
        break;
    case EVENT_ADMITTED:
        job->admitted = true;
        job->begin_at = e->at > job->begin_at ? e->at : job->begin_at;
        break;
    case EVENT_KILL_ROLE:
        job->role_killed[e->role] = true;
        break;
    case EVENT_ENDED:
        attempt_judge(job, e->at, &e->cause);
        break;
    }
}
