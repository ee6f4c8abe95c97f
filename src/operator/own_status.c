/* own_status.c - see own_status.h. */
#include "operator/own_status.h"

#include <string.h>

#include "base/signame.h"
#include "base/strbuf.h"
#include "job/status.h"
#include "job/verdict.h"

/* --- parts ------------------------------------------------------------------------------------ */

static const char *phase_of(const struct job *job)
{
    switch (job->phase) {
    case JOB_PENDING:
        return "Pending";
    case JOB_PAUSED:
        return "Paused";
    case JOB_ENDED:
        return job->outcome == OUTCOME_SUCCEEDED ? "Succeeded" : "Failed";
    default:
        return "Running";
    }
}

/* Whole seconds, as all objects have them. */
static void put_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    if (!at)
        return;
    (void)clock_rfc3339(at, text);
    memcpy(strchr(text, '.'), "Z", 2);
    json_kv_str(j, key, text);
}

static void put_text(struct json *j, const char *key, const struct strbuf *text)
{
    if (text->len > 0)
        json_kv_str(j, key, text->buf);
}

static void put_cause(const struct job *job, const struct cause *c, struct json *j)
{
    auto_strbuf struct strbuf message = STRBUF_INIT;

    if (c->kind == CAUSE_NONE)
        return;
    verdict_cause(job, c, &message);
    json_key(j, "cause");
    json_object(j);
    if (c->replica >= 0) {
        const struct replica *rp = &job->plan->replicas[c->replica];

        json_kv_str(j, "replica", rp->name);
        json_kv_str(j, "role", rp->role->name);
        json_kv_int(j, "index", rp->index);
    }
    if (c->rank >= 0)
        json_kv_int(j, "rank", c->rank);
    json_kv_str(j, "kind", cause_kind_name(c->kind));
    if (c->end.signal)
        json_kv_str(j, "signal", signal_name(c->end.signal));
    json_kv_int(j, "exitCode", c->exit_code);
    put_time(j, "at", c->end.at);
    put_text(j, "message", &message);
    json_end(j);
}

/* The words of its own platform, unless these are Muster's. */
static void put_platform(const struct job *job, struct json *j)
{
    if (job->plan->spec->platform.status == PLATFORM_MUSTER)
        return;
    json_key(j, "platform");
    status_write(job, j);
}

/* --- conditions ------------------------------------------------------------------------------- */

struct condition {
    const char *type, *reason, *message;
    bool holds;
    ns_t at;
};

static void put_condition(struct json *j, const struct condition *c)
{
    json_object(j);
    json_kv_str(j, "type", c->type);
    json_kv_str(j, "status", c->holds ? "True" : "False");
    json_kv_str(j, "reason", c->reason);
    json_kv_str(j, "message", c->message);
    put_time(j, "lastTransitionTime", c->at);
    json_end(j);
}

static ns_t started_at(const struct job *job)
{
    return job->n_past > 0 ? job->past[0].running_at : job->running_at;
}

/* Those that have been true; what is over is false. */
static void put_conditions(const struct job *job, const char *verdict, struct json *j)
{
    bool ended = job->phase == JOB_ENDED, good = job->outcome == OUTCOME_SUCCEEDED;
    bool runs = job->running_at > 0 && !ended && job->phase != JOB_PAUSED;
    const char *why = job->n_past > 0 ? verdict : "all replicas were started";

    json_key(j, "conditions");
    json_array(j);
    put_condition(j, &(struct condition){"Accepted", "Accepted", "the spec is a valid job", true,
                                         job->created});
    if (started_at(job))
        put_condition(j, &(struct condition){"Running",
                                             runs    ? "Started"
                                             : ended ? "Ended"
                                                     : "Waits",
                                             runs ? why : "", runs,
                                             ended ? job->ended : job->running_at});
    if (job->paused_at)
        put_condition(j,
                      &(struct condition){"Paused", job->phase == JOB_PAUSED ? "Asked" : "Resumed",
                                          job->phase == JOB_PAUSED ? "the job is paused" : "",
                                          job->phase == JOB_PAUSED, job->paused_at});
    if (ended)
        put_condition(j, &(struct condition){good ? "Succeeded" : "Failed",
                                             good ? "Succeeded" : "Failed", verdict, true,
                                             job->ended});
    json_end(j);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_roles(const struct job *job, struct json *j)
{
    json_key(j, "roles");
    status_muster_roles(job, j);
}

void own_status(const struct job *job, int64_t generation, const char *refusal, struct json *j)
{
    auto_strbuf struct strbuf verdict = STRBUF_INIT, waiting = STRBUF_INIT;
    bool ended = job->phase == JOB_ENDED;

    if (ended)
        verdict_sentence(job, &verdict);
    else
        verdict_retries(job, &verdict);
    if (refusal)
        strbuf_addstr(&waiting, refusal);
    else if (!ended)
        waiting_summary(job, &waiting);
    json_object(j);
    json_kv_int(j, "observedGeneration", generation);
    json_kv_str(j, "phase", phase_of(job));
    put_text(j, "waiting", &waiting);
    json_kv_int(j, "attempt", job->attempt);
    put_text(j, "verdict", &verdict);
    if (ended)
        json_kv_int(j, "exitCode", job->exit_code);
    put_cause(job, &job->cause, j);
    put_roles(job, j);
    put_platform(job, j);
    put_time(j, "startTime", started_at(job));
    put_time(j, "completionTime", ended ? job->ended : 0);
    put_conditions(job, verdict.buf, j);
    json_end(j);
}

void own_status_invalid(const char *why, int64_t generation, ns_t at, struct json *j)
{
    json_object(j);
    json_kv_int(j, "observedGeneration", generation);
    json_kv_str(j, "phase", "Invalid");
    json_kv_str(j, "verdict", why);
    json_key(j, "conditions");
    json_array(j);
    put_condition(j, &(struct condition){"Accepted", "Invalid", why, false, at});
    json_end(j);
    json_end(j);
}
