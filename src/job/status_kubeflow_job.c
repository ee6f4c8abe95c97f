/* status_kubeflow_job.c - the status that Kubeflow's kinds share: conditions, counts per role,
 * times.
 *
 * A count that is zero is not there, as the operators leave it out.
 */
#include <string.h>

#include "job/status.h"
#include "job/status_kubeflow.h"

struct counts {
    uint32_t active, succeeded, failed;
};

/* Of a job that has succeeded the training operator counts those that still ran as succeeded.
 * Waiting MPI workers are only ever active. */
static void count_replica(const struct kubeflow_story *t, uint32_t replica, struct counts *n)
{
    const struct job *job = t->job;
    const struct role *role = job->plan->replicas[replica].role;
    struct replica_view v = job_replica(job, replica);
    bool ended = job->phase == JOB_ENDED, launcher = role->kind == ROLE_LAUNCHER;

    if (v.state == PROC_PENDING || job->phase == JOB_PAUSED)
        return;
    if (launcher)
        n->failed += v.restarts;
    if (!ended && v.state != PROC_ENDED)
        n->active += v.state == PROC_RUNNING;
    else if (role->kind == ROLE_HOST)
        return;
    else if (v.outcome == OUTCOME_SUCCEEDED ||
             (kubeflow_succeeded(t) && v.outcome == OUTCOME_STOPPED))
        n->succeeded++;
    else if (v.outcome == OUTCOME_FAILED || launcher)
        n->failed++;
    if (v.state == PROC_BACKOFF)
        n->failed += 1;
}

static void replica_status(const struct kubeflow_story *t, size_t role, struct json *j)
{
    const struct job *job = t->job;
    struct counts n = {0};

    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        if (job->plan->replicas[i].role_index == role)
            count_replica(t, i, &n);
    json_object(j);
    if (n.active)
        json_kv_int(j, "active", n.active);
    if (n.succeeded)
        json_kv_int(j, "succeeded", n.succeeded);
    if (n.failed)
        json_kv_int(j, "failed", n.failed);
    if (strcmp(t->kind->name, "PyTorchJob") == 0)
        json_kv_str(j, "selector",
                    arena_printf(t->a,
                                 "training.kubeflow.org/job-name=%s,training.kubeflow.org/"
                                 "operator-name=pytorchjob-controller,training.kubeflow.org/"
                                 "replica-type=%s",
                                 job->plan->spec->name, job->plan->spec->roles[role].name));
    json_end(j);
}

/* A map of Go's: by name. */
static void replica_statuses(const struct kubeflow_story *t, struct json *j)
{
    const struct job_spec *spec = t->job->plan->spec;
    const char *last = "";

    json_object(j);
    for (size_t n = 0; n < spec->n_roles; n++) {
        size_t next = spec->n_roles;
        for (size_t k = 0; k < spec->n_roles; k++)
            if (strcmp(spec->roles[k].name, last) > 0 &&
                (next == spec->n_roles || strcmp(spec->roles[k].name, spec->roles[next].name) < 0))
                next = k;
        if (next == spec->n_roles)
            break;
        last = spec->roles[next].name;
        json_key(j, kubeflow_role(t->a, last));
        replica_status(t, next, j);
    }
    json_end(j);
}

/* A pause begins the time anew. 0 = it was created suspended, and still is. */
static ns_t start_time(const struct job *job)
{
    if (job->phase != JOB_PAUSED)
        return job->begin_at;
    return job->n_past > 0 ? job->past[job->n_past - 1].begin_at : 0;
}

void status_kubeflow(const struct job *job, struct json *j)
{
    auto_arena struct arena *a = arena_new();
    struct kubeflow_story t;

    kubeflow_tell(a, job, &t);
    json_object(j);
    json_key(j, "conditions");
    conditions_write(&t.cs, j);
    json_key(j, "replicaStatuses");
    replica_statuses(&t, j);
    if (start_time(job))
        kube_kv_time(j, "startTime", start_time(job));
    if (job->phase == JOB_ENDED)
        kube_kv_time(j, "completionTime", kubeflow_completed(&t));
    json_end(j);
}
