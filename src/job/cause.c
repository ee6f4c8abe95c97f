/* cause.c - what failed first, and what that makes of everybody else.
 *
 * A launcher's own exit code is not trusted: mpirun returns 0 over failed ranks with some flags. A
 * failed rank is the cause if it failed before the launcher did, unless the launcher's script has
 * tried that mpirun again (tries.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "job/blame.h"
#include "job/sight.h"
#include "job/tries.h"

bool ending_ok(const struct ending *e)
{
    return e->known && e->code == 0 && e->exec_errno == 0;
}

bool ending_is_refused(const struct ending *e)
{
    return e->fate == CAUSE_IMAGE || e->fate == CAUSE_UNSCHEDULABLE || e->fate == CAUSE_NOT_READY;
}

bool ending_is_ours(const struct ending *e)
{
    return ending_is_refused(e) || (e->exec_errno && strcmp(e->exec_what, "exec") != 0);
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
    case EILSEQ:  /* its interpreter: spawn.c */
    case ELIBACC: /* likewise */
    case ELIBBAD:
    case ELIBEXEC:
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
        return 125; /* nobody can say: no signal is made up */
    return e->signal ? 128 + e->signal : e->code;
}

static enum cause_kind ending_kind(const struct ending *e)
{
    if (e->fate)
        return e->fate;
    if (e->exec_errno)
        return CAUSE_EXEC;
    if (e->oom)
        return CAUSE_OOM;
    if (!e->known)
        return CAUSE_GONE;
    return e->signal ? CAUSE_SIGNAL : CAUSE_EXIT;
}

static struct cause no_cause(void)
{
    return (struct cause){.replica = -1, .rank = -1, .process = -1, .launch = -1};
}

static struct cause job_level(enum cause_kind kind, ns_t at, int exit_code)
{
    struct cause c = no_cause();

    c.kind = kind;
    c.end =
        (struct ending){.at = at, .code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};
    c.exit_code = exit_code;
    return c;
}

static struct cause of_process(const struct job *job, uint32_t process)
{
    struct ending e = job->procs[process].end;

    /* mpirun refuses a program that is not there before any rank exists, with a code of its own,
     * or with 0 (--enable-recovery) */
    if ((int32_t)process == job->plan->launcher && e.code >= 0 && !*e.init &&
        !job_last_launch(job) && job->plan->facts->machine.program_errno) {
        e.exec_errno = job->plan->facts->machine.program_errno;
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

/* The failed rank of the mpirun that counts, unless its caller failed before it. */
static bool rank_is_cause(const struct job *job)
{
    const struct launch *l = job_judged(job);
    const struct proc *launcher = blame_caller(job);

    if (!l || l->first_failed < 0 || !launcher)
        return false;
    bool launcher_ok = launcher->state == PROC_ENDED && ending_ok(&launcher->end);
    if (launcher_ok && job->rules.trust_launcher)
        return false;
    return launcher->state == PROC_ENDED ? l->ranks[l->first_failed].end.at <= launcher->end.at
                                         : job->first_failed < 0;
}

struct cause job_first_failure(const struct job *job)
{
    return job->first_failed >= 0 ? of_process(job, (uint32_t)job->first_failed) : no_cause();
}

/* Did mpirun end with 0 without starting what cannot be started? */
static bool nothing_ran(const struct job *job)
{
    const struct proc *launcher = blame_caller(job);

    return job->plan->launcher >= 0 && !job->debugging && launcher->state == PROC_ENDED &&
           ending_ok(&launcher->end) && !job_last_launch(job) &&
           job->plan->facts->machine.program_errno && !job->rules.trust_launcher;
}

static struct cause of_failed_rank(const struct job *job)
{
    int32_t k = job_judged_launch(job);

    return of_rank(job, (uint32_t)k, (uint32_t)job->launches[k].first_failed);
}

/* --- whoever made mpirun end its ranks ----------------------------------------------------------
 */

static bool launcher_ok(const struct job *job)
{
    const struct proc *p = &job->procs[job->plan->launcher];

    return p->state == PROC_ENDED && ending_ok(&p->end);
}

/* Does the launcher's end decide? Not one that we asked for, unless it hung over ranks that were
 * lost. */
static bool launcher_decides(const struct job *job)
{
    const struct proc *p = &job->procs[job->plan->launcher];
    bool first = job->first_failed < 0 || job->first_failed == job->plan->launcher;

    return p->state == PROC_ENDED && (!p->stop_asked || job->stop == STOP_STALLED) && first &&
           !job->debugging && !(ending_ok(&p->end) && job->rules.trust_launcher);
}

/* A rank that aborted, or left before the others. Its own status may be 0. */
static struct cause of_blamed_rank(const struct job *job, const struct blame *b)
{
    struct cause c = of_rank(job, (uint32_t)job_judged_launch(job), b->rank);
    const struct proc *p = &job->procs[job->plan->launcher];
    int launcher = p->stop_asked ? 1 : ending_exit_code(&p->end); /* else that is our signal */
    int code = blame_is_abort(b) ? b->end.code & 0xff : launcher;

    c.blame = b->kind;
    c.kind = CAUSE_EXIT;
    c.end.at = b->at;
    c.end.signal = 0;
    c.end.known = true;
    c.end.code = blame_is_abort(b) ? b->end.code : 0;
    c.exit_code = code ? code : 1;
    return c;
}

/* A daemon whose replica was taken away ended with it, whatever signal it got. What happens to the
 * replicas of a job that is held comes after its failure. */
static struct cause of_daemon(const struct job *job, const struct blame *b)
{
    const struct ending *of_host = &job->procs[job->plan->replicas[b->replica].first_process].end;
    bool later = job->phase == JOB_HELD && of_host->at > job->held_at;
    const struct ending *end = of_host->fate && !later ? of_host : &b->end;
    int code = ending_exit_code(end);

    return (struct cause){
        .kind = ending_kind(end),
        .replica = (int32_t)b->replica,
        .rank = -1,
        .process = -1,
        .launch = -1, /* no rank's */
        .blame = end->fate ? BLAME_NONE : b->kind,
        .end = *end,
        .exit_code = code ? code : 1,
    };
}

/* The launcher itself: it failed, left ranks behind, or ended with 0 over ranks that were stopped.
 */
static struct cause of_launcher(const struct job *job, const struct blame *b)
{
    struct cause c = of_process(job, (uint32_t)job->plan->launcher);

    bool signalled = b->kind == BLAME_SIGNAL;

    c.blame = signalled || b->kind == BLAME_TIMEOUT ? b->kind : BLAME_NONE;
    if (!launcher_ok(job))
        return c;
    c.kind = signalled ? CAUSE_SIGNAL : CAUSE_EXIT;
    c.end.signal = signalled ? b->end.signal : 0;
    c.exit_code = signalled ? 128 + b->end.signal : 1;
    return c;
}

/* An mpirun that failed and had no ranks: because it lost a daemon; or the launcher ended with 0
 * over it, and mpirun's own status is all there is. */
static bool no_rank_cause(const struct job *job, struct cause *ret)
{
    const struct launch *l = launch_without_ranks(job);
    const struct launch *judged = job_judged(job);
    bool of_its_daemon = l && l->blame.kind != BLAME_NONE;

    if (!l || !launcher_decides(job) || (!of_its_daemon && !launcher_ok(job)) ||
        (job->procs[job->plan->launcher].stop_asked && job->stop != STOP_STALLED) ||
        (judged && launch_failed_at(judged) && launch_failed_at(judged) < launch_failed_at(l)))
        return false;
    if (of_its_daemon) {
        *ret = of_daemon(job, &l->blame);
        return true;
    }
    *ret = of_process(job, (uint32_t)job->plan->launcher);
    ret->blame = BLAME_NOTHING;
    ret->kind = CAUSE_EXIT;
    ret->end.at = l->over;
    ret->end.code = l->code;
    ret->end.unobserved = l->unwatched;
    ret->exit_code = l->code;
    return true;
}

/* What ended the ranks of the mpirun that counts, where none of them failed before that. */
static bool blame_cause(const struct job *job, struct cause *ret)
{
    const struct proc *launcher = &job->procs[job->plan->launcher];
    struct blame b = blame_find(job);

    if (!launcher_decides(job))
        return false;
    bool unfinished = job_ranks_unfinished(job) > 0;
    if ((blame_is_abort(&b) || b.kind == BLAME_EARLY) && (unfinished || !launcher_ok(job)))
        *ret = of_blamed_rank(job, &b);
    else if ((b.kind == BLAME_DAEMON || b.kind == BLAME_AGENT) && (unfinished || !launcher_ok(job)))
        *ret = of_daemon(job, &b); /* of its ranks perhaps nothing was ever heard */
    else if ((unfinished || *launcher->end.left) && !launcher->stop_asked)
        *ret = of_launcher(job, &b);
    else
        return false;
    return true;
}

static bool launch_failed_before(const struct launch *l, ns_t at)
{
    ns_t failed = l ? launch_failed_at(l) : 0;

    return failed && failed < at;
}

/* A replica that was being removed when mpirun failed. mpirun notices that at once, and the
 * launcher may have ended while the replica still has its grace period. */
static bool removal_cause(const struct job *job, struct cause *ret)
{
    const struct launch *l = job_judged(job);
    int32_t replica = sight_first_removed(job);
    ns_t at = replica >= 0 ? job->sight[replica].removed_at : 0;

    if (replica < 0 || replica == (int32_t)job->plan->processes[job->plan->launcher].replica ||
        !launcher_decides(job) || at > job->procs[job->plan->launcher].end.at ||
        launch_failed_before(l, at) || launch_failed_before(launch_without_ranks(job), at) ||
        (launcher_ok(job) && job_ranks_unfinished(job) == 0 && !(l && l->first_failed >= 0)))
        return false;
    *ret = job_level(job->sight[replica].removed, at, 125);
    ret->replica = replica;
    ret->end.fate = ret->kind;
    return true;
}

/* Did the rank fail before anything else made mpirun end the others? */
static bool rank_came_first(const struct job *job)
{
    const struct launch *l = job_judged(job);
    const struct rank *r = &l->ranks[l->first_failed];
    bool itself = blame_is_abort(&l->blame) && (int32_t)l->blame.rank == l->first_failed;

    return l->blame.kind == BLAME_NONE || l->blame.kind == BLAME_SIGNAL ||
           l->blame.kind == BLAME_TIMEOUT || r->end.at <= l->blame.at || itself;
}

struct cause job_cause(const struct job *job)
{
    struct cause blamed;

    if (job->refused)
        return job_level(job->refused_kind, job->ended, 125);
    if (job->plan->launcher >= 0 && !nothing_ran(job) &&
        (removal_cause(job, &blamed) || no_rank_cause(job, &blamed)))
        return blamed;
    if (job->plan->launcher >= 0 && rank_is_cause(job) && rank_came_first(job))
        return of_failed_rank(job);
    if (job->plan->launcher >= 0 && blame_cause(job, &blamed))
        return blamed;
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
        c = job_level(job->stop_fate ? job->stop_fate : CAUSE_NOT_READY, job->stop_at, 125);
        c.replica = job->stop_replica;
        c.end.fate = job->stop_fate;
        /* an init container that was ended because of it */
        memcpy(c.end.init,
               job->procs[job->plan->replicas[job->stop_replica].first_process].end.init,
               sizeof(c.end.init));
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

    if (p->state == PROC_PENDING || p->end.exec_errno == ENDING_NOT_STARTED)
        return OUTCOME_NEVER_STARTED;
    if (p->state != PROC_ENDED)
        return job->phase == JOB_ENDED ? OUTCOME_STOPPED : OUTCOME_NONE;
    if (p->stop_asked && !p->end.by_itself)
        return OUTCOME_STOPPED;
    return ending_ok(&p->end) ? OUTCOME_SUCCEEDED : OUTCOME_FAILED;
}

/* A rank may fail with 0, or although mpirun told it to end: it made mpirun do so. */
static bool is_culprit(const struct job *job, uint32_t launch, uint32_t rank)
{
    const struct blame *b = &job->launches[launch].blame;
    bool reported = blame_is_abort(b) || b->kind == BLAME_EARLY;

    if (reported)
        return b->rank == rank;
    return job->phase == JOB_ENDED && job->cause.blame == BLAME_EARLY &&
           job->cause.launch == (int32_t)launch && job->cause.rank == (int32_t)rank;
}

enum outcome job_rank_outcome(const struct job *job, uint32_t launch, uint32_t rank)
{
    const struct launch *l = &job->launches[launch];
    const struct rank *r = &l->ranks[rank];

    if (r->state == PROC_PENDING)
        return OUTCOME_NEVER_STARTED;
    if (r->state != PROC_ENDED)
        return job->phase == JOB_ENDED ? OUTCOME_STOPPED : OUTCOME_NONE;
    if (is_culprit(job, launch, rank))
        return OUTCOME_FAILED;
    if (ending_ok(&r->end))
        return OUTCOME_SUCCEEDED;
    /* its daemon ends it when mpirun is gone */
    const struct proc *launcher = blame_caller(job);
    bool launcher_before =
        launcher && launcher->state == PROC_ENDED && launcher->end.at < r->end.at;
    return rank_failed(l, rank) && !launcher_before ? OUTCOME_FAILED : OUTCOME_STOPPED;
}

static bool was_left(const struct proc *launcher, const struct rank *r)
{
    ns_t until = launcher->end.at;

    return r->state == PROC_RUNNING ||
           (r->state == PROC_ENDED && r->end.at > until && !ending_ok(&r->end) &&
            (r->end.told == 0 || r->end.told > until));
}

/* Those of earlier mpiruns too: a script may leave the first behind and wait for the second. */
/* Ranks of an mpirun that was killed may outlive it by a moment: those of one that was tried again
 * are not the launcher's any more. */
uint32_t job_ranks_left(const struct job *job)
{
    const struct proc *launcher = job->plan->launcher >= 0 ? blame_caller(job) : NULL;
    uint32_t n = 0;

    if (!launcher || launcher->state != PROC_ENDED)
        return 0;
    for (uint32_t k = job->launch_base; k < job->n_launches; k++)
        for (uint32_t i = 0; i < job->launches[k].size; i++)
            n += was_left(launcher, &job->launches[k].ranks[i]) &&
                 !(job->launches[k].over && launch_tried_again(job, k));
    return n;
}

uint32_t job_ranks_unfinished(const struct job *job)
{
    const struct launch *l = job_judged(job);
    const struct proc *launcher = blame_caller(job);
    uint32_t n = job_ranks_left(job);

    for (uint32_t i = 0; l && launcher && i < l->size; i++) {
        const struct rank *r = &l->ranks[i];
        n += r->state == PROC_ENDED && !ending_ok(&r->end) && !rank_failed(l, i) &&
             !was_left(launcher, r);
    }
    return n;
}

/* A waiting worker is what its ranks of the mpirun that counts are. */
static void replica_from_ranks(const struct job *job, uint32_t replica, struct replica_view *v)
{
    int32_t judged = job_judged_launch(job);
    const struct launch *l = judged >= 0 ? &job->launches[judged] : NULL;
    ns_t failed_at = 0;

    for (uint32_t i = 0; l && i < l->size; i++) {
        const struct rank *r = &l->ranks[i];
        if (r->state == PROC_PENDING || r->replica != replica)
            continue;
        enum outcome o = job_rank_outcome(job, (uint32_t)judged, i);
        if (r->end.max_rss > v->max_rss)
            v->max_rss = r->end.max_rss;
        if (o == OUTCOME_FAILED && (failed_at == 0 || r->end.at < failed_at)) {
            failed_at = r->end.at;
            v->outcome = OUTCOME_FAILED;
            v->signal = r->end.signal;
            v->exit_code = r->end.signal || !r->end.known ? -1 : ending_exit_code(&r->end);
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

    v->running += p->state == PROC_RUNNING;
    if (p->restarts > v->restarts)
        v->restarts = p->restarts;
    if (p->started && (v->started == 0 || p->started < v->started))
        v->started = p->started;
    bool over = p->state == PROC_ENDED || p->state == PROC_BACKOFF;
    if (over && p->end.at > v->ended)
        v->ended = p->end.at;
    if (p->state < v->state)
        v->state = p->state;
    if (over && p->end.max_rss > v->max_rss)
        v->max_rss = p->end.max_rss;
    if (weight[o] < weight[v->outcome] || (weight[o] == weight[v->outcome] && v->outcome))
        return;
    v->outcome = o;
    if (over) {
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
    v.unseen = job->sight[replica].lost ? job->sight[replica].since : 0;
    if (v.running > 0 && job->phase != JOB_ENDED) {
        v.ended = 0;
        if (v.outcome == OUTCOME_SUCCEEDED) {
            v.outcome = OUTCOME_NONE;
            v.exit_code = -1;
        }
    }
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
