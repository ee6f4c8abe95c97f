/* env.h - one process's environment in the making. Internal to plan/.
 *
 * Each family of variables is one file with one function that adds to the set; env.c calls them in
 * the order of precedence, so that a later family wins by putting the same name again.
 */
#ifndef PLAN_ENV_H
#define PLAN_ENV_H

#include "plan/plan.h"

struct env_set {
    struct arena *arena;
    struct env_value *v;
    size_t n, cap;
};

/* Adds a variable, or replaces it at its old place. why: the reason of a default, or NULL. */
void env_put(struct env_set *set, const char *name, const char *value, enum origin origin,
             const char *why);
const struct env_value *env_get(const struct env_set *set, const char *name); /* or NULL */

const char *caller_getenv(const struct facts *facts, const char *name); /* or NULL */

void env_caller(struct env_set *set, const struct plan *plan);
void env_muster(struct env_set *set, const struct plan *plan, const struct process *process);
void env_mpi(struct env_set *set, const struct plan *plan);
void env_torch(struct env_set *set, const struct plan *plan, const struct process *process);
void env_job(struct env_set *set, const struct plan *plan, const struct process *process,
             bool masked);

/* The value of a fieldRef or resourceFieldRef, or NULL if Muster does not know the field. */
const char *env_reference(struct arena *a, const struct plan *plan, const struct replica *replica,
                          const struct env_entry *entry);

#endif
