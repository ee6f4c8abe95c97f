/* retry.c - what follows a failure: another attempt of the job, a restart of one process, or
 * nothing.
 *
 * Three rules meet here. OpenPAI retries by the class of the failure first and by a number second,
 * for the whole job or, where its tasks are no gang, for a task. Kubernetes' restart policies start
 * a process again in its place. And what nobody retries: what somebody asked for (cancel,
 * deadline), and what is not known to have failed (lost).
 *
 * OpenPAI retries failures of its own making without counting them, for ever. Here a failure counts
 * after FREE_RETRIES of them in a row because of the same replica: nothing but the job itself is
 * left to be their reason. Kubeflow's operators, given no backoffLimit, start a process again for
 * ever as well; here that ends after LIMIT_RESTARTS.
 *
 * Nothing here is random: where OpenPAI rolls dice, the job's own number and the number of the try
 * are mixed.
 */
#include "base/limits.h"
#include "job/job.h"

#define FREE_RETRIES 3
#define QUICK_RETRIES 3
#define CONFLICT_MIN_S 60
#define CONFLICT_MAX_S 900
#define BACKOFF_MIN_S 10
#define BACKOFF_MAX_S 300
#define RETRY_MAX_S 60

/* --- OpenPAI's order ---------------------------------------------------------------------------
 */

struct tries { /* what was spent so far, and on what the dice depend */
    uint32_t total, counted, free_run;
    uint64_t random; /* two of the same job differ */
};

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t conflict_delay_ms(const struct tries *t)
{
    uint64_t range = (CONFLICT_MAX_S - CONFLICT_MIN_S) * UINT64_C(1000) + 1;

    return CONFLICT_MIN_S * INT64_C(1000) + (int64_t)(mix(t->random + t->total) % range);
}

/* The platform took it away: that is no failure of the job, whoever counts. Somebody who deletes
 * a replica may have meant it: that counts. */
static bool is_platforms(const struct ending *e)
{
    return e && e->fate == CAUSE_EVICTED;
}

static struct retry by_policy(struct retry_policy policy, const struct tries *t, bool failed,
                              bool platforms, enum failure_class class)
{
    struct retry none = {0}, counted = {.again = true, .counted = true};
    bool free = class == FAILURE_TRANSIENT || class == FAILURE_CONFLICT;

    if (policy.by_class && failed) {
        if (class == FAILURE_PERMANENT)
            return none;
        if (free && t->free_run < FREE_RETRIES)
            return (struct retry){.again = true,
                                  .delay_ms = class == FAILURE_CONFLICT ? conflict_delay_ms(t) : 0};
    }
    if (failed && platforms && policy.max != 0 && t->free_run < FREE_RETRIES)
        return (struct retry){.again = true};
    if (policy.max == -2)
        return counted;
    if (failed && (policy.max == -1 || (policy.max > 0 && t->counted < (uint32_t)policy.max)))
        return counted;
    return none;
}

/* --- the whole job -----------------------------------------------------------------------------
 */

const struct ending *job_judged_by(const struct job *job)
{
    struct trigger t = job_trigger(job);
    struct cause c = job_cause(job);

    if (t.outcome == OUTCOME_FAILED && t.replica >= 0 && t.replica != c.replica) {
        const struct replica *r = &job->plan->replicas[t.replica];
        for (uint32_t i = 0; i < r->n_processes; i++) {
            const struct proc *p = &job->procs[r->first_process + i];
            if (p->state == PROC_ENDED && !p->stop_asked && !ending_ok(&p->end))
                return &p->end;
        }
    }
    if (c.process >= 0)
        return &job->procs[c.process].end;
    return c.rank >= 0 ? &job->launches[c.launch].ranks[c.rank].end : NULL;
}

/* OpenPAI tries a gang that did not come together (251) again later, because other jobs may hold
 * what it needs. Here that is nobody's fault but this machine's. */
static bool is_final(enum cause_kind kind)
{
    return kind == CAUSE_CANCELLED || kind == CAUSE_LOST || kind == CAUSE_DEADLINE ||
           kind == CAUSE_HANG || kind == CAUSE_NOT_READY || kind == CAUSE_IMAGE ||
           kind == CAUSE_UNSCHEDULABLE;
}

/* The first ones at once, as on a cluster. A job that is tried again and again has to leave its
 * machine some time between: 1, 2, 4 … 60 s. */
static int64_t retry_delay_ms(uint32_t retries)
{
    int64_t s = 1;

    if (retries < QUICK_RETRIES)
        return 0;
    for (uint32_t i = QUICK_RETRIES; i < retries && s < RETRY_MAX_S; i++)
        s *= 2;
    return (s < RETRY_MAX_S ? s : RETRY_MAX_S) * 1000;
}

struct retry job_retry(const struct job *job)
{
    struct retry none = {0}, r;
    struct cause c = job_cause(job);
    struct tries t = {
        .total = job->retries, .counted = job->retries_counted, .random = job->random};

    if (job->cancel_signal || job->lost || is_final(c.kind))
        return none;
    if (c.replica == job->free_replica)
        t.free_run = job->retries_free;
    bool failed = c.kind != CAUSE_NONE;
    const struct ending *judge = failed ? job_judged_by(job) : NULL;
    if (failed && c.end.exec_errno) /* it would fail the same way again */
        return none;
    r = by_policy(job->plan->spec->retry, &t, failed, is_platforms(judge),
                  judge ? failure_class(judge) : FAILURE_UNKNOWN);
    if (r.again && r.delay_ms == 0)
        r.delay_ms = retry_delay_ms(job->retries);
    return r;
}

/* --- one process -------------------------------------------------------------------------------
 */

/* The first at once, then after 10, 20, 40 … 300 s. */
static int64_t restart_delay_ms(uint32_t restarts)
{
    int64_t s = BACKOFF_MIN_S;

    if (restarts == 0)
        return 0;
    for (uint32_t i = 1; i < restarts && s < BACKOFF_MAX_S; i++)
        s *= 2;
    return (s < BACKOFF_MAX_S ? s : BACKOFF_MAX_S) * 1000;
}

/* Is a success of this replica what the job waits for? */
static bool success_decides(const struct replica *r)
{
    return r->role->min_succeeded > 0 || (r->role->first_decides && r->index == 0);
}

/* A container that is always started again never succeeds, and on a cluster only somebody else's
 * success ends such a job. Here a success counts where the job waits for it, or where no number
 * says how often it is to be repeated. */
static bool repeats_success(const struct job *job, const struct replica *r)
{
    return (job->plan->spec->has_restart_budget || r->role->restart_limit > 0) &&
           !success_decides(r);
}

static bool restart_wanted(const struct job *job, const struct replica *r, const struct ending *e)
{
    switch (r->role->restart) {
    case RESTART_ON_FAILURE:
        return !ending_ok(e);
    case RESTART_ALWAYS:
        return !ending_ok(e) || repeats_success(job, r);
    case RESTART_EXIT_CODE:
        return !e->known || ending_exit_code(e) >= 128; /* a pod that is gone is made again */
    default:
        return false;
    }
}

/* The job's budget pays for the restarts of all processes together, whatever became of them; a
 * number of the role's own is for each of its processes. */
static bool restarts_left(const struct job *job, const struct role *role, const struct proc *p)
{
    const struct job_spec *spec = job->plan->spec;
    int32_t each = role->restart_limit;

    if (spec->has_restart_budget) {
        if (job->restarts_counted >= (uint32_t)spec->restart_budget)
            return false;
        return each <= 0 || p->restarts_counted < (uint32_t)each;
    }
    return p->restarts_counted < (each < 0 ? LIMIT_RESTARTS : (uint32_t)each);
}

/* Does the file allow restarts at all? */
static bool may_restart(const struct job *job, const struct role *role)
{
    const struct job_spec *spec = job->plan->spec;

    return spec->has_restart_budget ? spec->restart_budget > 0 : role->restart_limit != 0;
}

/* What Muster could not prepare, or what cannot be executed, would fail the same way again. */
static bool is_hopeless(const struct ending *e)
{
    return e->exec_errno != 0 || ending_is_refused(e);
}

struct retry job_restart(const struct job *job, uint32_t process, const struct ending *end)
{
    const struct proc *p = &job->procs[process];
    const struct replica *r = &job->plan->replicas[job->plan->processes[process].replica];
    struct retry none = {0};
    struct tries t = {.total = p->restarts,
                      .counted = p->restarts_counted,
                      .free_run = p->restarts_free,
                      .random = job->random + ((uint64_t)process << 32)};

    if (job->stop != STOP_NONE || job->cancel_signal || is_hopeless(end) ||
        (job->debugging && job_waits(job, process)))
        return none;
    if (r->role->restart == RESTART_BY_CLASS)
        return by_policy((struct retry_policy){.by_class = true, .max = r->role->restart_limit}, &t,
                         !ending_ok(end), is_platforms(end), failure_class(end));
    bool free = is_platforms(end) && p->restarts_free < FREE_RETRIES && may_restart(job, r->role);
    if (!restart_wanted(job, r, end) || (!free && !restarts_left(job, r->role, p)))
        return none;
    return (struct retry){
        .again = true, .counted = !free, .delay_ms = restart_delay_ms(p->restarts)};
}

bool job_restarts_spent(const struct job *job, uint32_t process)
{
    const struct proc *p = &job->procs[process];
    const struct replica *r = &job->plan->replicas[job->plan->processes[process].replica];

    return p->state == PROC_ENDED && !p->stop_asked && !is_hopeless(&p->end) &&
           restart_wanted(job, r, &p->end) && !restarts_left(job, r->role, p);
}
