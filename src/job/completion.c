/* completion.c - when the endings of replicas end the whole job.
 *
 * A role may say how many of its replicas have to fail, or to succeed, for that (OpenPAI's
 * completion policy, the parameter servers of Azure ML, the chief of Kubeflow's kinds), or that its
 * first replica succeeds for all (a TFJob without a chief). The order is OpenPAI's: of all roles
 * the count that was full earliest decides, and of two at the same time the failure. A role that
 * says nothing fails the job with the first of its processes that fails. Tasks that serve others
 * (TensorFlow's parameter servers on Azure ML's nodes) never end: all others' success is the job's.
 *
 * Only what ended by itself counts. What ended after it was asked to says nothing, so the answer
 * does not change any more once the job is being stopped.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "job/job.h"

struct replica_end {
    ns_t at;
    uint32_t replica;
};

static bool ended_by_itself(const struct proc *p)
{
    return p->state == PROC_ENDED && !p->stop_asked;
}

/* Has the whole replica ended, and how? */
static bool replica_ended(const struct job *job, uint32_t replica, bool *ret_failed, ns_t *ret_at)
{
    const struct replica *r = &job->plan->replicas[replica];

    *ret_failed = false;
    *ret_at = 0;
    for (uint32_t i = 0; i < r->n_processes; i++) {
        const struct proc *p = &job->procs[r->first_process + i];
        if (!ended_by_itself(p))
            return false;
        *ret_failed |= !ending_ok(&p->end);
        if (p->end.at > *ret_at)
            *ret_at = p->end.at;
    }
    return r->n_processes > 0;
}

/* True if this is the earliest so far. */
static bool consider(struct trigger *t, enum outcome outcome, const struct replica_end *end,
                     uint32_t count)
{
    bool earlier = t->outcome == OUTCOME_NONE || end->at < t->at ||
                   (end->at == t->at && outcome == OUTCOME_FAILED && t->outcome != outcome);

    if (earlier)
        *t = (struct trigger){.outcome = outcome,
                              .replica = (int32_t)end->replica,
                              .unprepared = -1,
                              .count = count,
                              .at = end->at};
    return earlier;
}

static int by_time(const void *a, const void *b)
{
    const struct replica_end *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->replica < y->replica ? -1 : x->replica > y->replica;
}

/* The wanted-th of the replicas first … first+n-1 that failed (or succeeded) fills the count. */
static void consider_count(const struct job *job, uint32_t first, uint32_t n, enum outcome outcome,
                           int32_t wanted, struct trigger *t)
{
    if (wanted < 1 || (uint32_t)wanted > n)
        return;
    auto_free struct replica_end *ends = xcalloc(n, sizeof(*ends));
    uint32_t n_ends = 0;
    for (uint32_t i = first; i < first + n; i++) {
        bool failed;
        ns_t at;
        if (replica_ended(job, i, &failed, &at) && failed == (outcome == OUTCOME_FAILED))
            ends[n_ends++] = (struct replica_end){.at = at, .replica = i};
    }
    if (n_ends < (uint32_t)wanted)
        return;
    qsort(ends, n_ends, sizeof(*ends), by_time);
    (void)consider(t, outcome, &ends[wanted - 1], (uint32_t)wanted);
}

/* Whatever the others do, this one's success is the job's. */
static void consider_first(const struct job *job, uint32_t first, struct trigger *t)
{
    struct replica_end end = {.replica = first};
    bool failed;

    if (replica_ended(job, first, &failed, &end.at) && !failed)
        (void)consider(t, OUTCOME_SUCCEEDED, &end, 1);
}

/* Failures that no count tolerates: those of roles without one, and replicas that could not even be
 * prepared, which is nobody's rule. */
static void consider_each(const struct job *job, uint32_t replica, struct trigger *t)
{
    const struct replica *r = &job->plan->replicas[replica];

    for (uint32_t i = 0; i < r->n_processes; i++) {
        const struct proc *p = &job->procs[r->first_process + i];
        if (!ended_by_itself(p) || ending_ok(&p->end))
            continue;
        bool ours = ending_is_ours(&p->end);
        struct replica_end end = {.at = p->end.at, .replica = replica};
        if ((r->role->min_failed == 0 || ours) && consider(t, OUTCOME_FAILED, &end, 1) && ours)
            t->unprepared = (int32_t)(r->first_process + i);
    }
}

/* Where some processes only serve the others, the job succeeds with the last of the others. */
static void consider_served(const struct job *job, struct trigger *t)
{
    const struct plan *plan = job->plan;
    struct replica_end last = {0};
    uint32_t served = 0, serving = 0;

    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];
        const struct proc *proc = &job->procs[i];

        serving += p->task && p->task->serves;
        if (!p->task || p->task->serves)
            continue;
        if (!ended_by_itself(proc) || !ending_ok(&proc->end))
            return;
        served++;
        if (proc->end.at >= last.at)
            last = (struct replica_end){.at = proc->end.at, .replica = p->replica};
    }
    if (served > 0 && serving > 0)
        (void)consider(t, OUTCOME_SUCCEEDED, &last, served);
}

struct trigger job_trigger(const struct job *job)
{
    const struct plan *plan = job->plan;
    struct trigger t = {.replica = -1, .unprepared = -1};

    if (!job->counted) { /* the first failure ends the job: nothing has to be looked for */
        if (job->first_failed >= 0) {
            uint32_t p = (uint32_t)job->first_failed;
            t = (struct trigger){.outcome = OUTCOME_FAILED,
                                 .replica = (int32_t)plan->processes[p].replica,
                                 .unprepared = -1,
                                 .count = 1,
                                 .at = job->procs[p].end.at};
        }
        return t;
    }
    for (uint32_t i = 0, n; job->n_ended > 0 && i < plan->n_replicas; i += n) {
        const struct role *role = plan->replicas[i].role;
        for (n = 0; i + n < plan->n_replicas && plan->replicas[i + n].role == role; n++)
            consider_each(job, i + n, &t);
        consider_count(job, i, n, OUTCOME_FAILED, role->min_failed, &t);
        consider_count(job, i, n, OUTCOME_SUCCEEDED, role->min_succeeded, &t);
        if (role->first_decides)
            consider_first(job, i, &t);
    }
    consider_served(job, &t);
    return t;
}
