/* live.c - what a job that runs is doing: replicas and ranks with their states. */
#include <string.h>

#include "api/parts.h"
#include "job/report.h"

static const char *state_word(enum proc_state state, enum outcome o)
{
    switch (state) {
    case PROC_PENDING:
    case PROC_BACKOFF:
        return "waiting";
    case PROC_STARTING:
        return "starting";
    case PROC_RUNNING:
        return "running";
    case PROC_ENDED:
        break;
    }
    return o == OUTCOME_SUCCEEDED ? "succeeded" : o == OUTCOME_FAILED ? "failed" : "stopped";
}

static void kv_end(struct json *j, int code, int sig, ns_t since)
{
    report_kv_code(j, code, sig);
    kv_time(j, "since", since);
}

/* What the replica sees; null if it requested none, or there are not enough for the job. */
static void kv_gpus(struct json *j, const struct plan *plan, const struct replica *r)
{
    auto_arena struct arena *a = arena_new();
    const char *ids = plan_gpus(a, plan, r);

    json_key(j, "gpus");
    if (!ids || !*ids) {
        json_null(j);
        return;
    }
    json_array(j);
    while (*ids) {
        size_t n = strcspn(ids, ",");

        json_strn(j, ids, n);
        ids += n + (ids[n] == ',');
    }
    json_end(j);
}

static void replica(struct json *j, const struct job *job, uint32_t i)
{
    const struct replica *r = &job->plan->replicas[i];
    struct replica_view v = job_replica(job, i);
    const struct wait_reason *w = job_waiting(job, i);
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *word = v.unseen                     ? "unknown"
                       : job->phase == JOB_PAUSED   ? "paused"
                       : w && v.state != PROC_ENDED ? "waiting"
                                                    : state_word(v.state, v.outcome);

    if (w)
        waiting_text(w, &text);
    json_object(j);
    json_kv_str(j, "name", r->name);
    json_kv_str(j, "role", r->role->name);
    json_kv_int(j, "index", r->index);
    json_kv_str(j, "host", r->host);
    json_kv_str(j, "state", word);
    json_kv_int(j, "restarts", v.restarts);
    kv_end(j, v.exit_code, v.signal, v.ended ? v.ended : v.started);
    kv_text(j, "message", text.buf);
    kv_gpus(j, job->plan, r);
    json_end(j);
}

static void rank(struct json *j, const struct job *job, uint32_t number, uint32_t of,
                 enum proc_state state, enum outcome o, const struct ending *end, ns_t started)
{
    bool ended = state == PROC_ENDED;

    json_object(j);
    json_kv_int(j, "rank", number);
    json_kv_str(j, "replica", job->plan->replicas[of].name);
    json_kv_str(j, "state", job->phase == JOB_PAUSED ? "paused" : state_word(state, o));
    kv_end(j, !ended || end->signal || !end->known ? -1 : ending_exit_code(end),
           ended ? end->signal : 0, ended ? end->at : started);
    json_end(j);
}

static const struct launch *judged(const struct job *job, uint32_t *ret)
{
    int32_t n = job_judged_launch(job);

    *ret = n >= 0 ? (uint32_t)n : 0;
    return n >= 0 ? &job->launches[n] : NULL;
}

static void doing(const struct job *job, struct strbuf *out)
{
    strbuf_addf(out, "%s: %u of %u processes running, %u ended", job_state_name(job),
                job->n_running, job->plan->n_processes, job->n_ended);
    if (job_first_waiting(job)) {
        strbuf_addstr(out, "; waiting: ");
        waiting_summary(job, out);
    }
}

void live_json(struct json *j, const struct job *job)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    uint32_t launch;
    const struct launch *l = judged(job, &launch);

    json_object(j);
    json_key(j, "replicas");
    json_array(j);
    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        replica(j, job, i);
    json_end(j);
    json_key(j, "ranks");
    json_array(j);
    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct process *p = &job->plan->processes[i];

        if (p->rank >= 0)
            rank(j, job, (uint32_t)p->rank, p->replica, job->procs[i].state,
                 job_proc_outcome(job, i), &job->procs[i].end, job->procs[i].started);
    }
    for (uint32_t i = 0; l && i < l->size; i++)
        if (l->ranks[i].state != PROC_PENDING)
            rank(j, job, i, l->ranks[i].replica, l->ranks[i].state,
                 job_rank_outcome(job, launch, i), &l->ranks[i].end, l->ranks[i].started);
    json_end(j);
    json_kv_int(j, "attempt", job->attempt);
    doing(job, &text);
    json_kv_str(j, "doing", text.buf);
    json_end(j);
}

static void count(struct counts *n, enum proc_state state, enum outcome o)
{
    n->total++;
    n->running += state == PROC_RUNNING || state == PROC_STARTING;
    n->succeeded += state == PROC_ENDED && o == OUTCOME_SUCCEEDED;
    n->failed += state == PROC_ENDED && o == OUTCOME_FAILED;
}

/* Of a job without ranks: its processes. */
struct counts live_counts(const struct job *job, uint32_t *ret_restarts)
{
    struct counts n = {0};
    uint32_t launch;
    const struct launch *l = judged(job, &launch);

    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->plan->processes[i].rank >= 0)
            count(&n, job->procs[i].state, job_proc_outcome(job, i));
    for (uint32_t i = 0; l && i < l->size; i++)
        count(&n, l->ranks[i].state, job_rank_outcome(job, launch, i));
    for (uint32_t i = 0; n.total == 0 && i < job->plan->n_processes; i++)
        count(&n, job->procs[i].state, job_proc_outcome(job, i));
    *ret_restarts = job->n_past;
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        *ret_restarts += job->procs[i].restarts;
    return n;
}
