/* evidence.c - see evidence.h. */
#include "rundir/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "job/hint.h"
#include "job/mask.h"
#include "rundir/tail.h"

/* Why it failed, as far as it is known: a job that is held has not ended, and its cause is not
 * stored. */
static struct cause cause_of(const struct job *job)
{
    return job->phase == JOB_HELD ? job_cause(job) : job->cause;
}

static const char *cause_log(const struct job *job, char name[PLAN_LOG_NAME])
{
    const struct cause c = cause_of(job);

    if (c.kind == CAUSE_NONE)
        return NULL;
    if (c.launch >= 0)
        return job->launches[c.launch].ranks[c.rank].log;
    if (*c.end.init) {
        const struct replica *r = &job->plan->replicas[c.replica];
        return plan_init_log(r, c.end.init, job_start(job, r->first_process), name);
    }
    if (c.process < 0)
        return NULL;
    return plan_log_name(&job->plan->processes[c.process], job_start(job, (uint32_t)c.process),
                         name);
}

/* Where a rank of mpirun may have warned: rank 0's log, or that of whoever called mpirun. */
static const char *success_log(const struct job *job, char name[PLAN_LOG_NAME])
{
    const struct launch *l = job_last_launch(job);
    int32_t launcher = job->plan->launcher;

    if (l && l->size > 0 && l->ranks[0].log)
        return l->ranks[0].log;
    return launcher >= 0 ? plan_log_name(&job->plan->processes[launcher],
                                         job_start(job, (uint32_t)launcher), name)
                         : NULL;
}

static void masked_tail(const struct job *job, int logs_fd, const char *log, struct strvec *ret)
{
    mask_lines(job->plan, ret, log_tail(logs_fd, log, ret));
}

/* Open MPI's error handler writes to the terminal of mpirun, not to the rank's own output:
 *     [worker-1:00023] *** An error occurred in MPI_Send
 *     [worker-1:00023] *** reported by process [790757377,2] */
static void mpi_error_tail(const struct job *job, int logs_fd, struct evidence *ev)
{
    auto_strvec struct strvec all = STRVEC_INIT;
    uint32_t launcher = (uint32_t)job->plan->launcher;
    char reporter[32];
    bool its = false;

    (void)snprintf(reporter, sizeof(reporter), ",%d]", cause_of(job).rank);
    masked_tail(job, logs_fd,
                plan_log_name(&job->plan->processes[launcher], job_start(job, launcher), ev->name),
                &all);
    for (size_t i = 0; i < all.n; i++) {
        const char *by = strstr(all.v[i], "*** reported by process [");
        its = its || (by && strstr(by, reporter));
    }
    for (size_t i = 0; its && i < all.n; i++)
        if (all.v[i][0] == '[' && strstr(all.v[i], "] *** "))
            strvec_push(&ev->tail, all.v[i]);
    if (its)
        ev->log = ev->name;
}

/* "rank 1 on worker-0 says: RuntimeError: words", if that log ends with an exception of its own. */
static bool says_why(const struct job *job, int logs_fd, const char *log, int64_t rank,
                     uint32_t replica, struct strbuf *out)
{
    auto_strvec struct strvec tail = STRVEC_INIT;

    masked_tail(job, logs_fd, log, &tail);
    const char *line = hint_exception((const char *const *)tail.v);
    if (!line)
        return false;
    if (rank >= 0)
        strbuf_addf(out, "rank %lld on ", (long long)rank);
    strbuf_addf(out, "%s says: %s", job->plan->replicas[replica].name, line);
    return true;
}

/* Who of the others did it, where the first that ended only says that it has lost them. */
static void find_other(const struct job *job, int logs_fd, const struct strvec *tail,
                       struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);
    char name[PLAN_LOG_NAME];

    if (cause_of(job).replica < 0 || !hint_lost_others((const char *const *)tail->v))
        return;
    for (uint32_t i = 0; l && i < l->size && i < LIMIT_OTHER_LOGS; i++)
        if (l->ranks[i].log && says_why(job, logs_fd, l->ranks[i].log, i, l->ranks[i].replica, out))
            return;
    for (uint32_t i = 0; !l && i < job->plan->n_processes && i < LIMIT_OTHER_LOGS; i++) {
        const struct process *p = &job->plan->processes[i];

        if (says_why(job, logs_fd, plan_log_name(p, job_start(job, i), name), p->rank, p->replica,
                     out))
            return;
    }
}

static void gather_past(struct evidence *ev, int logs_fd, const struct job *job)
{
    ev->n_past = job->n_past;
    ev->past = xcalloc(job->n_past, sizeof(*ev->past));
    ev->past_tails = xcalloc(job->n_past, sizeof(*ev->past_tails));
    for (uint32_t i = 0; i < job->n_past; i++) {
        char name[PLAN_LOG_NAME];
        const char *log = cause_log(&job->past[i], name);

        ev->past[i] = (struct strvec)STRVEC_INIT;
        if (log && *log)
            masked_tail(job, logs_fd, log, &ev->past[i]);
        ev->past_tails[i] = (const char *const *)ev->past[i].v;
    }
}

void evidence_gather(struct evidence *ev, int logs_fd, const struct job *job)
{
    *ev = (struct evidence){.tail = STRVEC_INIT, .other = STRBUF_INIT};
    ev->log = cause_log(job, ev->name);
    if (ev->log && *ev->log) {
        masked_tail(job, logs_fd, ev->log, &ev->tail);
        if (ev->tail.n == 0 && job->plan->launcher >= 0 && cause_of(job).launch >= 0)
            mpi_error_tail(job, logs_fd, ev);
    } else if (job->outcome == OUTCOME_SUCCEEDED && success_log(job, ev->name)) {
        log_head(logs_fd, success_log(job, ev->name), &ev->tail);
    }
    find_other(job, logs_fd, &ev->tail, &ev->other);
    gather_past(ev, logs_fd, job);
}

void evidence_release(struct evidence *ev)
{
    for (uint32_t i = 0; i < ev->n_past; i++)
        strvec_release(&ev->past[i]);
    free(ev->past);
    free((void *)ev->past_tails);
    strvec_release(&ev->tail);
    strbuf_release(&ev->other);
}

void evidence_report(const struct evidence *ev, struct report_context *ctx)
{
    ctx->log_tail = (const char *const *)ev->tail.v;
    ctx->other = ev->other.buf;
    ctx->past_tails = ev->past_tails;
}
