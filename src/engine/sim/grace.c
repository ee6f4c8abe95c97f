/* grace.c - how long what is stopped has to end, worked out without the core. */
#include "engine/sim/inside.h"

ns_t sim_role_grace(const struct sim *s, uint32_t role)
{
    int64_t own_ms = INT64_C(1000) * s->plan->spec->roles[role].grace_s;

    return (own_ms >= 0 && !s->rules->grace_fixed ? own_ms : s->rules->grace_ms) * NS_PER_MS;
}

ns_t sim_grace(const struct sim *s, uint32_t process)
{
    const struct role *role = s->plan->replicas[s->plan->processes[process].replica].role;

    return sim_role_grace(s, (uint32_t)(role - s->plan->spec->roles));
}

ns_t sim_longest_grace(const struct sim *s)
{
    ns_t longest = 0;

    for (uint32_t k = 0; k < s->plan->spec->n_roles; k++)
        if (sim_role_grace(s, k) > longest)
            longest = sim_role_grace(s, k);
    return longest;
}

ns_t sim_next_kill(const struct sim *s)
{
    ns_t next = sim_longest_grace(s);

    for (uint32_t k = 0; k < s->plan->spec->n_roles; k++)
        if (!s->job->role_killed[k] && sim_role_grace(s, k) < next)
            next = sim_role_grace(s, k);
    return s->job->stop_at + next;
}
