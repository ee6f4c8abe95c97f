/* attempt.c - the part of the fold that ends one attempt and begins another.
 *
 * What an attempt was stays in job->past as the job it was then, so that everything that can read a
 * job (the report, a status view) can read an attempt. Long stories are shortened: of more than
 * LIMIT_ATTEMPTS the first and the latest are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "job/attempt.h"
#include "job/sight.h"

void attempt_release(struct job *job)
{
    for (uint32_t l = 0; l < job->n_launches; l++) {
        for (uint32_t r = 0; r < job->launches[l].size; r++)
            free(job->launches[l].ranks[r].log);
        free(job->launches[l].ranks);
    }
    free(job->launches);
    free(job->hung);
    free(job->refused);
    free(job->gates);
    sight_release(job);
    free(job->role_killed);
    free(job->procs);
}

void attempt_judge(struct job *job, ns_t at, const struct cause *cause)
{
    job->phase = JOB_ENDED;
    job->ended = at;
    job->cause = *cause;
    job->exit_code = job->cause.exit_code;
    job->outcome = job->cause.kind == CAUSE_CANCELLED                   ? OUTCOME_CANCELLED
                   : job->cause.kind != CAUSE_NONE                      ? OUTCOME_FAILED
                   : job->stop == STOP_PAUSE || job->stop == STOP_DEBUG ? OUTCOME_STOPPED
                                                                        : OUTCOME_SUCCEEDED;
}

void attempt_reset(struct job *job, ns_t begin_at)
{
    const struct plan *plan = job->plan;

    job->present = (struct attempt){
        .phase = JOB_PENDING,
        .begin_at = begin_at,
        .procs = xcalloc(plan->n_processes ? plan->n_processes : 1, sizeof(*job->procs)),
        .n_pending = plan->n_processes,
        .gates = job->gated ? xcalloc(plan->n_replicas, sizeof(*job->gates)) : NULL,
        .role_killed = xcalloc(plan->spec->n_roles ? plan->spec->n_roles : 1, sizeof(bool)),
        .sight = xcalloc(plan->n_replicas ? plan->n_replicas : 1, sizeof(*job->sight)),
        .first_failed = -1,
        .stop_replica = -1,
    };
}

/* The present attempt goes to the past. */
static void put_away(struct job *job, const struct event *e)
{
    struct job was = *job;

    was.past = NULL;
    was.n_past = 0;
    attempt_judge(&was, e->at, &e->cause);
    if (job->n_past == LIMIT_ATTEMPTS) {
        attempt_release(&job->past[1]);
        memmove(&job->past[1], &job->past[2], (job->n_past - 2) * sizeof(*job->past));
        job->n_past--;
    }
    job->past = xrealloc_array(job->past, job->n_past + 1, sizeof(*job->past));
    job->past[job->n_past++] = was;
}

static void count_retry(struct job *job, const struct event *e)
{
    int32_t replica = e->cause.replica;

    job->retries++;
    job->retries_counted += e->counted;
    if (e->counted)
        job->retries_free = 0;
    else
        job->retries_free = replica == job->free_replica ? job->retries_free + 1 : 1;
    job->free_replica = e->counted ? -1 : replica;
}

void attempt_begin(struct job *job, const struct event *e)
{
    bool resumed = job->resumed || job->phase == JOB_PAUSED;
    bool debugging = job->debugging && job->stop != STOP_DEBUG;

    if (e->retry)
        count_retry(job, e);
    if (job->begun)
        put_away(job, e);
    else
        attempt_release(job);
    attempt_reset(job, e->begin_at);
    job->attempt = e->attempt;
    job->resumed = resumed;
    job->debugging = debugging;
    job_activity(job, e->at);
}

/* The attempt that a pause ends is over; the next one has a number already, and waits. */
void attempt_pause(struct job *job, const struct event *e)
{
    if (job->begun) {
        put_away(job, e);
        job->attempt++;
    } else {
        attempt_release(job);
    }
    attempt_reset(job, e->at);
    job->phase = JOB_PAUSED;
    job->paused_at = e->at;
    job->admitted = !job->rules.queued;
    job->deadline_from = 0;
}
