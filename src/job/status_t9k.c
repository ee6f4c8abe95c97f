/* status_t9k.c - phase, conditions, tasks and aggregate of a T9k MPIJob.
 *
 * Reasons and messages are those T9k's documents show. Where the documents contradict themselves:
 * the first condition is called Initialized, and Completed is True for every job that has ended,
 * with Failed beside it.
 */
#include <stdio.h>
#include <string.h>

#include "job/status_t9k.h"

enum pod_phase {
    POD_CREATING,
    POD_DELETED,
    POD_FAILED,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_UNKNOWN,
    POD_PHASES
};

static const struct {
    const char *word, *count;
} pod_words[POD_PHASES] = {
    [POD_CREATING] = {"Creating", "creating"}, [POD_DELETED] = {"Deleted", "deleted"},
    [POD_FAILED] = {"Failed", "failed"},       [POD_PENDING] = {"Pending", "pending"},
    [POD_RUNNING] = {"Running", "running"},    [POD_SUCCEEDED] = {"Succeeded", "succeeded"},
    [POD_UNKNOWN] = {"Unknown", "unknown"},
};

static bool t9k_failed(const struct job *job)
{
    if (job->phase != JOB_ENDED || job->plan->launcher < 0)
        return false;
    if (job->debugging)
        return true; /* no training has ended here, let alone well */
    const struct proc *launcher = &job->procs[job->plan->launcher];
    return !(launcher->state == PROC_ENDED && ending_ok(&launcher->end)) || job->stop_replica >= 0;
}

static enum pod_phase pod_phase(const struct job *job, uint32_t replica,
                                const struct replica_view *v)
{
    const struct role *role = job->plan->replicas[replica].role;

    switch (v->state) {
    case PROC_PENDING:
        return job->phase == JOB_PAUSED && job->n_past > 0 ? POD_DELETED : POD_PENDING;
    case PROC_BACKOFF:
    case PROC_STARTING:
        return POD_CREATING;
    default:
        break;
    }
    if (job->lost)
        return POD_UNKNOWN;
    if (job->phase != JOB_ENDED && v->state == PROC_RUNNING)
        return POD_RUNNING;
    if (role->kind == ROLE_HOST)
        return job->plan->spec->clean_up_workers ? POD_DELETED : POD_SUCCEEDED;
    return v->outcome == OUTCOME_SUCCEEDED ? POD_SUCCEEDED : POD_FAILED;
}

/* A replica's identity for tools that want a UUID: made from the run and its name, so that every
 * view of the same run agrees without storing it. */
static const char *replica_uid(const struct job *job, uint32_t replica, char out[37])
{
    uint64_t h[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    const char *const parts[] = {job->plan->facts->site.run_id, "/",
                                 job->plan->replicas[replica].name};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (const char *p = parts[i]; *p; p++) {
            h[0] = (h[0] ^ (unsigned char)*p) * 0x100000001b3u;
            h[1] = (h[1] ^ (h[0] >> 29)) * 0x100000001b3u;
        }
    (void)snprintf(out, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(h[0] >> 32),
                   (unsigned)(h[0] >> 16) & 0xffff, (unsigned)h[0] & 0xfff,
                   (unsigned)(0x8000 | ((h[1] >> 48) & 0x3fff)),
                   (unsigned long long)(h[1] & 0xffffffffffffu));
    return out;
}

static void condition(struct json *j, const char *type, bool status, ns_t at, const char *reason,
                      const char *message)
{
    char text[CLOCK_TEXT];

    json_object(j);
    json_kv_str(j, "type", type);
    json_kv_str(j, "status", status ? "True" : "False");
    json_kv_str(j, "reason", reason);
    json_kv_str(j, "message", message);
    json_kv_str(j, "lastTransitionTime", clock_rfc3339(at, text));
    json_end(j);
}

/* ReplicaFailure names the pod and its code even when mpirun said 0. */
static void replica_failure(const struct job *job, struct json *j)
{
    struct cause c = job_cause(job);
    ns_t since = job->running_at ? job->running_at : job->begin_at;

    if (c.kind == CAUSE_NONE || c.kind == CAUSE_CANCELLED || c.replica < 0) {
        condition(j, "ReplicaFailure", false, since, "-", "All pods are running normally.");
        return;
    }
    auto_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "Pod[%s] ", job->plan->replicas[c.replica].host);
    if (c.kind == CAUSE_NOT_READY)
        strbuf_addstr(&text, "did not become ready");
    else
        strbuf_addf(&text, "exited with error code %d", c.exit_code);
    if (c.rank >= 0)
        strbuf_addf(&text, " (rank %d)", c.rank);
    condition(j, "ReplicaFailure", true, c.end.at, "ErrorInPod", text.buf);
}

static void conditions(const struct job *job, struct json *j)
{
    bool ended = job->phase == JOB_ENDED, failed = t9k_failed(job);
    bool ran = job->running_at != 0;
    const char *why = failed ? "Failed" : "Succeeded";
    const char *words =
        failed ? "The job exited with an error code." : "The job has finished successfully.";

    json_array(j);
    if (ran)
        condition(j, "Initialized", true, job->running_at, "-",
                  "The job has been initialized successfully.");
    else
        condition(j, "Initialized", false, job->begin_at, "-", "The job is being initialized.");
    if (ended)
        condition(j, "Running", false, job->ended, "Finished", "The job has ended.");
    else if (job->phase == JOB_HELD)
        condition(j, "Running", false, job->held_at, "Held",
                  "The job has failed; its pods are kept for debugging.");
    else if (ran && job->debugging)
        condition(j, "Running", true, job->running_at, "Debugging",
                  "All pods are running; the training is not started.");
    else
        condition(j, "Running", ran, ran ? job->running_at : job->begin_at, "-",
                  ran ? "All pods are running normally." : "The job waits for its pods.");
    replica_failure(job, j);
    if (ended) {
        condition(j, "Completed", true, job->ended, why, words);
        condition(j, "Failed", failed, job->ended, why, words);
    } else if (job->phase == JOB_PAUSED) {
        condition(j, "Paused", true, job->paused_at ? job->paused_at : job->created,
                  "PauseRequested", "The job is paused.");
    } else if (job->resumed) {
        condition(j, "Paused", false, job->begin_at, "Resumed", "The job has been resumed.");
    }
    json_end(j);
}

static void container(const struct job *job, const struct replica_view *v, enum pod_phase phase,
                      struct json *j)
{
    json_key(j, "containers");
    json_array(j);
    if (v->state == PROC_ENDED && v->exit_code >= 0) {
        json_object(j);
        json_kv_str(j, "name", job->plan->spec->container);
        json_kv_str(j, "state", phase == POD_RUNNING ? "Running" : "Terminated");
        json_kv_int(j, "exitCode", v->exit_code);
        json_end(j);
    }
    json_end(j);
}

static uint32_t role_restarts(const struct job *job, size_t role)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        if (job->plan->replicas[i].role_index == role)
            n += job_replica(job, i).restarts;
    return n;
}

static void tasks(const struct job *job, struct json *j, uint32_t counts[POD_PHASES])
{
    const struct job_spec *spec = job->plan->spec;
    bool m2 = spec->form && strcmp(spec->form, "M2") == 0;
    char uid[37];

    json_array(j);
    for (size_t k = 0; k < spec->n_roles; k++) {
        json_object(j);
        json_kv_str(j, "type", spec->roles[k].name);
        json_kv_int(j, "restartCount", role_restarts(job, k));
        json_key(j, m2 ? "replicas" : "status");
        json_array(j);
        for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
            if (job->plan->replicas[i].role_index != k)
                continue;
            struct replica_view v = job_replica(job, i);
            enum pod_phase phase = pod_phase(job, i, &v);
            counts[phase]++;
            json_object(j);
            json_kv_str(j, "phase", pod_words[phase].word);
            json_kv_str(j, "name", job->plan->replicas[i].host);
            json_kv_str(j, "uid", replica_uid(job, i, uid));
            container(job, &v, phase, j);
            json_end(j);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

/* What nobody could see the end of has no outcome. */
static const char *phase_word(const struct job *job)
{
    if (job->lost && job->stop == STOP_LOST)
        return "Unknown";
    if (job->phase == JOB_ENDED)
        return t9k_failed(job) ? "Failed" : "Succeeded";
    if (job->phase == JOB_PAUSED)
        return "Paused";
    if (job->running_at)
        return "Running";
    return job->resumed ? "Resuming" : "Pending";
}

void status_t9k(const struct job *job, struct json *j)
{
    uint32_t counts[POD_PHASES] = {0};

    json_object(j);
    json_kv_str(j, "phase", phase_word(job));
    json_key(j, "conditions");
    conditions(job, j);
    json_key(j, "tasks");
    tasks(job, j, counts);
    json_key(j, "aggregate");
    json_object(j);
    for (int p = 0; p < POD_PHASES; p++)
        json_kv_int(j, pod_words[p].count, counts[p]);
    json_end(j);
    json_end(j);
}
