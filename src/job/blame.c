/* blame.c - see blame.h. */
#include "job/blame.h"

#include <signal.h>

/* A rank notices that its daemon is gone, or mpirun, and exits with a status of its own. */
static bool lost_its_daemon(const struct launch *l, const struct rank *r)
{
    const struct blame *b = &l->blame;
    bool its = b->kind == BLAME_SIGNAL || b->kind == BLAME_TIMEOUT ||
               ((b->kind == BLAME_DAEMON || b->kind == BLAME_AGENT) && r->replica == b->replica);

    return its && r->end.at >= b->at;
}

bool rank_failed(const struct launch *l, uint32_t rank)
{
    const struct rank *r = &l->ranks[rank];

    if (r->state != PROC_ENDED || r->stop_asked || ending_ok(&r->end))
        return false;
    return r->end.oom || (r->end.told == 0 && !lost_its_daemon(l, r));
}

bool rank_failed_before(const struct launch *l, uint32_t a, uint32_t b)
{
    ns_t at_a = l->ranks[a].end.at, at_b = l->ranks[b].end.at;

    return at_a != at_b ? at_a < at_b : a < b;
}

int32_t rank_first_failed(const struct launch *l)
{
    int32_t first = -1;

    for (uint32_t i = 0; i < l->size; i++)
        if (rank_failed(l, i) && (first < 0 || rank_failed_before(l, i, (uint32_t)first)))
            first = (int32_t)i;
    return first;
}

const struct proc *blame_caller(const struct job *job)
{
    int32_t process = job->plan->launcher >= 0 ? job->plan->launcher : job->first_failed;

    return process >= 0 ? &job->procs[process] : NULL;
}

/* When the first rank was told to end; 0 = none was. */
static ns_t first_told(const struct launch *l)
{
    ns_t at = 0;

    for (uint32_t i = 0; i < l->size; i++) {
        ns_t told = l->ranks[i].state == PROC_ENDED ? l->ranks[i].end.told : 0;
        if (told && (at == 0 || told < at))
            at = told;
    }
    return at;
}

/* mpirun ends the others when a rank leaves without MPI_Finalize, also if that was with 0: then it
 * is the last that left before they were told. */
static struct blame early_leaver(const struct launch *l)
{
    struct blame b = {0};
    ns_t told = first_told(l);

    for (uint32_t i = 0; told && i < l->size; i++) {
        const struct rank *r = &l->ranks[i];
        if (r->state == PROC_ENDED && !r->stop_asked && ending_ok(&r->end) && r->end.told == 0 &&
            r->end.at <= told && r->end.at > b.at)
            b = (struct blame){.kind = BLAME_EARLY, .at = r->end.at, .rank = i, .end = r->end};
    }
    return b;
}

bool blame_has_leaver(const struct launch *l)
{
    return early_leaver(l).kind != BLAME_NONE;
}

/* timeout(1) and a shell say by their own code that something else ended mpirun. */
static bool ended_from_outside(const struct ending *launcher)
{
    return launcher->signal || launcher->code == 124 ||
           (launcher->code > 128 && launcher->code <= 128 + SIGRTMAX);
}

struct blame blame_find(const struct job *job)
{
    const struct launch *l = job_judged(job);
    const struct proc *caller = blame_caller(job);

    if (!l || !caller || job->plan->launcher < 0)
        return (struct blame){0};
    bool stalled = job->stop == STOP_STALLED && caller->stop_asked;
    /* what happens to daemons after the launcher's end is our doing, and to a hung mpirun after the
     * stop */
    if (l->blame.kind != BLAME_NONE &&
        !(stalled && l->blame.kind == BLAME_SIGNAL && l->blame.at >= job->stop_at) &&
        (caller->state != PROC_ENDED || l->blame.at <= caller->end.at))
        return l->blame;
    if (l->first_failed >= 0 || caller->state != PROC_ENDED || (caller->stop_asked && !stalled) ||
        (!stalled && ended_from_outside(&caller->end)))
        return (struct blame){0};
    return early_leaver(l);
}
