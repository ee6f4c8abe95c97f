/* attempt.c - the part of the fold that ends one attempt and begins another.
 *
 * What an attempt was stays in job->past as the job it was then, so that everything that can read a job
 * (the report, a status view) can read an attempt. Long stories are shortened: of more than
 * LIMIT_ATTEMPTS the first and the latest are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "job/attempt.h"

void attempt_release(struct job *job)
{
    for (uint32_t l = 0; l < job->n_launches; l++) {
        for (uint32_t r = 0; r < job->launches[l].size; r++)
            free(job->launches[l].ranks[r].log);
        free(job->launches[l].ranks);
    }
    free(job->launches);
    free(job->hung);
    free(job->gates);
    free(job->procs);
}

void attempt_judge(struct job *job, ns_t at)
{
    job->phase = JOB_ENDED;
    job->ended = at;
    job->cause = job_cause(job);
    job->exit_code = job->cause.exit_code;
    job->outcome = job->cause.kind == CAUSE_CANCELLED                   ? OUTCOME_CANCELLED
                   : job->cause.kind != CAUSE_NONE                      ? OUTCOME_FAILED
                   : job->stop == STOP_PAUSE || job->stop == STOP_DEBUG ? OUTCOME_STOPPED
                                                                        : OUTCOME_SUCCEEDED;
}

void attempt_reset(struct job *job, ns_t begin_at)
{
    const struct plan *plan = job->plan;

    job->procs = xcalloc(plan->n_processes ? plan->n_processes : 1, sizeof(*job->procs));
    job->gates = job->gated ? xcalloc(plan->n_replicas, sizeof(*job->gates)) : NULL;
    job->launches = NULL;
    job->hung = NULL;
    job->n_launches = job->launch_base = job->n_up = 0;
    job->n_pending = plan->n_processes;
    job->n_backoff = job->n_starting = job->n_running = job->n_ended = 0;
    job->restarts_counted = 0;
    job->first_failed = job->stop_replica = -1;
    job->stop = STOP_NONE;
    job->running_at = job->stop_at = job->kill_at = job->ended = 0;
    job->phase = JOB_PENDING;
    job->begin_at = begin_at;
    job->begun = false;
    job->debug_over = job->hold_over = false;
    job->held_at = 0;
    job->outcome = OUTCOME_NONE;
    job->exit_code = 0;
    job->cause = (struct cause){0};
}

/* The present attempt goes to the past. */
static void put_away(struct job *job, ns_t at)
{
    struct job was = *job;

    was.past = NULL;
    was.n_past = 0;
    attempt_judge(&was, at);
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
    int32_t replica = job_cause(job).replica;

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
        put_away(job, e->at);
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
        put_away(job, e->at);
        job->attempt++;
    } else {
        attempt_release(job);
    }
    attempt_reset(job, e->at);
    job->phase = JOB_PAUSED;
    job->paused_at = e->at;
    job->deadline_from = 0;
}
