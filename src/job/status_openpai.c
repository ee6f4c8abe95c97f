/* status_openpai.c - a job as OpenPAI's REST server shows it.
 *
 * Exit codes are the commands' own: OpenPAI's table of causes, which it finds by looking through
 * the log, is not applied. Negative ones are those of its controller: what was stopped has -220,
 * what was cancelled -210. There is no virtual cluster, user or GPU to tell of.
 */
#include "base/arena.h"
#include "base/strbuf.h"
#include "job/exit_spec.h"
#include "job/status.h"
#include "job/verdict.h"

static int version(const struct job *job)
{
    return job->plan->spec->pai ? job->plan->spec->pai->version : 2;
}

static void kv_ms(struct json *j, const char *key, ns_t at)
{
    if (at)
        json_kv_int(j, key, at / NS_PER_MS);
    else
        json_kv_null(j, key);
}

/* --- states ------------------------------------------------------------------------------------
 */

static const char *state_of_code(int code)
{
    if (code == 0)
        return "SUCCEEDED";
    return code == PAI_STOP_REQUESTED || code == PAI_ATTEMPT_COMPLETED ? "STOPPED" : "FAILED";
}

static int code_of_cause(const struct cause *c)
{
    switch (c->kind) {
    case CAUSE_NONE:
        return 0;
    case CAUSE_CANCELLED:
        return PAI_STOP_REQUESTED;
    case CAUSE_LOST:
    case CAUSE_GONE:
    case CAUSE_EVICTED:
        return PAI_NODE_LOST;
    case CAUSE_DEADLINE:
        return PAI_DEADLINE;
    case CAUSE_NOT_READY:
    case CAUSE_UNSCHEDULABLE:
        return PAI_GANG_TIMEOUT;
    case CAUSE_IMAGE:
        return PAI_NO_IMAGE;
    case CAUSE_OOM:
        return PAI_OUT_OF_MEMORY;
    default:
        return c->exit_code;
    }
}

/* OpenPAI gives the job the status of the task that made the count full; its code is that one's. */
static int job_code(const struct job *job)
{
    struct trigger t = job_trigger(job);

    if (t.outcome == OUTCOME_FAILED && t.replica != job->cause.replica) {
        struct replica_view v = job_replica(job, (uint32_t)t.replica);
        return v.signal ? 128 + v.signal : v.exit_code;
    }
    return code_of_cause(&job->cause);
}

static const char *job_state(const struct job *job)
{
    if (job->phase == JOB_ENDED)
        return state_of_code(job_code(job));
    if (job->stop == STOP_CANCEL)
        return "STOPPING";
    return job->running_at || job->n_running + job->n_ended > 0 ? "RUNNING" : "WAITING";
}

/* What a code is called, whose fault it is and what OpenPAI makes of it; null while there is none.
 */
static void kv_exit_spec(struct json *j, const char *key, bool known, int code)
{
    const struct exit_spec *spec = exit_spec(code);

    json_key(j, key);
    if (!known) {
        json_null(j);
        return;
    }
    json_object(j);
    json_kv_int(j, "code", code);
    json_kv_str(j, "phrase", spec->phrase);
    json_kv_str(j, "type", spec->type);
    json_kv_str(j, "behavior", code ? failure_class_behavior(spec->class) : NULL);
    json_kv_str(j, "reaction", failure_class_reaction(spec->class));
    json_end(j);
}

/* --- tasks -------------------------------------------------------------------------------------
 */

static bool task_code(const struct job *job, const struct replica_view *v, int *ret)
{
    bool over = job->phase == JOB_ENDED || v->state == PROC_ENDED;

    if (!over)
        return false;
    switch (v->outcome) {
    case OUTCOME_SUCCEEDED:
        *ret = 0;
        return true;
    case OUTCOME_FAILED:
        *ret = v->signal ? 128 + v->signal : v->exit_code >= 0 ? v->exit_code : 128 + 9;
        return true;
    default:
        *ret = job->stop == STOP_CANCEL ? PAI_STOP_REQUESTED : PAI_ATTEMPT_COMPLETED;
        return true;
    }
}

static const char *task_state(const struct job *job, const struct replica_view *v)
{
    int code;

    if (task_code(job, v, &code))
        return state_of_code(code);
    return v->state == PROC_RUNNING ? "RUNNING" : "WAITING";
}

static void kv_task_code(const struct job *job, const struct replica_view *v, struct json *j)
{
    int code = 0;
    bool known = task_code(job, v, &code);

    if (known)
        json_kv_int(j, "containerExitCode", code);
    else
        json_kv_null(j, "containerExitCode");
    if (version(job) >= 2)
        kv_exit_spec(j, "containerExitSpec", known, code);
}

static void task(const struct job *job, const struct replica *r, struct arena *a, struct json *j)
{
    struct replica_view v = job_replica(job, r->id);
    const struct process *p = &job->plan->processes[r->first_process];
    const char *state = task_state(job, &v);
    char log[PLAN_LOG_NAME];

    json_object(j);
    json_kv_int(j, "taskIndex", r->index);
    json_kv_str(j, "taskState", state);
    json_kv_str(j, "containerId", r->host);
    json_kv_str(j, "containerIp", r->address);
    json_key(j, "containerPorts");
    json_object(j);
    for (size_t i = 0; i < r->n_ports; i++)
        json_kv_str(j, r->ports[i].label, plan_port_text(a, &r->ports[i]));
    json_end(j);
    json_kv_null(j, "containerGpus");
    json_kv_str(j, "containerLog",
                v.started ? arena_printf(a, "%s/logs/%s", plan_records(job->plan),
                                         plan_log_name(p, job_start(job, p->id), log))
                          : NULL);
    kv_task_code(job, &v, j);
    json_kv_int(j, "retries", v.restarts);
    if (version(job) >= 2) {
        json_kv_str(j, "containerNodeName", r->host);
        json_kv_int(j, "accountableRetries", job->procs[r->first_process].restarts_counted);
        kv_ms(j, "createdTime", job->created);
        kv_ms(j, "launchedTime", v.started);
        kv_ms(j, "completedTime", v.ended);
        json_kv_int(j, "attemptId", v.restarts);
        json_kv_str(j, "attemptState", state);
    }
    json_end(j);
}

static void task_roles(const struct job *job, struct json *j)
{
    const struct job_spec *spec = job->plan->spec;
    auto_arena struct arena *a = arena_new();

    json_object(j);
    for (size_t k = 0; k < spec->n_roles; k++) {
        json_key(j, spec->roles[k].name);
        json_object(j);
        json_key(j, "taskRoleStatus");
        json_object(j);
        json_kv_str(j, "name", spec->roles[k].name);
        json_end(j);
        json_key(j, "taskStatuses");
        json_array(j);
        for (uint32_t i = 0; i < job->plan->n_replicas; i++)
            if (job->plan->replicas[i].role_index == k)
                task(job, &job->plan->replicas[i], a, j);
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

/* --- the job -----------------------------------------------------------------------------------
 */

/* Whose ending ended the job, and by which count. */
static void trigger(const struct job *job, struct json *j)
{
    struct trigger t = job_trigger(job);
    const struct replica *r = t.replica >= 0 ? &job->plan->replicas[t.replica] : NULL;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (r) {
        const char *word = t.outcome == OUTCOME_FAILED ? "Failed" : "Succeeded";
        strbuf_addf(&text, "%sTaskCount %u has reached Min%sTaskCount %u in the TaskRole", word,
                    t.count, word, t.count);
    }
    json_kv_str(j, "appExitTriggerMessage", r ? text.buf : NULL);
    json_kv_str(j, "appExitTriggerTaskRoleName", r ? r->role->name : NULL);
    if (r)
        json_kv_int(j, "appExitTriggerTaskIndex", r->index);
    else
        json_kv_null(j, "appExitTriggerTaskIndex");
}

/* The user's are those that the job's own number pays for, the platform's those that nobody does.
 */
static void retry_details(const struct job *job, struct json *j)
{
    json_key(j, "retryDetails");
    json_object(j);
    json_kv_int(j, "user", job->retries_counted);
    json_kv_int(j, "platform", job->retries - job->retries_counted);
    json_kv_int(j, "resource", 0);
    json_end(j);
}

/* The controller's own word for where the attempt stands. */
static const char *sub_state(const struct job *job)
{
    if (job->phase == JOB_ENDED)
        return "Completed";
    if (job->stop != STOP_NONE)
        return "AttemptDeleting";
    if (job->running_at || job->n_running + job->n_ended > 0)
        return "AttemptRunning";
    return job->begun ? "AttemptPreparing" : "AttemptCreationPending";
}

/* How long the next attempt has to wait, in seconds; null where it need not. */
static void kv_retry_delay(const struct job *job, struct json *j)
{
    bool waits = job->retries > 0 && !job->begun && job->n_past > 0;
    ns_t from = waits ? job->past[job->n_past - 1].ended : 0;

    if (waits && job->begin_at > from)
        json_kv_int(j, "retryDelayTime", (job->begin_at - from) / NS_PER_S);
    else
        json_kv_null(j, "retryDelayTime");
}

/* What a list of jobs shows of one; also the first keys of its details. */
static void summary(const struct job *job, struct json *j)
{
    json_kv_str(j, "state", job_state(job));
    if (version(job) >= 2)
        json_kv_str(j, "subState", sub_state(job));
    json_kv_str(j, "executionType", job->stop == STOP_CANCEL ? "STOP" : "START");
    json_kv_int(j, "retries", job->retries);
    if (version(job) >= 2) {
        retry_details(job, j);
        kv_retry_delay(job, j);
    }
    kv_ms(j, "createdTime", job->created);
    kv_ms(j, "launchedTime", job->running_at);
    kv_ms(j, "completedTime", job->ended);
    if (job->phase == JOB_ENDED)
        json_kv_int(j, "appExitCode", job_code(job));
    else
        json_kv_null(j, "appExitCode");
}

/* The runtime writes down the user's own code where it gives another one, which Muster never does.
 */
static void exit_details(const struct job *job, struct json *j)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    bool ended = job->phase == JOB_ENDED;
    int code = ended ? job_code(job) : 0;

    json_kv_str(j, "appExitType", ended ? exit_spec(code)->type : NULL);
    if (version(job) < 2)
        return;
    kv_exit_spec(j, "appExitSpec", ended, code);
    verdict_cause(job, &job->cause, &text);
    json_kv_str(j, "appExitDiagnostics", text.len > 0 ? text.buf : NULL);
}

void status_openpai(const struct job *job, struct json *j)
{
    const struct job_spec *spec = job->plan->spec;

    json_object(j);
    json_kv_str(j, "name", spec->name);
    summary(job, j);
    json_kv_int(j, "totalTaskNumber", job->plan->n_replicas);
    json_kv_int(j, "totalTaskRoleNumber", (int64_t)spec->n_roles);
    json_key(j, "jobStatus");
    json_object(j);
    summary(job, j);
    if (version(job) >= 2) {
        json_kv_int(j, "attemptId", job->retries);
        json_kv_str(j, "attemptState", job_state(job));
    }
    json_kv_str(j, "appId", job->plan->facts->site.run_id);
    kv_ms(j, "appCreatedTime", job->created);
    kv_ms(j, "appLaunchedTime", job->running_at);
    kv_ms(j, "appCompletedTime", job->ended);
    trigger(job, j);
    exit_details(job, j);
    json_end(j);
    json_key(j, "taskRoles");
    task_roles(job, j);
    json_end(j);
}
