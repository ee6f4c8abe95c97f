/* env.c - the environment of one process, put together from its families in order of precedence.
 *
 * Not here: which variables there are (env_*.c).
 */
#include "plan/env.h"

#include <string.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const struct env_value *env_get(const struct env_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->v[i].name, name))
            return &set->v[i];
    return NULL;
}

void env_put(struct env_set *set, const char *name, const char *value, enum origin origin,
             const char *why)
{
    const struct env_value *old = env_get(set, name);
    struct env_value new = {.name = name, .value = value, .origin = origin, .why = why};

    if (old) {
        set->v[old - set->v] = new;
        return;
    }
    if (set->n == set->cap) {
        struct env_value *v = ARENA_ARRAY(set->arena, struct env_value, set->cap * 2 + 64);

        if (set->n)
            memcpy(v, set->v, set->n * sizeof(*v));
        set->v = v;
        set->cap = set->cap * 2 + 64;
    }
    set->v[set->n++] = new;
}

const char *caller_getenv(const struct facts *facts, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *e = facts->caller_env; *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

/* The run's own directory comes first whoever set PATH: that is where ssh leads into replicas. */
static void finish_path(struct env_set *set, const struct plan *plan)
{
    const struct facts *facts = plan->facts;
    const struct env_value *path = env_get(set, "PATH");
    bool home = facts->mpi_home_ok && plan->spec->mpi && plan->spec->mpi->home;
    const char *value = arena_printf(set->arena, "%s/" PLAN_BIN ":%s%s%s", facts->scratch_dir,
                                     home ? plan->spec->mpi->home : "", home ? "/bin:" : "",
                                     path && *path->value ? path->value : DEFAULT_PATH);

    env_put(set, "PATH", value, path && path->origin == ORIGIN_JOB ? ORIGIN_JOB : ORIGIN_MUSTER,
            "the run's own ssh first");
}

size_t plan_env(struct arena *a, const struct plan *plan, uint32_t process, bool masked,
                const struct env_value **ret)
{
    const struct process *p = &plan->processes[process];
    struct env_set set = {.arena = a};

    env_caller(&set, plan);
    env_muster(&set, plan, p);
    if (plan->spec->framework == FRAMEWORK_MPI)
        env_mpi(&set, plan);
    if (p->rank >= 0)
        env_torch(&set, plan, p);
    env_job(&set, plan, p, masked);
    finish_path(&set, plan);
    *ret = set.v;
    return set.n;
}
