/* report.c - the report: one JSON document that says everything about a run.
 *
 * The keys and their order are CONTRACTS §4; `status` is in the words of the job's platform.
 */
#include <string.h>

#include "base/signame.h"
#include "job/early.h"
#include "job/hint.h"
#include "job/report.h"
#include "job/status.h"
#include "job/status_t9k.h"
#include "job/verdict.h"

static void kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    json_kv_str(j, key, at ? clock_rfc3339(at, text) : NULL);
}

void report_kv_code(struct json *j, int code, int sig)
{
    json_key(j, "exit_code");
    if (code >= 0)
        json_int(j, code);
    else
        json_null(j);
    json_kv_str(j, "signal", sig ? signal_name(sig) : NULL);
}

static void kv_number(struct json *j, const char *key, int64_t n)
{
    if (n >= 0)
        json_kv_int(j, key, n);
    else
        json_kv_null(j, key);
}

/* What has not ended has no outcome yet, and what has not started may still do so. */
static void kv_outcome(const struct job *job, struct json *j, enum outcome o)
{
    bool open = o == OUTCOME_NONE || (o == OUTCOME_NEVER_STARTED && job->phase != JOB_ENDED);

    json_kv_str(j, "outcome", open ? NULL : outcome_name(o));
}

static void cause(const struct job *job, const struct report_context *ctx, struct json *j)
{
    /* one that is held has failed, but not ended: its cause is not stored yet */
    const struct cause held = job->phase == JOB_HELD ? job_cause(job) : (struct cause){0};
    const struct cause *c = job->phase == JOB_HELD ? &held : &job->cause;
    const struct replica *r = c->replica >= 0 ? &job->plan->replicas[c->replica] : NULL;
    auto_strbuf struct strbuf message = STRBUF_INIT;

    if (c->kind == CAUSE_NONE) {
        json_null(j);
        return;
    }
    verdict_cause(job, c, &message);
    json_object(j);
    json_kv_str(j, "replica", r ? r->name : NULL);
    json_kv_str(j, "role", r ? r->role->name : NULL);
    kv_number(j, "index", r ? r->index : -1);
    kv_number(j, "rank", c->rank);
    json_kv_str(j, "kind", cause_kind_name(c->kind));
    json_kv_int(j, "exit_code", c->exit_code);
    int sig = c->kind == CAUSE_CANCELLED ? job->cancel_signal : c->end.signal;
    json_kv_str(j, "signal", sig ? signal_name(sig) : NULL);
    kv_time(j, "at", c->end.at);
    json_kv_str(j, "message", message.buf);
    json_key(j, "log_tail");
    json_array(j);
    for (const char *const *line = ctx->log_tail; line && *line; line++)
        json_str(j, *line);
    json_end(j);
    json_end(j);
}

/* Those of its first start, as far as they came. */
static void init_logs(const struct job *job, const struct replica *r, struct json *j)
{
    const struct proc *p = &job->procs[r->first_process];
    struct start start = job_start(job, r->first_process);
    char log[PLAN_LOG_NAME];

    start.instance = 1;
    for (size_t i = 0; i < r->role->n_init; i++) {
        const char *name = r->role->init[i].name;

        if (!plan_runs_init(job->plan, r, i, start))
            continue;
        json_str(j, plan_init_log(r, name, start, log));
        if (p->restarts == 0 && strcmp(p->end.init, name) == 0)
            break;
    }
}

static void replica_logs(const struct job *job, const struct replica *r, struct json *j)
{
    char log[PLAN_LOG_NAME];

    json_key(j, "logs");
    json_array(j);
    for (uint32_t i = 0; i < r->n_processes; i++) {
        const struct process *p = &job->plan->processes[r->first_process + i];
        struct start start = job_start(job, p->id);
        uint32_t last = job->procs[p->id].state == PROC_PENDING ? 0 : start.instance;
        if (i == 0 && last > 0)
            init_logs(job, r, j);
        for (start.instance = 1; start.instance <= last; start.instance++)
            if (*plan_log_name(p, start, log))
                json_str(j, log);
    }
    for (uint32_t n = 0; n < job->n_launches; n++)
        for (uint32_t i = 0; i < job->launches[n].size; i++) {
            const struct rank *rank = &job->launches[n].ranks[i];
            if (rank->log && rank->replica == r->id)
                json_str(j, rank->log);
        }
    json_end(j);
}

/* Only there if it waits. */
static void kv_waiting(struct json *j, const struct wait_reason *w)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!w)
        return;
    waiting_text(w, &text);
    json_kv_str(j, "waiting", text.buf);
}

static void replicas(const struct job *job, struct json *j)
{
    int32_t by = job_stopped_by(job);

    json_array(j);
    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        const struct replica *r = &job->plan->replicas[i];
        struct replica_view v = job_replica(job, i);
        json_object(j);
        json_kv_str(j, "name", r->name);
        json_kv_str(j, "role", r->role->name);
        json_kv_int(j, "index", r->index);
        json_kv_str(j, "host", r->host);
        json_kv_int(j, "restarts", v.restarts);
        kv_outcome(job, j, v.outcome);
        report_kv_code(j, v.exit_code, v.signal);
        json_kv_str(j, "stopped_because_of",
                    v.outcome == OUTCOME_STOPPED && by >= 0 ? job->plan->replicas[by].name : NULL);
        kv_time(j, "started", v.started);
        kv_time(j, "ended", v.ended);
        replica_logs(job, r, j);
        kv_number(j, "max_rss", v.max_rss);
        if (v.unseen && job->phase != JOB_ENDED)
            kv_time(j, "unseen_since", v.unseen);
        kv_waiting(j, job->phase != JOB_ENDED ? job_waiting(job, i) : NULL);
        json_end(j);
    }
    json_end(j);
}

static void rank_row(const struct job *job, struct json *j, uint32_t rank, uint32_t replica,
                     enum outcome o, const struct ending *end, ns_t started, const char *log)
{
    json_object(j);
    json_kv_int(j, "rank", rank);
    json_kv_str(j, "replica", job->plan->replicas[replica].name);
    kv_outcome(job, j, o);
    report_kv_code(j, !end->at || end->signal || !end->known ? -1 : ending_exit_code(end),
                   end->signal);
    kv_time(j, "started", started);
    kv_time(j, "ended", end->at);
    json_kv_str(j, "log", log);
    json_end(j);
}

/* Ranks that Muster started itself, and those of the mpirun that counts. */
static void ranks(const struct job *job, struct json *j)
{
    int32_t judged = job_judged_launch(job);
    const struct launch *l = judged >= 0 ? &job->launches[judged] : NULL;
    char log[PLAN_LOG_NAME];

    json_array(j);
    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct process *p = &job->plan->processes[i];
        if (p->rank >= 0)
            rank_row(job, j, (uint32_t)p->rank, p->replica, job_proc_outcome(job, i),
                     &job->procs[i].end, job->procs[i].started,
                     plan_log_name(p, job_start(job, i), log));
    }
    for (uint32_t i = 0; l && i < l->size; i++)
        if (l->ranks[i].state != PROC_PENDING)
            rank_row(job, j, i, l->ranks[i].replica, job_rank_outcome(job, (uint32_t)judged, i),
                     &l->ranks[i].end, l->ranks[i].started, l->ranks[i].log);
    json_end(j);
}

void status_write(const struct job *job, struct json *j)
{
    static void (*const views[PLATFORM_KINDS])(const struct job *, struct json *) = {
        [PLATFORM_MUSTER] = status_muster,
        [PLATFORM_T9K] = status_t9k,
        [PLATFORM_OPENPAI] = status_openpai,
        [PLATFORM_AZUREML] = status_azureml,
        [PLATFORM_AZUREML_PREVIEW] = status_azureml,
        [PLATFORM_MPIJOB_V1ALPHA1] = status_kubeflow_v1alpha1,
        [PLATFORM_MPIJOB_V1ALPHA2] = status_kubeflow,
        [PLATFORM_MPIJOB_V1] = status_kubeflow,
        [PLATFORM_MPIJOB_V2BETA1] = status_kubeflow,
        [PLATFORM_PYTORCHJOB] = status_kubeflow,
        [PLATFORM_TFJOB] = status_kubeflow,
    };

    views[job->plan->spec->platform.status](job, j);
}

static void attempt(const struct job *job, const struct report_context *ctx, struct json *j)
{
    json_object(j);
    json_kv_int(j, "number", job->attempt);
    kv_outcome(job, j, job->outcome);
    json_key(j, "cause");
    cause(job, ctx, j);
    kv_time(j, "started", job->begin_at);
    /* a program that cannot be executed ends before its start has been noted */
    kv_time(j, "ended", job->ended && job->ended < job->begin_at ? job->begin_at : job->ended);
    json_key(j, "replicas");
    replicas(job, j);
    json_key(j, "ranks");
    ranks(job, j);
    json_end(j);
}

/* An attempt that was over before anything of it began is none. */
static void attempts(const struct job *job, const struct report_context *ctx, struct json *j)
{
    json_array(j);
    for (uint32_t i = 0; i < job->n_past; i++) {
        const struct report_context past = {
            .engine = ctx->engine, .log_tail = ctx->past_tails ? ctx->past_tails[i] : NULL};
        attempt(&job->past[i], &past, j);
    }
    if (job->begun || job->n_past == 0)
        attempt(job, ctx, j);
    json_end(j);
}

const char *log_gap_reason(const struct log_gap *gap)
{
    return gap->error == LOG_TRUNCATED ? "truncated while the job ran" : err_reason(gap->error);
}

/* Only there if something is missing. */
static void logs_incomplete(const struct report_context *ctx, struct json *j)
{
    if (ctx->n_gaps == 0)
        return;
    json_key(j, "logs_incomplete");
    json_array(j);
    for (size_t i = 0; i < ctx->n_gaps; i++) {
        json_object(j);
        json_kv_str(j, "log", ctx->gaps[i].log);
        json_kv_int(j, "missing_bytes", ctx->gaps[i].bytes);
        json_kv_str(j, "reason", log_gap_reason(&ctx->gaps[i]));
        json_end(j);
    }
    json_end(j);
}

/* Who ended with 0 while the one that failed still needed it; only there if somebody did. */
static void left_early(const struct job *job, const struct early *early, struct json *j)
{
    if (!early->found || !early->explains)
        return;
    uint32_t replica = early_replica(job, early);
    json_key(j, "left_early");
    json_object(j);
    json_kv_str(j, "replica", job->plan->replicas[replica].name);
    kv_number(j, "rank", early_rank(job, early));
    kv_time(j, "at", early_ending(job, early)->at);
    json_kv_int(j, "more", early->n - 1);
    json_end(j);
}

static void ended_sentence(const struct job *job, const struct early *early, struct strbuf *out)
{
    auto_strbuf struct strbuf before = STRBUF_INIT, says = STRBUF_INIT, aside = STRBUF_INIT;

    early_before(job, early, &before);
    early_says(early, &says);
    verdict_sentence_after(job, before.buf, says.buf, out);
    early_aside(job, early, &aside);
    if (aside.len > 0)
        strbuf_addf(out, "; %s", aside.buf);
}

/* What its journal knows of a job whose muster was killed. */
static void killed_sentence(const struct job *job, struct strbuf *out)
{
    strbuf_addf(out,
                "lost: the muster process was killed while %u of %u processes were running and "
                "%u had ended",
                job->n_running, job->plan->n_processes, job->n_ended);
    if (job->n_starting > 0)
        strbuf_addf(out, "; %u %s being started and may have run", job->n_starting,
                    job->n_starting == 1 ? "was" : "were");
}

void report_write(const struct job *job, const struct report_context *ctx, struct json *j)
{
    const struct job_spec *spec = job->plan->spec;
    auto_strbuf struct strbuf sentence = STRBUF_INIT, hint = STRBUF_INIT;
    const struct early early = early_find(job, ctx->log_tail, ctx->other);

    if (job->phase == JOB_ENDED)
        ended_sentence(job, &early, &sentence);
    else if (job->phase == JOB_HELD)
        verdict_held(job, &sentence);
    else if (ctx->killed)
        killed_sentence(job, &sentence);
    else
        strbuf_addf(&sentence, "%s: %u of %u processes running, %u ended", job_state_name(job),
                    job->n_running, job->plan->n_processes, job->n_ended);
    if (job->phase != JOB_ENDED && job_first_waiting(job)) {
        strbuf_addstr(&sentence, "; waiting: ");
        waiting_summary(job, &sentence);
    }
    if (!ctx->recorded)
        hint_for(job, ctx->log_tail, &hint);
    if (hint.len > 0)
        strbuf_addf(&sentence, "; %s", hint.buf);
    if (ctx->other && *ctx->other)
        strbuf_addf(&sentence, "; %s", ctx->other);
    if (ctx->aside && *ctx->aside)
        strbuf_addf(&sentence, "; %s", ctx->aside);
    json_object(j);
    json_kv_int(j, "version", 1);
    json_key(j, "job");
    json_object(j);
    json_kv_str(j, "name", spec->name);
    json_kv_str(j, "dialect", spec->dialect);
    json_kv_str(j, "framework", framework_name(spec->framework));
    json_kv_str(j, "run_id", job->plan->facts->site.run_id);
    json_end(j);
    json_kv_str(j, "engine", ctx->engine);
    json_kv_str(j, "isolation", job->plan->facts->site.isolation);
    json_kv_str(j, "run_dir", plan_records(job->plan));
    json_kv_str(j, "phase", job_state_name(job));
    json_key(j, "outputs");
    json_array(j);
    for (const char *const *path = ctx->outputs; path && *path; path++)
        json_str(j, *path);
    json_end(j);
    kv_outcome(job, j, job->outcome);
    kv_number(j, "exit_code", job->phase == JOB_ENDED ? job->exit_code : -1);
    json_kv_str(j, "verdict", sentence.buf);
    json_key(j, "cause");
    cause(job, ctx, j);
    json_key(j, "status");
    status_write(job, j);
    json_key(j, "attempts");
    attempts(job, ctx, j);
    kv_waiting(j, job->phase != JOB_ENDED ? job_first_waiting(job) : NULL);
    left_early(job, &early, j);
    logs_incomplete(ctx, j);
    json_end(j);
}
