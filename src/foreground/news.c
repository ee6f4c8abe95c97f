/* news.c - see news.h. The sentences are the verdict's; here is only what comes next. */
#include "foreground/news.h"

#include "base/num.h"
#include "job/verdict.h"

static void add_wait(ns_t from, ns_t to, struct strbuf *out)
{
    char text[DURATION_TEXT];

    if (to > from)
        strbuf_addf(out, " in %s", duration_text((to - from) / NS_PER_MS, text));
}

static bool was_debugged(const struct job *job)
{
    return job->n_past > 0 && job->past[job->n_past - 1].stop == STOP_DEBUG;
}

static void of_attempt(const struct job *job, const struct event *e, struct strbuf *out)
{
    if (!e->retry) {
        strbuf_addf(out, "%s: attempt %u begins", was_debugged(job) ? "debugged" : "resumed",
                    e->attempt);
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

    const char *name = job->plan->replicas[pp->replica].name, *why = job_why(job, pp->replica);

    if (p->state != PROC_BACKOFF)
        return;
    if (p->end.fate) {
        strbuf_addf(out, "%s %s", name,
                    p->end.fate == CAUSE_EVICTED ? "was evicted" : "disappeared");
        if (why)
            strbuf_addf(out, " (%s)", why);
        strbuf_addstr(out, " and is restarted");
    } else {
        strbuf_addf(out, "%s exited with status %d and is restarted", name,
                    ending_exit_code(&p->end));
    }
    add_wait(e->at, p->restart_at, out);
}

/* The first replica of each role that waits: a way in for each kind. */
static void of_debugging(const struct job *job, struct strbuf *out)
{
    const struct plan *plan = job->plan;
    const char *id = plan->facts->site.run_id, *separator = "";

    strbuf_addstr(
        out, "debug mode: the replicas are up, their commands are not started; to open a shell: ");
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *r = &plan->replicas[i];
        if (r->index != 0 || !spec_debugs(plan->spec, r->role))
            continue;
        strbuf_addf(out, "%s`muster exec %s %s -- sh`", separator, id, r->name);
        separator = ", ";
    }
    strbuf_addf(out, "; `muster resume %s` starts the job, Ctrl-C ends it", id);
}

/* The replica that failed, or any. */
static void of_holding(const struct job *job, struct strbuf *out)
{
    struct cause c = job_cause(job);
    const char *id = job->plan->facts->site.run_id;

    verdict_held(job, out);
    strbuf_addf(
        out,
        ": `muster exec %s %s -- sh` opens a shell, `muster resume %s` retries the job or, without "
        "retries left, ends it; Ctrl-C ends it",
        id, job->plan->replicas[c.replica >= 0 ? c.replica : 0].name, id);
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
        strbuf_addf(out, "paused: no process is running; `muster resume %s` continues",
                    job->plan->facts->site.run_id);
        break;
    case EVENT_STARTED:
        if (job->debugging && job->phase == JOB_RUNNING && job->running_at == e->at)
            of_debugging(job, out);
        break;
    case EVENT_UNKNOWN:
        strbuf_addf(out, "%s is out of sight: its node does not respond",
                    job->plan->replicas[e->replica].name);
        break;
    case EVENT_SEEN:
        strbuf_addf(out, "%s is in sight again", job->plan->replicas[e->replica].name);
        break;
    case EVENT_HELD:
        of_holding(job, out);
        break;
    case EVENT_CREATED:
        if (job->phase == JOB_PAUSED)
            strbuf_addf(out, "the job starts paused; `muster resume %s` starts it",
                        job->plan->facts->site.run_id);
        break;
    default:
        break;
    }
}
