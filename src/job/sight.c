/* sight.c - see sight.h. */
#include "job/sight.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sight_release(struct job *job)
{
    for (uint32_t i = 0; job->waiting && i <= job->plan->n_replicas; i++)
        free(job->waiting[i].what);
    for (uint32_t i = 0; job->why && i < job->plan->n_replicas; i++)
        free(job->why[i]);
    free(job->why);
    free(job->waiting);
    free(job->sight);
}

/* --- what is observed ------------------------------------------------------------------------- */

/* The replica that an observation is about, -1 = none. */
static int64_t observed_replica(const struct job *job, const struct observation *o)
{
    switch (o->kind) {
    case OBS_STARTED:
    case OBS_SPAWN_FAILED:
    case OBS_EXITED:
        return o->process < job->plan->n_processes
                   ? (int64_t)job->plan->processes[o->process].replica
                   : -1;
    case OBS_OPENED:
    case OBS_RANK_STARTED:
    case OBS_WAITING:
        return o->replica < job->plan->n_replicas ? (int64_t)o->replica : -1;
    default:
        return -1;
    }
}

/* Does something of it live, as far as anybody knows? */
static bool is_up(const struct job *job, uint32_t replica)
{
    const struct replica *r = &job->plan->replicas[replica];

    for (uint32_t i = 0; i < r->n_processes; i++) {
        enum proc_state s = job->procs[r->first_process + i].state;
        if (s == PROC_STARTING || s == PROC_RUNNING)
            return true;
    }
    return false;
}

/* Has all of it that is to run been started? */
static bool has_come(const struct job *job, uint32_t replica)
{
    const struct replica *r = &job->plan->replicas[replica];

    if (job->gated)
        return job->gates[replica] == GATE_UP;
    for (uint32_t i = 0; i < r->n_processes; i++) {
        enum proc_state s = job->procs[r->first_process + i].state;
        if (s == PROC_PENDING || s == PROC_STARTING)
            return false;
    }
    return true;
}

static bool may_wait(const struct job *job, uint32_t replica)
{
    if (job->phase == JOB_ENDED || job->phase == JOB_HELD || job->stop != STOP_NONE)
        return false;
    return replica == WAITING_JOB
               ? !job->begun
               : replica < job->plan->n_replicas && job->begun && !has_come(job, replica);
}

bool sight_waiting_is_new(const struct job *job, const struct observation *o)
{
    const struct wait_reason *w = job_waiting(job, o->replica);

    if (!o->text || !*o->text)
        return w != NULL;
    if (!may_wait(job, o->replica) || o->needs < 0 || o->free < -1)
        return false;
    return !w || strcmp(w->what, o->text) != 0 || w->needs != o->needs || w->free != o->free ||
           w->ahead != o->ahead || w->fate != o->end.fate;
}

/* A word of an earlier loss may come late. */
bool sight_loss_is_new(const struct job *job, const struct observation *o)
{
    if (o->replica >= job->plan->n_replicas || job->phase == JOB_ENDED || job->phase == JOB_HELD)
        return false;
    const struct sight *sight = &job->sight[o->replica];
    return !sight->lost && o->at > sight->since && is_up(job, o->replica);
}

/* An eviction may be known later than that the replica is removed. */
bool sight_removal_is_new(const struct job *job, const struct observation *o)
{
    if (o->replica >= job->plan->n_replicas || job->phase == JOB_ENDED || job->phase == JOB_HELD ||
        (o->end.fate != CAUSE_GONE && o->end.fate != CAUSE_EVICTED))
        return false;
    const struct sight *sight = &job->sight[o->replica];
    return sight->removed != o->end.fate && sight->removed != CAUSE_EVICTED &&
           is_up(job, o->replica);
}

/* Is it said of something that lives that it does? */
static bool is_present(const struct job *job, const struct observation *o)
{
    if (o->kind != OBS_STARTED)
        return o->kind == OBS_OPENED || o->kind == OBS_WAITING || o->kind == OBS_RANK_STARTED;
    const struct proc *p = &job->procs[o->process];
    return p->state == PROC_RUNNING && (o->instance == 0 || o->instance == p->restarts + 1);
}

void sight_regain(const struct job *job, const struct observation *o, struct events *out)
{
    int64_t replica = observed_replica(job, o);

    if (replica >= 0 && job->phase != JOB_ENDED && job->sight[replica].lost && is_present(job, o))
        events_add(out,
                   &(struct event){.type = EVENT_SEEN, .at = o->at, .replica = (uint32_t)replica});
}

bool sight_any_lost(const struct job *job)
{
    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        if (job->sight[i].lost)
            return true;
    return false;
}

int32_t sight_first_removed(const struct job *job)
{
    int32_t first = -1;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        if (job->sight[i].removed &&
            (first < 0 || job->sight[i].removed_at < job->sight[first].removed_at))
            first = (int32_t)i;
    return first;
}

/* --- the fold --------------------------------------------------------------------------------- */

static struct wait_reason *waiting_at(const struct job *job, uint32_t replica)
{
    return job->waiting ? &job->waiting[replica == WAITING_JOB ? job->plan->n_replicas : replica]
                        : NULL;
}

static void forget_waiting(struct job *job, uint32_t replica)
{
    struct wait_reason *w = waiting_at(job, replica);

    if (!w)
        return;
    free(w->what);
    *w = (struct wait_reason){0};
}

void sight_apply_waiting(struct job *job, const struct event *e)
{
    const struct wait_reason *before = job_waiting(job, e->replica);
    ns_t since = before ? before->since : e->at;

    if (!job->waiting)
        job->waiting = xcalloc(job->plan->n_replicas + 1, sizeof(*job->waiting));
    forget_waiting(job, e->replica);
    if (e->text && *e->text)
        *waiting_at(job, e->replica) = (struct wait_reason){.what = xstrdup(e->text),
                                                            .needs = e->needs,
                                                            .free = e->free,
                                                            .ahead = e->ahead,
                                                            .fate = e->end.fate,
                                                            .since = since};
}

void sight_keep_why(struct job *job, uint32_t replica, const char *text)
{
    if (!text || !*text)
        return;
    if (!job->why)
        job->why = xcalloc(job->plan->n_replicas, sizeof(*job->why));
    free(job->why[replica]);
    job->why[replica] = xstrdup(text);
}

static void apply_removal(struct job *job, const struct event *e)
{
    struct sight *sight = &job->sight[e->replica];

    sight->removed_at = sight->removed ? sight->removed_at : e->at;
    sight->removed = e->end.fate;
    sight_keep_why(job, e->replica, e->text);
}

void sight_apply(struct job *job, const struct event *e)
{
    switch (e->type) {
    case EVENT_REMOVAL:
        apply_removal(job, e);
        break;
    case EVENT_RESTART: /* in another pod */
        job->sight[job->plan->processes[e->process].replica].removed = CAUSE_NONE;
        break;
    case EVENT_OPEN:
    case EVENT_START:
    case EVENT_ADMITTED:
        forget_waiting(job, WAITING_JOB);
        break;
    case EVENT_STARTED:
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        forget_waiting(job, job->plan->processes[e->process].replica);
        job->sight[job->plan->processes[e->process].replica].lost = false;
        break;
    case EVENT_OPENED:
        forget_waiting(job, e->replica);
        job->sight[e->replica].lost = false;
        break;
    case EVENT_WAITING:
        if (e->replica != WAITING_JOB)
            job->sight[e->replica].lost = false;
        break;
    case EVENT_SEEN:
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        job->sight[e->replica].lost = false;
        break;
    default:
        break;
    }
}

/* --- reading it ------------------------------------------------------------------------------- */

const struct wait_reason *job_waiting(const struct job *job, uint32_t replica)
{
    bool known = replica == WAITING_JOB || replica < job->plan->n_replicas;
    const struct wait_reason *w = known ? waiting_at(job, replica) : NULL;

    return w && w->what ? w : NULL;
}

const char *job_why(const struct job *job, uint32_t replica)
{
    return job->why && replica < job->plan->n_replicas ? job->why[replica] : NULL;
}

/* Every reason has its own beginning, but one that replaces another goes on from there. */
ns_t sight_patience(const struct job *job, int32_t *ret_replica)
{
    ns_t first = 0;

    *ret_replica = -1;
    for (uint32_t i = 0; job->waiting && i < job->plan->n_replicas; i++) {
        const struct wait_reason *w = job_waiting(job, i);
        ns_t since = w && w->since > job->begin_at ? w->since : job->begin_at;

        if (!w || has_come(job, i) || (first && since >= first))
            continue;
        first = since;
        *ret_replica = (int32_t)i;
    }
    return first ? first + job->rules.start_timeout_ms * NS_PER_MS : 0;
}

const struct wait_reason *job_first_waiting(const struct job *job)
{
    const struct wait_reason *w = job_waiting(job, WAITING_JOB);

    for (uint32_t i = 0; !w && job->waiting && i < job->plan->n_replicas; i++)
        w = job_waiting(job, i);
    return w;
}
