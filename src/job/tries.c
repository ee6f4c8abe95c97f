/* tries.c - see tries.h. */
#include "job/tries.h"

#include "base/limits.h"

static ns_t began_at(const struct launch *l)
{
    ns_t at = l->began;

    for (uint32_t i = 0; l->began == 0 && i < l->size; i++)
        if (l->ranks[i].started && (at == 0 || l->ranks[i].started < at))
            at = l->ranks[i].started;
    return at;
}

/* An mpirun whose end is not told has ended with its last rank. 0 = it runs, or was stopped. */
static ns_t ended_at(const struct launch *l)
{
    for (uint32_t i = 0; l->over == 0 && i < l->size; i++)
        if (l->ranks[i].state != PROC_ENDED || l->ranks[i].stop_asked)
            return 0;
    return l->over ? l->over : l->last_end;
}

/* The end of an mpirun that is killed is noticed a moment later, on a busy machine when its caller
 * has already started the next one. That is not much of the time for which it ran: mpiruns that run
 * at the same time were started together. */
static bool began_after(const struct launch *later, const struct launch *l)
{
    ns_t end = ended_at(l), life = began_at(l) ? end - began_at(l) : 0, slack = life / 8;

    if (slack > LIMIT_NOTICE_MS * NS_PER_MS)
        slack = LIMIT_NOTICE_MS * NS_PER_MS;
    return end > 0 && began_at(later) + slack >= end;
}

static bool is_retry(const struct launch *later, const struct launch *l)
{
    bool other = later->program && l->program && later->program != l->program;

    return later->size > 0 && !other && (l->size == 0 || later->size <= l->size) &&
           began_after(later, l);
}

bool launch_tried_again(const struct job *job, uint32_t launch)
{
    for (uint32_t k = launch + 1; k < job->n_launches; k++)
        if (is_retry(&job->launches[k], &job->launches[launch]))
            return true;
    return false;
}

static ns_t earlier(ns_t a, ns_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

ns_t launch_failed_at(const struct launch *l)
{
    ns_t at = 0;

    if (l->size == 0 && l->blame.kind != BLAME_NONE)
        return l->blame.at;
    if (l->size == 0)
        return l->code != 0 ? l->over : 0;
    for (uint32_t i = 0; i < l->size; i++) {
        const struct rank *r = &l->ranks[i];

        if (r->state == PROC_ENDED && !r->stop_asked && !ending_ok(&r->end))
            at = earlier(at, r->end.told ? r->end.told : r->end.at);
    }
    return at && l->blame.kind != BLAME_NONE ? earlier(at, l->blame.at) : at;
}

/* The earliest failure that was not tried again. */
static int32_t first_that_failed(const struct job *job, bool with_ranks)
{
    int32_t first = -1;
    ns_t at = 0;

    for (uint32_t k = job->launch_base; k < job->n_launches; k++) {
        ns_t failed =
            (job->launches[k].size > 0) == with_ranks ? launch_failed_at(&job->launches[k]) : 0;

        if (failed == 0 || (first >= 0 && failed >= at) || launch_tried_again(job, k))
            continue;
        first = (int32_t)k;
        at = failed;
    }
    return first;
}

/* A launcher that ends with the status of a failed rank has not got over it, whatever it tried
 * later: mpirun train & ... mpirun train; wait $! */
static int32_t first_returned(const struct job *job)
{
    const struct proc *p = job->plan->launcher >= 0 ? &job->procs[job->plan->launcher] : NULL;

    if (!p || p->state != PROC_ENDED || p->stop_asked || ending_ok(&p->end))
        return -1;
    for (uint32_t k = job->launch_base; k < job->n_launches; k++) {
        const struct launch *l = &job->launches[k];

        if (l->first_failed >= 0 &&
            ending_exit_code(&l->ranks[l->first_failed].end) == ending_exit_code(&p->end))
            return (int32_t)k;
    }
    return -1;
}

int32_t job_judged_launch(const struct job *job)
{
    const struct launch *last = job_last_launch(job);
    int32_t failed = first_that_failed(job, true);

    failed = failed >= 0 ? failed : first_returned(job);
    return failed >= 0 || !last ? failed : (int32_t)(last - job->launches);
}

const struct launch *job_judged(const struct job *job)
{
    int32_t k = job_judged_launch(job);

    return k >= 0 ? &job->launches[k] : NULL;
}

/* One that ends after its launcher was left behind and killed: it did not fail. */
const struct launch *launch_without_ranks(const struct job *job)
{
    int32_t k = first_that_failed(job, false);
    const struct proc *p = job->plan->launcher >= 0 ? &job->procs[job->plan->launcher] : NULL;

    if (k < 0 || (p && p->state == PROC_ENDED && p->end.at < launch_failed_at(&job->launches[k])))
        return NULL;
    return &job->launches[k];
}
