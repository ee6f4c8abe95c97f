/* env.c - the environment of one process, put together from its families in order of precedence.
 *
 * Not here: which variables there are (env_*.c).
 */
#include "plan/env.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "plan/mpi.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* --- the set ------------------------------------------------------------------------------------
 */

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

static void put(struct env_set *set, struct env_value value)
{
    if (!set->v || set->n == set->cap)
        grow(set);

    uint32_t *place = index_place(set, value.name);

    if (!*place)
        *place = (uint32_t)++set->n;
    set->v[*place - 1] = value;
}

void env_put(struct env_set *set, const char *name, const char *value, enum origin origin,
             const char *why)
{
    put(set, (struct env_value){.name = name,
                                .value = value,
                                .origin = origin,
                                .local = set->local || origin == ORIGIN_CALLER,
                                .why = why});
}

void env_put_unresolved(struct env_set *set, const struct env_entry *entry)
{
    bool literal = entry->source == ENV_LITERAL;

    put(set, (struct env_value){.name = entry->name,
                                .value = literal ? entry->value : "",
                                .reference = literal ? NULL : entry,
                                .origin = ORIGIN_JOB,
                                .expands = literal});
}

static void drop_local(struct env_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        if (!set->v[i].local)
            set->v[n++] = set->v[i];
    set->n = n;
    if (set->n_index)
        memset(set->index, 0, set->n_index * sizeof(*set->index));
    for (size_t i = 0; i < n; i++)
        *index_place(set, set->v[i].name) = (uint32_t)i + 1;
}

void env_putf(struct env_set *set, enum origin origin, const char *name, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    env_put(set, name, arena_vprintf(set->arena, fmt, ap), origin, NULL);
    va_end(ap);
}

/* --- defaults -----------------------------------------------------------------------------------
 */

static const char *default_value(struct arena *a, const struct plan *plan,
                                 const struct env_default *d)
{
    const struct facts *facts = plan->facts;

    switch (d->where) {
    case HOSTFILE_OPEN_MPI:
    case HOSTFILE_HYDRA:
        return arena_printf(a, "%s/%s", facts->site.run_dir,
                            mpi_hostfile_name(facts, d->where == HOSTFILE_HYDRA));
    case IN_SCRATCH:
        return arena_printf(a, "%s%s", facts->site.scratch_dir, d->value);
    case THREADS:
        return arena_printf(a, "%lld", (long long)env_threads(plan));
    case INTERFACE:
        return facts->site.interface ? facts->site.interface : "lo";
    case AS_IT_IS:
    case ONLY_HERE:
        break;
    }
    return d->value;
}

/* Is it below the run's own directories, which every place with a shim has? */
static bool is_of_run(const struct env_default *d)
{
    return d->where == IN_SCRATCH || d->where == HOSTFILE_OPEN_MPI || d->where == HOSTFILE_HYDRA;
}

void env_put_default(struct env_set *set, const struct plan *plan, const struct env_default *d)
{
    const char *callers = caller_getenv(set->arena, plan->facts, d->name);
    const struct site *site = &plan->facts->site;

    set->local = d->where != AS_IT_IS && !(is_of_run(d) && site->elsewhere && site->shim);
    if (callers)
        env_put(set, d->name, callers, ORIGIN_CALLER, NULL);
    else if (!d->when || d->when(plan))
        env_put(set, d->name, default_value(set->arena, plan, d), ORIGIN_MUSTER, d->why);
    set->local = false;
}

/* --- who gets what ------------------------------------------------------------------------------
 */

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

static bool pytorchjobs(const struct plan *plan, const struct process *process)
{
    (void)process;
    return plan->spec->platform.environment == PLATFORM_PYTORCHJOB;
}

/* A command of the job's own form that starts the processes itself, as torchrun does. */
static bool torchruns(const struct plan *plan, const struct process *process)
{
    return plan->spec->platform.environment == PLATFORM_MUSTER &&
           plan->spec->framework == FRAMEWORK_PYTORCH &&
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
    enum platform_kind kind = plan->spec->platform.environment;

    (void)process;
    return kind == PLATFORM_AZUREML || kind == PLATFORM_AZUREML_PREVIEW;
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
    bool home = facts->machine.mpi_home_ok && plan->spec->mpi && plan->spec->mpi->home;
    const char *image = image_prefix(plan, process);
    const char *value =
        arena_printf(set->arena, "%s/" PLAN_BIN ":%s%s%s%s%s", facts->site.scratch_dir,
                     image ? image : "", image ? "/bin:" : "", home ? plan->spec->mpi->home : "",
                     home ? "/bin:" : "", path && *path->value ? path->value : DEFAULT_PATH);

    set->local = true;
    env_put(set, "PATH", value, path && path->origin == ORIGIN_JOB ? ORIGIN_JOB : ORIGIN_MUSTER,
            "the run's ssh comes first");
    set->local = false;
}

/* By its name: whoever calls `run -n` says nothing about his variables. */
static bool looks_secret(const char *name)
{
    static const char *const words[] = {"token",  "secret",     "password",   "passwd",
                                        "apikey", "credential", "access_key", "api_key"};

    /* Not strcasestr(), which prepares for long texts: this is asked of each variable of each
     * process. */
    for (; *name; name++)
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
            if ((*name | 0x20) == *words[i] && strncasecmp(name, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

static void mask_callers(struct env_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->v[i].origin == ORIGIN_CALLER && looks_secret(set->v[i].name))
            set->v[i].value = "***";
}

void env_make_with(struct env_set *set, const struct plan *plan, const struct process *process,
                   const struct env_entries *entries, bool masked)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        if (families[i].gets(plan, process))
            families[i].add(set, plan, process);
    env_job(set, plan, &plan->replicas[process->replica], entries, masked);
    /* The operator appends its variables to those of a container, and the last one counts. */
    if (pytorchjobs(plan, process) && entries->init < 0)
        env_pytorchjob(set, plan, process);
    if (plan->facts->site.elsewhere)
        drop_local(set);
    else
        finish_path(set, plan, process);
    if (masked)
        mask_callers(set);
}

void env_make(struct env_set *set, const struct plan *plan, const struct process *process,
              bool masked)
{
    const struct role *role = plan->replicas[process->replica].role;
    const struct env_entries own = {role->env_from, role->env, role->n_env_from, role->n_env, -1};

    env_make_with(set, plan, process, &own, masked);
}

size_t plan_operator_env(struct arena *a, const struct plan *plan, uint32_t process,
                         const struct env_value **ret)
{
    const struct process *p = &plan->processes[process];
    struct env_set set = {.arena = a, .start = FIRST_START};

    if (mpijobs(plan, p))
        env_mpi_operator(&set, plan, p);
    if (pytorchjobs(plan, p))
        env_pytorchjob(&set, plan, p);
    if (plan->spec->platform.environment == PLATFORM_TFJOB)
        env_tensorflow(&set, plan, p);
    *ret = set.v;
    return set.n;
}

size_t plan_env(struct arena *a, const struct plan *plan, uint32_t process, struct start start,
                bool masked, const struct env_value **ret)
{
    struct env_set set = {.arena = a, .start = start};

    env_make(&set, plan, &plan->processes[process], masked);
    *ret = set.v;
    return set.n;
}
