/* cause.c - what failed first, and what that makes of everybody else.
 *
 * A launcher's own exit code is not trusted: mpirun returns 0 over failed ranks with some flags. A
 * rank of the *last* mpirun that failed is the cause if it failed before the launcher did; earlier
 * mpiruns do not count, the launcher's script has tried again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"

bool ending_ok(const struct ending *e)
{
    return e->known && e->code == 0 && e->exec_errno == 0;
}

bool ending_is_ours(const struct ending *e)
{
    return e->exec_errno && strcmp(e->exec_what, "exec") != 0;
}

int ending_exit_code(const struct ending *e)
{
    if (ending_is_ours(e))
        return 125; /* not the command's fault: it was never reached */
    switch (-e->exec_errno) {
    case 0:
        break;
    case ENOENT:
    case ENOTDIR:
        return 127;
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case EISDIR:
        return 126;
    default:
        return 125;
    }
    if (!e->known)
        return 128 + SIGKILL;
    return e->signal ? 128 + e->signal : e->code;
}

static enum cause_kind ending_kind(const struct ending *e)
{
    if (e->exec_errno)
        return CAUSE_EXEC;
    if (e->oom)
        return CAUSE_OOM;
    return e->signal || !e->known ? CAUSE_SIGNAL : CAUSE_EXIT;
}

static struct cause no_cause(void)
{
    return (struct cause){.replica = -1, .rank = -1, .process = -1, .launch = -1};
}

static struct cause job_level(enum cause_kind kind, ns_t at, int exit_code)
{
    struct cause c = no_cause();

    c.kind = kind;
    c.end = (struct ending){.at = at, .code = -1, .max_rss = -1};
    c.exit_code = exit_code;
    return c;
}

static struct cause of_process(const struct job *job, uint32_t process)
{
    struct ending e = job->procs[process].end;

    /* mpirun refuses a program that is not there before any rank exists, with a code of its own; with
     * --enable-recovery that code is 0 */
    if ((int32_t)process == job->plan->launcher && e.code >= 0 && !*e.init &&
        !job_last_launch(job) && job->plan->facts->program_errno) {
        e.exec_errno = job->plan->facts->program_errno;
        (void)snprintf(e.exec_what, sizeof(e.exec_what), "exec");
    }
    return (struct cause){
        .kind = ending_kind(&e),
        .replica = (int32_t)job->plan->processes[process].replica,
        .rank = job->plan->processes[process].rank,
        .process = (int32_t)process,
        .launch = -1,
        .end = e,
        .exit_code = ending_exit_code(&e),
    };
}

static struct cause of_rank(const struct job *job, uint32_t launch, uint32_t rank)
{
    const struct rank *r = &job->launches[launch].ranks[rank];

    return (struct cause){
        .kind = ending_kind(&r->end),
        .replica = (int32_t)r->replica,
        .rank = (int32_t)rank,
        .process = -1,
        .launch = (int32_t)launch,
        .end = r->end,
        .exit_code = ending_exit_code(&r->end),
    };
}

/* The process whose mpirun the ranks are of: the launcher. Where there is none, the task that failed
 * first; a task that ends with 0 over failed ranks is taken at its word. NULL: nobody. */
static const struct proc *caller_of_mpirun(const struct job *job)
{
    int32_t process = job->plan->launcher >= 0 ? job->plan->launcher : job->first_failed;

    return process >= 0 ? &job->procs[process] : NULL;
}

/* The failed rank of the last mpirun, unless its caller failed before it. */
static bool rank_is_cause(const struct job *job)
{
    const struct launch *l = job_last_launch(job);
    const struct proc *launcher = caller_of_mpirun(job);

    if (!l || l->first_failed < 0 || !launcher)
        return false;
    bool launcher_ok = launcher->state == PROC_ENDED && ending_ok(&launcher->end);
    if (launcher_ok && job->rules.trust_launcher)
        return false;
    return job->first_failed < 0 || l->ranks[l->first_failed].end.at <= launcher->end.at;
}

struct cause job_first_failure(const struct job *job)
{
    return job->first_failed >= 0 ? of_process(job, (uint32_t)job->first_failed) : no_cause();
}

/* Did mpirun end with 0 without starting what cannot be started? */
static bool nothing_ran(const struct job *job)
{
    const struct proc *launcher = caller_of_mpirun(job);

    return job->plan->launcher >= 0 && !job->debugging && launcher->state == PROC_ENDED &&
           ending_ok(&launcher->end) && !job_last_launch(job) && job->plan->facts->program_errno &&
           !job->rules.trust_launcher;
}

static struct cause of_failed_rank(const struct job *job)
{
    return of_rank(job, job->n_launches - 1, (uint32_t)job_last_launch(job)->first_failed);
}

struct cause job_cause(const struct job *job)
{
    if (job->plan->launcher >= 0 && rank_is_cause(job))
        return of_failed_rank(job);
    if (nothing_ran(job))
        return of_process(job, (uint32_t)job->plan->launcher);
    struct trigger t = job_trigger(job);
    if (t.outcome == OUTCOME_FAILED && t.unprepared >= 0)
        return of_process(job, (uint32_t)t.unprepared); /* no rule's business */
    if (t.outcome == OUTCOME_FAILED)
        return rank_is_cause(job) ? of_failed_rank(job) : job_first_failure(job);

    struct cause c = no_cause();
    switch (job->stop) {
    case STOP_CANCEL:
        return job_level(CAUSE_CANCELLED, job->stop_at, 128 + job->cancel_signal);
    case STOP_LOST:
        return job_level(CAUSE_LOST, job->stop_at, 125);
    case STOP_HANG:
        return job_level(CAUSE_HANG, job->stop_at, 124);
    case STOP_DEADLINE:
        return job_level(CAUSE_DEADLINE, job->stop_at, 124);
    case STOP_NOT_READY:
        c = job_level(CAUSE_NOT_READY, job->stop_at, 125);
        c.replica = job->stop_replica;
        return c;
    default:
        return c;
    }
}

int32_t job_stopped_by(const struct job *job)
{
    struct trigger t = job_trigger(job);

    return job->plan->launcher < 0 && t.outcome != OUTCOME_NONE ? t.replica
                                                                : job_cause(job).replica;
}

enum outcome job_proc_outcome(const struct job *job, uint32_t process)
{
    const struct proc *p = &job->procs[process];

    if (p->state == PROC_PENDING)
        return OUTCOME_NEVER_STARTED;
    if (p->state != PROC_ENDED)
        return job->phase == JOB_ENDED ? OUTCOME_STOPPED : OUTCOME_NONE;
    if (p->stop_asked)
        return OUTCOME_STOPPED;
    return ending_ok(&p->end) ? OUTCOME_SUCCEEDED : OUTCOME_FAILED;
}

enum outcome job_rank_outcome(const struct job *job, uint32_t launch, uint32_t rank)
{
    const struct launch *l = &job->launches[launch];
    const struct rank *r = &l->ranks[rank];

    if (r->state == PROC_PENDING)
        return OUTCOME_NEVER_STARTED;
    if (r->state != PROC_ENDED)
        return job->phase == JOB_ENDED ? OUTCOME_STOPPED : OUTCOME_NONE;
    if (ending_ok(&r->end))
        return OUTCOME_SUCCEEDED;
    if (r->stop_asked)
        return OUTCOME_STOPPED;
    /* mpirun ends the others after a failure, or when it is ended itself */
    const struct proc *launcher = caller_of_mpirun(job);
    bool first = l->first_failed == (int32_t)rank;
    bool launcher_before =
        launcher && launcher->state == PROC_ENDED && launcher->end.at < r->end.at;
    bool ended_by_mpirun = !r->end.known || r->end.signal == SIGTERM || r->end.signal == SIGKILL;
    return ended_by_mpirun && (!first || launcher_before) ? OUTCOME_STOPPED : OUTCOME_FAILED;
}

/* A waiting worker is what its ranks of the last mpirun are. */
static void replica_from_ranks(const struct job *job, uint32_t replica, struct replica_view *v)
{
    const struct launch *l = job_last_launch(job);
    ns_t failed_at = 0;

    for (uint32_t i = 0; l && i < l->size; i++) {
        const struct rank *r = &l->ranks[i];
        if (r->state == PROC_PENDING || r->replica != replica)
            continue;
        enum outcome o = job_rank_outcome(job, job->n_launches - 1, i);
        if (r->end.max_rss > v->max_rss)
            v->max_rss = r->end.max_rss;
        if (o == OUTCOME_FAILED && (failed_at == 0 || r->end.at < failed_at)) {
            failed_at = r->end.at;
            v->outcome = OUTCOME_FAILED;
            v->signal = r->end.signal;
            v->exit_code = r->end.signal ? -1 : ending_exit_code(&r->end);
        } else if (o == OUTCOME_STOPPED && v->outcome != OUTCOME_FAILED) {
            v->outcome = OUTCOME_STOPPED;
        }
    }
}

static void replica_add_process(const struct job *job, uint32_t process, struct replica_view *v)
{
    const struct proc *p = &job->procs[process];
    enum outcome o = job_proc_outcome(job, process);
    static const int weight[] = {
        [OUTCOME_NONE] = 0,    [OUTCOME_SUCCEEDED] = 1,     [OUTCOME_CANCELLED] = 1,
        [OUTCOME_STOPPED] = 2, [OUTCOME_NEVER_STARTED] = 3, [OUTCOME_FAILED] = 4,
    };

    if (p->restarts > v->restarts)
        v->restarts = p->restarts;
    if (p->started && (v->started == 0 || p->started < v->started))
        v->started = p->started;
    if (p->state == PROC_ENDED && p->end.at > v->ended)
        v->ended = p->end.at;
    if (p->state < v->state)
        v->state = p->state;
    if (p->state == PROC_ENDED && p->end.max_rss > v->max_rss)
        v->max_rss = p->end.max_rss;
    if (weight[o] < weight[v->outcome] || (weight[o] == weight[v->outcome] && v->outcome))
        return;
    v->outcome = o;
    if (p->state == PROC_ENDED) {
        v->signal = p->end.signal;
        v->exit_code = p->end.signal || !p->end.known ? -1 : ending_exit_code(&p->end);
    }
}

struct replica_view job_replica(const struct job *job, uint32_t replica)
{
    const struct replica *r = &job->plan->replicas[replica];
    struct replica_view v = {.state = PROC_ENDED, .exit_code = -1, .max_rss = -1};

    for (uint32_t i = 0; i < r->n_processes; i++)
        replica_add_process(job, r->first_process + i, &v);
    bool at_init = *job->procs[r->first_process].end.init; /* then no rank was ever in it */
    if (r->role->kind == ROLE_HOST && v.state != PROC_PENDING && job->phase == JOB_ENDED &&
        !at_init) {
        v.outcome = job->outcome == OUTCOME_SUCCEEDED ? OUTCOME_SUCCEEDED : OUTCOME_STOPPED;
        v.exit_code = -1;
        v.signal = 0;
        v.ended = v.ended ? v.ended : job->ended;
        replica_from_ranks(job, replica, &v);
    }
    return v;
}
