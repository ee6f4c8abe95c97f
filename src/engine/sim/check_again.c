/* check_again.c - who may begin again: restarts of a process, other attempts of the job, the
 * deadline.
 *
 * Budgets, waits and classes are worked out from the log, start by start. Of the core only the
 * table of exit codes and the ending that a whole attempt is judged by are taken.
 */
#include "engine/sim/inside.h"
#include "job/exit_spec.h"

enum { FREE_IN_A_ROW = 3, QUICK = 3, CONFLICT_S = 60 };

static bool is_end(const struct event *ev)
{
    return ev->type == EVENT_EXITED || ev->type == EVENT_START_FAILED;
}

static const struct role *role_of(const struct sim *s, uint32_t process)
{
    return s->plan->replicas[s->plan->processes[process].replica].role;
}

static size_t attempt_from(const struct sim *s)
{
    size_t i = s->log.n;

    while (i > 0 && s->log.v[i - 1].type != EVENT_ATTEMPT && s->log.v[i - 1].type != EVENT_PAUSED)
        i--;
    return i;
}

/* The first wait, doubled for each that follows, up to a limit; in ns. */
static ns_t doubled(int64_t first_s, uint32_t times, int64_t limit_s)
{
    int64_t s = first_s;

    for (uint32_t i = 0; i < times && s < limit_s; i++)
        s *= 2;
    return (s < limit_s ? s : limit_s) * NS_PER_S;
}

/* --- one process -------------------------------------------------------------------------------
 */

/* By class: the platform's failures are free, but not for ever. */
struct spent {
    const struct event *end; /* the last one; NULL = none yet */
    uint32_t counted, free_run;
    bool free; /* was the last one? */
};

static void spend(struct spent *p)
{
    enum failure_class class = failure_class(&p->end->end);

    p->free =
        (class == FAILURE_TRANSIENT || class == FAILURE_CONFLICT) && p->free_run < FREE_IN_A_ROW;
    p->free_run = p->free ? p->free_run + 1 : 0;
    p->counted += !p->free;
}

/* With the restart that is about to happen. */
static struct spent spent_by(const struct sim *s, uint32_t process)
{
    struct spent p = {0};

    for (size_t i = attempt_from(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if (ev->process != process)
            continue;
        if (is_end(ev))
            p.end = ev;
        else if (ev->type == EVENT_RESTART)
            spend(&p);
    }
    if (p.end)
        spend(&p);
    return p;
}

/* Does its role's rule want it after such an end? */
static bool wanted_after(const struct sim *s, uint32_t process, const struct ending *end)
{
    const struct replica *r = &s->plan->replicas[s->plan->processes[process].replica];
    const struct role *role = r->role;
    bool awaited = role->min_succeeded > 0 || (role->first_decides && r->index == 0);
    bool repeated = s->plan->spec->has_restart_budget || role->restart_limit > 0;

    if (end->exec_errno || end->fate == CAUSE_IMAGE || end->fate == CAUSE_UNSCHEDULABLE)
        return false; /* it would be the same again */
    switch (role->restart) {
    case RESTART_ALWAYS:
        return !ending_ok(end) || (repeated && !awaited);
    case RESTART_EXIT_CODE:
        return !end->known || ending_exit_code(end) >= 128;
    case RESTART_BY_CLASS:
        return !ending_ok(end) && failure_class(end) != FAILURE_PERMANENT;
    default:
        return role->restart == RESTART_ON_FAILURE && !ending_ok(end);
    }
}

/* What the platform took away is started again without being counted, three times in a row. */
static uint32_t counted_restarts(const struct sim *s, uint32_t process, bool and_now)
{
    const struct event *end = NULL;
    uint32_t counted = 0, free_run = 0;

    for (size_t i = attempt_from(s); i < s->log.n + and_now; i++) {
        const struct event *ev = i < s->log.n ? &s->log.v[i] : NULL;
        bool restart = !ev || (ev->type == EVENT_RESTART && ev->process == process);

        if (ev && ev->process == process && is_end(ev))
            end = ev;
        if (!restart || !end)
            continue;
        bool free = end->end.fate == CAUSE_EVICTED && free_run < FREE_IN_A_ROW;
        free_run = free ? free_run + 1 : 0;
        counted += !free;
    }
    return counted;
}

/* A number of the role's own is for each process, the budget for all of them together; where a file
 * names neither, three. */
static void check_budgets(struct sim *s, uint32_t p)
{
    const struct job_spec *spec = s->plan->spec;
    int32_t each = role_of(s, p)->restart_limit;
    uint32_t of_all = 0, counted = counted_restarts(s, p, true);

    if (each == 0 && !spec->has_restart_budget)
        sim_break(s, "process %u is started again, and may not be", p);
    if (spec->has_restart_budget && spec->restart_budget == 0)
        sim_break(s, "process %u is started again, and the job may not", p);
    if (each < 0)
        each = spec->has_restart_budget ? 0 : 3;
    if ((each > 0 || !spec->has_restart_budget) && counted > (uint32_t)each)
        sim_break(s, "process %u is started again more often than it may be", p);
    for (uint32_t i = 0; i < s->plan->n_processes; i++)
        if (role_of(s, i)->restart != RESTART_BY_CLASS)
            of_all += counted_restarts(s, i, i == p);
    if (counted_restarts(s, p, true) == counted_restarts(s, p, false))
        return; /* this one is free */
    if (spec->has_restart_budget && of_all > (uint32_t)spec->restart_budget)
        sim_break(s, "the job has used up its restarts, and process %u is started again", p);
}

void check_restart(struct sim *s, uint32_t p)
{
    const struct role *role = role_of(s, p);
    struct spent spent = spent_by(s, p);
    ns_t wait = 0;

    if (!spent.end || !wanted_after(s, p, &spent.end->end)) {
        sim_break(s, "process %u is started again, and its role does not want it", p);
        return;
    }
    if (s->job->debugging && sim_waits(s, p))
        sim_break(s, "process %u only waits, and is started again", p);
    if (role->restart != RESTART_BY_CLASS) {
        check_budgets(s, p);
        wait = s->starts[p] > 1 ? doubled(10, s->starts[p] - 2, 300) : 0;
    } else {
        if (spent.counted > (uint32_t)role->restart_limit)
            sim_break(s, "process %u has used up its restarts by class", p);
        if (spent.free && failure_class(&spent.end->end) == FAILURE_CONFLICT)
            wait = CONFLICT_S * NS_PER_S;
    }
    if (s->now < spent.end->at + wait)
        sim_break(s, "process %u is started again too early", p);
}

/* --- the whole job -----------------------------------------------------------------------------
 */

/* So many retries before this one were free, one after the other, because of this replica. */
static uint32_t free_run(const struct sim *s, int32_t replica)
{
    const struct job *job = s->job;
    uint32_t n = 0;

    for (size_t i = s->log.n; i > 0; i--) {
        const struct event *ev = &s->log.v[i - 1];
        if (ev->type != EVENT_ATTEMPT || !ev->retry)
            continue;
        bool same = false;
        for (uint32_t k = 0; k < job->n_past; k++)
            same |=
                job->past[k].attempt + 1 == ev->attempt && job->past[k].cause.replica == replica;
        if (ev->counted || !same)
            break;
        n++;
    }
    return n;
}

static void check_class(struct sim *s, const struct event *ev, uint32_t retries)
{
    const struct job *job = s->job;
    struct cause c = job_cause(job);
    const struct ending *judge = c.kind != CAUSE_NONE ? job_judged_by(job) : NULL;
    enum failure_class class = judge ? failure_class(judge) : FAILURE_UNKNOWN;
    bool by_class = s->plan->spec->retry.by_class && c.kind != CAUSE_NONE;
    bool platforms = judge && judge->fate == CAUSE_EVICTED && s->plan->spec->retry.max != 0;
    bool free =
        (platforms || (by_class && (class == FAILURE_TRANSIENT || class == FAILURE_CONFLICT))) &&
        free_run(s, c.replica) < FREE_IN_A_ROW;
    ns_t wait = free && class == FAILURE_CONFLICT ? CONFLICT_S * NS_PER_S
                : retries >= QUICK                ? doubled(1, retries - QUICK, 60)
                                                  : 0;

    if (c.end.exec_errno)
        sim_break(s, "it cannot be executed, and is tried again");
    if (c.kind == CAUSE_IMAGE || c.kind == CAUSE_UNSCHEDULABLE)
        sim_break(s, "the platform refuses it, and it is tried again");
    if (by_class && class == FAILURE_PERMANENT)
        sim_break(s, "it can never succeed, and is tried again");
    if (ev->counted == free)
        sim_break(s, free ? "a retry counts that should not" : "a retry counts that should");
    if (ev->begin_at < s->now + wait)
        sim_break(s, "the job is tried again too early");
}

void check_retry(struct sim *s, const struct event *ev)
{
    uint32_t counted = ev->counted, retries = 0;

    for (size_t i = 0; i < s->log.n; i++) {
        retries += s->log.v[i].type == EVENT_ATTEMPT && s->log.v[i].retry;
        counted += s->log.v[i].type == EVENT_ATTEMPT && s->log.v[i].counted;
    }
    if (s->plan->spec->retry.max >= 0 && counted > (uint32_t)s->plan->spec->retry.max)
        sim_break(s, "it is tried again more often than it may be");
    if (s->job->lost) /* of a loss that it has not been told of it knows nothing */
        sim_break(s, "a lost job is tried again");
    check_class(s, ev, retries);
}

/* --- the deadline ------------------------------------------------------------------------------
 */

/* It runs from the first start of a command since the last pause; a host has none. */
void check_deadline(struct sim *s)
{
    ns_t from = 0;

    for (size_t i = s->log.n; i > 0 && s->log.v[i - 1].type != EVENT_PAUSED; i--)
        if (s->log.v[i - 1].type == EVENT_STARTED &&
            role_of(s, s->log.v[i - 1].process)->kind != ROLE_HOST)
            from = s->log.v[i - 1].at;
    if (!s->plan->spec->debug &&
        (from == 0 || s->now < from + s->plan->spec->deadline_s * NS_PER_S))
        sim_break(s, "ended by a deadline that has not come");
}
