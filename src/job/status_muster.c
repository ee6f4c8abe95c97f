/* status_muster.c - a job of Muster's own form, and of `run -n`: plain words, and per role how many
 * replicas are in which of them.
 *
 * Every replica is counted under exactly one word. Where the others' platforms have times and
 * conditions, the report has them beside the status already.
 */
#include "job/status.h"

enum word { PENDING, RUNNING, SUCCEEDED, FAILED, STOPPED, N_WORDS };
static const char *const words[] = {[PENDING] = "pending",
                                    [RUNNING] = "running",
                                    [SUCCEEDED] = "succeeded",
                                    [FAILED] = "failed",
                                    [STOPPED] = "stopped"};

static enum word word_of(const struct job *job, const struct replica_view *v)
{
    switch (v->outcome) {
    case OUTCOME_SUCCEEDED:
        return SUCCEEDED;
    case OUTCOME_FAILED:
        return FAILED;
    case OUTCOME_STOPPED:
    case OUTCOME_CANCELLED:
        return STOPPED;
    default:
        break;
    }
    if (v->state == PROC_RUNNING)
        return RUNNING;
    return job->phase == JOB_ENDED ? STOPPED : PENDING;
}

static void write_role(const struct job *job, const struct role *role, struct json *j)
{
    int64_t counts[N_WORDS] = {0}, restarts = 0;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        if (job->plan->replicas[i].role != role)
            continue;

        struct replica_view v = job_replica(job, i);

        counts[word_of(job, &v)]++;
        restarts += v.restarts;
    }
    json_key(j, role->name);
    json_object(j);
    json_kv_int(j, "replicas", role->replicas);
    for (int i = 0; i < N_WORDS; i++) {
        if (counts[i])
            json_kv_int(j, words[i], counts[i]);
    }
    if (restarts)
        json_kv_int(j, "restarts", restarts);
    json_end(j);
}

void status_muster_roles(const struct job *job, struct json *j)
{
    const struct job_spec *spec = job->plan->spec;

    json_object(j);
    for (size_t i = 0; i < spec->n_roles; i++)
        write_role(job, &spec->roles[i], j);
    json_end(j);
}

void status_muster(const struct job *job, struct json *j)
{
    json_object(j);
    json_kv_str(j, "phase",
                job->phase == JOB_ENDED ? outcome_name(job->outcome) : job_state_name(job));
    json_kv_int(j, "attempt", job->attempt);
    json_key(j, "roles");
    status_muster_roles(job, j);
    json_end(j);
}
