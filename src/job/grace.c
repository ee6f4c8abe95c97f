/* grace.c - how long a role has between SIGTERM and SIGKILL, and which roles have had that time.
 *
 * Every role has a grace period of its own, as every pod has. SIGTERM goes to all at once; a role
 * whose period is shorter than the longest is killed by itself, the longest ends the stopping of
 * the whole job. */
#include "job/job.h"

int64_t job_grace_ms(const struct job *job, size_t role)
{
    int32_t s = job->plan->spec->roles[role].grace_s;

    return s < 0 || job->rules.grace_fixed ? job->rules.grace_ms : s * INT64_C(1000);
}

int64_t job_longest_grace_ms(const struct job *job)
{
    int64_t longest = -1;

    for (size_t k = 0; k < job->plan->spec->n_roles; k++)
        if (job_grace_ms(job, k) > longest)
            longest = job_grace_ms(job, k);
    return longest < 0 ? job->rules.grace_ms : longest;
}

ns_t job_role_kill_at(const struct job *job, size_t role)
{
    int64_t grace = job_grace_ms(job, role);

    if (job->phase != JOB_STOPPING || job->role_killed[role] || grace == job_longest_grace_ms(job))
        return 0;
    return job->stop_at + grace * NS_PER_MS;
}
