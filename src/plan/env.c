/* env.c - the environment of one process, put together from its families in order of precedence.
 *
 * Not here: which variables there are (env_*.c).
 */
#include "plan/env.h"

#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/mpi.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* --- the set ------------------------------------------------------------------------------------ */

static size_t hash_of(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

/* The place in the index of the name, or the free one where it would stand. */
static uint32_t *index_place(const struct env_set *set, const char *name)
{
    size_t i = hash_of(name) & (set->n_index - 1);

    while (set->index[i] && strcmp(set->v[set->index[i] - 1].name, name) != 0)
        i = (i + 1) & (set->n_index - 1);
    return &set->index[i];
}

const struct env_value *env_get(const struct env_set *set, const char *name)
{
    uint32_t place = set->n ? *index_place(set, name) : 0;

    return place ? &set->v[place - 1] : NULL;
}

static void grow(struct env_set *set)
{
    size_t cap = set->cap ? set->cap * 2 : 64;
    struct env_value *v = ARENA_ARRAY(set->arena, struct env_value, cap);

    if (set->v)
        memcpy(v, set->v, set->n * sizeof(*v));
    set->v = v;
    set->cap = cap;
    set->n_index = cap * 2;
    set->index = ARENA_ARRAY(set->arena, uint32_t, set->n_index);
    for (size_t i = 0; i < set->n; i++)
        *index_place(set, v[i].name) = (uint32_t)i + 1;
}

void env_put(struct env_set *set, const char *name, const char *value, enum origin origin,
             const char *why)
{
    if (!set->v || set->n == set->cap)
        grow(set);

    uint32_t *place = index_place(set, name);

    if (!*place)
        *place = (uint32_t)++set->n;
    set->v[*place - 1] =
        (struct env_value){.name = name, .value = value, .origin = origin, .why = why};
}

void env_putf(struct env_set *set, enum origin origin, const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    env_put(set, name, arena_vprintf(set->arena, fmt, ap), origin, NULL);
    va_end(ap);
}

/* --- defaults ----------------------------------------------------------------------------------- */

static const char *default_value(struct arena *a, const struct plan *plan,
                                 const struct env_default *d)
{
    const struct facts *facts = plan->facts;

    switch (d->where) {
    case HOSTFILE_OPEN_MPI:
    case HOSTFILE_HYDRA:
        return arena_printf(a, "%s/%s", facts->run_dir,
                            mpi_hostfile_name(facts, d->where == HOSTFILE_HYDRA));
    case IN_SCRATCH:
        return arena_printf(a, "%s%s", facts->scratch_dir, d->value);
    case THREADS:
        return arena_printf(a, "%lld", (long long)env_threads(plan));
    case INTERFACE:
        return facts->interface ? facts->interface : "lo";
    case AS_IT_IS:
        break;
    }
    return d->value;
}

void env_put_default(struct env_set *set, const struct plan *plan, const struct env_default *d)
{
    const char *callers = caller_getenv(set->arena, plan->facts, d->name);

    if (callers)
        env_put(set, d->name, callers, ORIGIN_CALLER, NULL);
    else if (!d->when || d->when(plan))
        env_put(set, d->name, default_value(set->arena, plan, d), ORIGIN_MUSTER, d->why);
}

/* --- who gets what ------------------------------------------------------------------------------ */

static bool everyone(const struct plan *plan, const struct process *process)
{
    (void)plan, (void)process;
    return true;
}

static bool callers_of_mpi(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->calls_mpi;
}

static bool is_dialect(const struct plan *plan, const char *id)
{
    return plan->spec->dialect && strcmp(plan->spec->dialect, id) == 0;
}

static bool pytorchjobs(const struct plan *plan, const struct process *process)
{
    (void)process;
    return is_dialect(plan, "kubeflow-pytorch");
}

/* A command of the job's own form that starts the processes itself, as torchrun does. */
static bool torchruns(const struct plan *plan, const struct process *process)
{
    return is_dialect(plan, "muster-v1") && plan->spec->framework == FRAMEWORK_PYTORCH &&
           plan->replicas[process->replica].role->own_slots;
}

static bool mpijobs(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->operator_hostfile;
}

/* `run -n` speaks torch's language too: its processes are ranks. */
static bool torch_processes(const struct plan *plan, const struct process *process)
{
    return process->rank >= 0 ||
           (plan->spec->framework == FRAMEWORK_PYTORCH && !pytorchjobs(plan, process));
}

static bool tensorflow_tasks(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->spec->framework == FRAMEWORK_TENSORFLOW;
}

static bool openpai_tasks(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->spec->pai;
}

static bool azureml_nodes(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->spec->dialect && !strncmp(plan->spec->dialect, "azureml", strlen("azureml"));
}

/* In the order of precedence: a later one wins. The job's own come after all of them. */
static const struct family {
    bool (*gets)(const struct plan *plan, const struct process *process);
    void (*add)(struct env_set *set, const struct plan *plan, const struct process *process);
} families[] = {
    {everyone, env_caller},        {everyone, env_muster},
    {everyone, env_image},         {everyone, env_training},
    {callers_of_mpi, env_mpi},     {callers_of_mpi, env_horovod},
    {everyone, env_shared},        {torch_processes, env_torch},
    {pytorchjobs, env_pytorchjob}, {tensorflow_tasks, env_tensorflow},
    {openpai_tasks, env_openpai},  {azureml_nodes, env_azureml},
    {mpijobs, env_mpi_operator},   {torchruns, env_torchrun},
};

/* The run's own directory comes first whoever set PATH: that is where ssh leads into replicas. */
static void finish_path(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct facts *facts = plan->facts;
    const struct env_value *path = env_get(set, "PATH");
    bool home = facts->mpi_home_ok && plan->spec->mpi && plan->spec->mpi->home;
    const char *image = image_prefix(plan, process);
    const char *value =
        arena_printf(set->arena, "%s/" PLAN_BIN ":%s%s%s%s%s", facts->scratch_dir,
                     image ? image : "", image ? "/bin:" : "", home ? plan->spec->mpi->home : "",
                     home ? "/bin:" : "", path && *path->value ? path->value : DEFAULT_PATH);

    env_put(set, "PATH", value, path && path->origin == ORIGIN_JOB ? ORIGIN_JOB : ORIGIN_MUSTER,
            "the run's own ssh first");
}

void env_make_with(struct env_set *set, const struct plan *plan, const struct process *process,
                   const struct env_entries *entries, bool masked)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        if (families[i].gets(plan, process))
            families[i].add(set, plan, process);
    env_job(set, plan, &plan->replicas[process->replica], entries, masked);
    finish_path(set, plan, process);
}

void env_make(struct env_set *set, const struct plan *plan, const struct process *process,
              bool masked)
{
    const struct role *role = plan->replicas[process->replica].role;
    const struct env_entries own = {role->env_from, role->env, role->n_env_from, role->n_env, -1};

    env_make_with(set, plan, process, &own, masked);
}

size_t plan_env(struct arena *a, const struct plan *plan, uint32_t process, struct start start,
                bool masked, const struct env_value **ret)
{
    struct env_set set = {.arena = a, .start = start};

    env_make(&set, plan, &plan->processes[process], masked);
    *ret = set.v;
    return set.n;
}
