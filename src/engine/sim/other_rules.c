/* other_rules.c - the same job under other rules, as a later Muster might have them.
 *
 * The shadow of a simulated job folds the journal with this plan. What is recorded must be enough:
 * a fold that asked a rule again would get another answer here, and the two states would differ.
 */
#include <errno.h>
#include <string.h>

#include "engine/sim/inside.h"

/* Only what is policy: roles, replicas and whether counts matter at all stay as they are. */
static struct role other_role(const struct role *role)
{
    struct role other = *role;

    other.restart = role->restart == RESTART_NEVER ? RESTART_ALWAYS : RESTART_NEVER;
    other.restart_limit = role->restart_limit > 0 ? 0 : 5;
    other.min_failed = role->min_failed ? (role->min_failed < 0 ? 1 : -1) : 0;
    other.min_succeeded = role->min_succeeded > 0 ? role->min_succeeded + 100 : 0;
    other.grace_s = role->grace_s < 0 ? 1 : -1;
    return other;
}

static struct job_spec *other_spec(struct arena *a, const struct job_spec *spec)
{
    struct job_spec *other = ARENA_NEW(a, struct job_spec);
    struct role *roles = ARENA_ARRAY(a, struct role, spec->n_roles);

    *other = *spec;
    for (size_t k = 0; k < spec->n_roles; k++)
        roles[k] = other_role(&spec->roles[k]);
    other->roles = roles;
    other->retry = (struct retry_policy){.by_class = !spec->retry.by_class, .max = 7};
    other->has_restart_budget = !spec->has_restart_budget;
    other->deadline_s = spec->deadline_s ? 0 : 1;
    return other;
}

const struct plan *sim_other_rules(struct arena *a, const struct plan *plan)
{
    struct plan *other = ARENA_NEW(a, struct plan);
    struct facts *facts = ARENA_NEW(a, struct facts);
    struct replica *replicas = ARENA_ARRAY(a, struct replica, plan->n_replicas);

    *other = *plan;
    *facts = *plan->facts;
    facts->machine.program_errno = facts->machine.program_errno ? 0 : -EACCES;
    other->facts = facts;
    other->spec = other_spec(a, plan->spec);
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        replicas[i] = plan->replicas[i];
        replicas[i].role = &other->spec->roles[plan->replicas[i].role - plan->spec->roles];
    }
    other->replicas = replicas;
    return other;
}
