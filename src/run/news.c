/* news.c - see news.h. The sentences are the verdict's; here is only what comes next. */
#include "run/news.h"

#include "base/num.h"
#include "job/verdict.h"

static void add_wait(ns_t from, ns_t to, struct strbuf *out)
{
    char text[DURATION_TEXT];

    if (to > from)
        strbuf_addf(out, " in %s", duration_text((to - from) / NS_PER_MS, text));
}

static void of_attempt(const struct job *job, const struct event *e, struct strbuf *out)
{
    if (!e->retry) {
        strbuf_addf(out, "resumed: attempt %u begins", e->attempt);
        return;
    }
    const struct job *before = &job->past[job->n_past - 1];
    if (before->cause.kind == CAUSE_NONE)
        strbuf_addf(out, "attempt %u succeeded", before->attempt);
    else
        verdict_retries(job, out);
    strbuf_addf(out, "; attempt %u begins", e->attempt);
    add_wait(e->at, e->begin_at, out);
}

static void of_ending(const struct job *job, const struct event *e, struct strbuf *out)
{
    const struct proc *p = &job->procs[e->process];
    const struct process *pp = &job->plan->processes[e->process];

    if (p->state != PROC_BACKOFF)
        return;
    strbuf_addf(out, "%s ended with %d and is started again", job->plan->replicas[pp->replica].name,
                ending_exit_code(&p->end));
    add_wait(e->at, p->restart_at, out);
}

void news_of(const struct job *job, const struct event *e, struct strbuf *out)
{
    switch (e->type) {
    case EVENT_ATTEMPT:
        of_attempt(job, e, out);
        break;
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        of_ending(job, e, out);
        break;
    case EVENT_PAUSED:
        strbuf_addf(out, "paused: nothing of the job runs; `muster resume %s` goes on",
                    job->plan->facts->run_id);
        break;
    case EVENT_CREATED:
        if (job->phase == JOB_PAUSED)
            strbuf_addf(out, "the job starts paused; `muster resume %s` begins it",
                        job->plan->facts->run_id);
        break;
    default:
        break;
    }
}
