/* status_kubeflow.c - an MPIJob of kubeflow.org/v1alpha1 as its operator shows it.
 *
 * That operator knows the launcher's Job and how many workers are ready; when the launcher is done
 * it scales them down to none. A launcher that never came to be leaves launcherStatus unset.
 */
#include "job/status.h"

static const char *launcher_status(const struct proc *launcher)
{
    switch (launcher->state) {
    case PROC_BACKOFF:
    case PROC_RUNNING:
        return "Active";
    case PROC_ENDED:
        return !launcher->stop_asked && ending_ok(&launcher->end) ? "Succeeded" : "Failed";
    default:
        return NULL;
    }
}

static int64_t ready_workers(const struct job *job)
{
    int64_t n = 0;

    for (uint32_t i = 0; job->phase != JOB_ENDED && i < job->plan->n_replicas; i++)
        n += job->plan->replicas[i].role->kind == ROLE_HOST &&
             job_replica(job, i).state == PROC_RUNNING;
    return n;
}

void status_kubeflow_v1alpha1(const struct job *job, struct json *j)
{
    static const struct proc none = {.state = PROC_PENDING};
    const struct proc *launcher =
        job->plan->launcher >= 0 ? &job->procs[job->plan->launcher] : &none;
    const char *word = launcher_status(launcher);
    char text[CLOCK_TEXT];

    json_object(j);
    if (word)
        json_kv_str(j, "launcherStatus", word);
    json_kv_int(j, "workerReplicas", ready_workers(job));
    if (launcher->started)
        json_kv_str(j, "startTime", clock_rfc3339(launcher->started, text));
    if (launcher->state == PROC_ENDED && word && *word == 'S')
        json_kv_str(j, "completionTime", clock_rfc3339(launcher->end.at, text));
    json_end(j);
}
