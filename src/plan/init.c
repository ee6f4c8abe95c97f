/* init.c - the commands that run in a replica before its own: what is executed, with what around
 * it.
 *
 * An init command has the variables of its replica's first process, but those that the job file
 * gives the main container: it has its own instead.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "plan/env.h"
#include "plan/relocate.h"

const char *volume_source_name(enum volume_source source)
{
    static const char *const names[] = {
        [VOLUME_EMPTY_DIR] = "emptyDir",   [VOLUME_HOST_PATH] = "hostPath",
        [VOLUME_CONFIG_MAP] = "configMap", [VOLUME_SECRET] = "secret",
        [VOLUME_CLAIM] = "claim",          [VOLUME_OTHER] = "other",
        [VOLUME_OPERATOR] = "operator",
    };
    return names[source];
}

static bool is_named(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (!**names || !strcmp(*names, name))
            return true;
    return false;
}

/* Does a mode of the file's own leave the init commands of this role out? */
static bool mode_skips(const struct debug_role *v, size_t n, const char *role)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].role && !strcmp(v[i].role, role))
            return v[i].skip_init;
    return false;
}

bool plan_runs_init(const struct plan *plan, const struct replica *replica, size_t i,
                    struct start start)
{
    const struct job_spec *spec = plan->spec;
    const struct role *role = replica->role;

    if (i >= role->n_init || is_named(plan->facts->caller.skip_init, role->init[i].name))
        return false;
    if (start.resumed && mode_skips(spec->resume_roles, spec->n_resume_roles, role->name))
        return false;
    return !start.debug || !mode_skips(spec->debug_roles, spec->n_debug_roles, role->name);
}

static void make_env(struct env_set *set, const struct plan *plan, const struct replica *replica,
                     size_t i, bool masked)
{
    const struct init_command *init = &replica->role->init[i];
    const struct env_entries own = {init->env_from, init->env, init->n_env_from, init->n_env,
                                    (int)i};

    env_make_with(set, plan, &plan->processes[replica->first_process], &own, masked);
}

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words && words[n])
        n++;
    return n;
}

const char *const *plan_init_argv(struct arena *a, const struct plan *plan,
                                  const struct replica *replica, size_t i, struct start start,
                                  bool masked)
{
    const struct init_command *init = &replica->role->init[i];
    size_t n = count(init->argv), k = count(init->args);
    struct env_set set = {.arena = a, .start = start};
    const char **argv;

    if (n == 0)
        return NULL;
    argv = ARENA_ARRAY(a, const char *, n + k + 1);
    make_env(&set, plan, replica, i, masked);
    for (size_t w = 0; w < n + k; w++) {
        const char *word = w < n ? init->argv[w] : init->args[w - n];

        argv[w] = plan->facts->site.references ? word : env_expand(&set, word);
    }
    return relocate_argv(a, plan, replica, (int)i, argv);
}

size_t plan_init_env(struct arena *a, const struct plan *plan, const struct replica *replica,
                     size_t i, struct start start, bool masked, const struct env_value **ret)
{
    struct env_set set = {.arena = a, .start = start};

    make_env(&set, plan, replica, i, masked);
    *ret = set.v;
    return set.n;
}

const char *plan_init_workdir(struct arena *a, const struct plan *plan,
                              const struct replica *replica, size_t i)
{
    const char *const *const *dirs = plan->facts->site.init_dirs;
    const char *dir = dirs ? dirs[replica->role_index][i] : NULL;

    return dir ? relocate_path(a, plan, replica, (int)i, dir) : plan_workdir(a, plan, replica);
}

const char *plan_init_log(const struct replica *replica, const char *init, struct start start,
                          char out[PLAN_LOG_NAME])
{
    char attempt[32] = "", restart[32] = "", name[LIMIT_NAME + 1];
    size_t n = 0;

    for (; init[n] && n < sizeof(name) - 1; n++)
        name[n] = isalnum((unsigned char)init[n]) ? init[n] : '-';
    name[n] = '\0';
    if (start.attempt > 1)
        (void)snprintf(attempt, sizeof(attempt), ".attempt-%u", start.attempt);
    if (start.instance > 1)
        (void)snprintf(restart, sizeof(restart), ".restart-%u", start.instance - 1);
    (void)snprintf(out, PLAN_LOG_NAME, "%.63s%s%s.init-%s.log", replica->name, attempt, restart,
                   name);
    return out;
}

const char *plan_sub_path(struct arena *a, const struct plan *plan, const struct replica *replica,
                          int i, const struct mount *mount)
{
    struct env_set set = {.arena = a, .start = FIRST_START};

    if (!mount->sub_path)
        return "";
    if (!mount->expand_sub_path || plan->facts->site.references)
        return mount->sub_path;
    if (i < 0)
        env_make(&set, plan, &plan->processes[replica->first_process], false);
    else
        make_env(&set, plan, replica, (size_t)i, false);
    return env_expand(&set, mount->sub_path);
}
