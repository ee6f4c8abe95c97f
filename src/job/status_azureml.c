/* status_azureml.c - a job as Azure ML shows it: one word, and the error if it failed.
 *
 * There is no queue, no image to build and no node to wait for, so that of Azure's words for the
 * time before only Starting is used.
 */
#include "job/status.h"
#include "job/verdict.h"

static const char *status_word(const struct job *job)
{
    if (job->phase == JOB_ENDED) {
        if (job->lost)
            return "NotResponding";
        return job->outcome == OUTCOME_SUCCEEDED   ? "Completed"
               : job->outcome == OUTCOME_CANCELLED ? "Canceled"
                                                   : "Failed";
    }
    if (job->phase == JOB_PAUSED)
        return "Paused";
    if (job->stop == STOP_CANCEL)
        return "CancelRequested";
    if (job->stop != STOP_NONE)
        return "Finalizing";
    return job->running_at ? "Running" : "Starting";
}

static void kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    json_kv_str(j, key, at ? clock_rfc3339(at, text) : NULL);
}

/* UserError is what a command did; everything that kept it from running is the system's. */
static void error(const struct job *job, struct json *j)
{
    const struct cause *c = &job->cause;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    bool user = c->process >= 0 || c->rank >= 0;

    if (job->phase != JOB_ENDED || job->outcome != OUTCOME_FAILED) {
        json_kv_null(j, "error");
        return;
    }
    verdict_cause(job, c, &text);
    json_key(j, "error");
    json_object(j);
    json_kv_str(j, "code", user && !ending_is_ours(&c->end) ? "UserError" : "SystemError");
    json_kv_str(j, "message", text.buf);
    json_end(j);
}

/* The first time that it ran. */
static ns_t start_time(const struct job *job)
{
    for (uint32_t i = 0; i < job->n_past; i++)
        if (job->past[i].running_at)
            return job->past[i].running_at;
    return job->running_at;
}

void status_azureml(const struct job *job, struct json *j)
{
    const struct job_spec *spec = job->plan->spec;

    json_object(j);
    json_kv_str(j, "name", spec->name);
    json_kv_str(j, "experiment_name", spec->experiment);
    json_kv_str(j, "compute", spec->target);
    json_kv_str(j, "status", status_word(job));
    kv_time(j, "startTimeUtc", start_time(job));
    kv_time(j, "endTimeUtc", job->ended);
    error(job, j);
    json_end(j);
}
