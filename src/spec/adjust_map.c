/* adjust_map.c - --map: a path of the container is another one here. */
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "spec/adjust_parts.h"
#include "spec/paths.h"

/* FROM=/TO: an address may have a '=' in it. NULL if it is neither that nor between paths. */
static const char *map_separator(const char *text)
{
    const char *equals = strchr(text, '='), *next;

    if (text[0] == '/')
        return equals && equals[1] == '/' ? equals : NULL;
    equals = strchr(text, ':') ? strstr(text, "=/") : NULL;
    while (equals && (next = strstr(equals + 1, "=/")))
        equals = next;
    return equals && strchr(text, ':') < equals ? equals : NULL;
}

static int read_maps(struct adjuster *x, struct path_map *maps, size_t *ret_n, struct err *e)
{
    for (*ret_n = 0; x->adj->map && x->adj->map[*ret_n]; ++*ret_n) {
        const char *text = x->adj->map[*ret_n], *equals = map_separator(text);
        struct path_map *m = &maps[*ret_n];
        size_t len;

        if (*ret_n == LIMIT_MAPS)
            return err_set(e, -EINVAL, "--map can be given at most %d times", LIMIT_MAPS);
        if (!equals)
            return err_set(e, -EINVAL,
                           "--map must be CONTAINER_PATH=HOST_PATH with absolute paths, not \"%s\"",
                           text);
        len = (size_t)(equals - text);
        while (len > 1 && text[len - 1] == '/')
            len--;
        if (len == 1)
            return err_set(e, -EINVAL, "--map %s: / cannot be mapped", text);
        m->from = arena_strndup(x->a, text, len);
        m->to = equals + 1;
    }
    return 0;
}

static const struct env_entry *map_env(struct adjuster *x, const struct path_maps *maps,
                                       const char *whose, const struct env_entry *v, size_t n)
{
    struct env_entry *env = ARENA_ARRAY(x->a, struct env_entry, n);

    if (n)
        memcpy(env, v, n * sizeof(*env));
    for (size_t i = 0; i < n; i++) {
        const char *made = env[i].source == ENV_LITERAL && env[i].value && env[i].value[0] == '/'
                               ? paths_one(x->a, maps, env[i].value)
                               : NULL;

        if (!made)
            continue;
        change_add(x, SEV_NOTE, "%s: variable %s is %s instead of %s (--map)", whose, env[i].name,
                   made, env[i].value);
        env[i].value = made;
    }
    return env;
}

/* Where an option says what is there, nothing is mounted. */
static const struct mount *map_mounts(struct adjuster *x, const struct path_maps *maps,
                                      const char *whose, const struct mount *v, size_t *n)
{
    struct mount *left = ARENA_ARRAY(x->a, struct mount, *n);
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        if (!paths_one(x->a, maps, v[i].path))
            left[kept++] = v[i];
        else
            change_add(x, SEV_NOTE, "%s: volume %s is not mounted at %s (--map)", whose,
                       v[i].volume, v[i].path);
    }
    *n = kept;
    return left;
}

static void tell_mapped(struct adjuster *x, const char *what, size_t changed)
{
    if (changed)
        change_add(x, SEV_NOTE, "%s: %zu path%s replaced (--map)", what, changed,
                   changed == 1 ? "" : "s");
}

static const char *map_dir(struct adjuster *x, const struct path_maps *maps, const char *whose,
                           const char *workdir)
{
    const char *dir = workdir && workdir[0] == '/' ? paths_one(x->a, maps, workdir) : NULL;

    if (dir)
        change_add(x, SEV_NOTE, "%s: working directory %s instead of %s (--map)", whose, dir,
                   workdir);
    return dir ? dir : workdir;
}

static void map_init(struct adjuster *x, const struct path_maps *maps, struct role *role)
{
    struct init_command *v = ARENA_ARRAY(x->a, struct init_command, role->n_init);

    for (size_t i = 0; i < role->n_init; i++) {
        const char *whose =
            arena_printf(x->a, "init container %s of %s", role->init[i].name, role->name);
        size_t changed = 0;

        v[i] = role->init[i];
        v[i].workdir = map_dir(x, maps, whose, v[i].workdir);
        v[i].argv = paths_argv(x->a, maps, v[i].argv, &changed);
        v[i].args = paths_argv(x->a, maps, v[i].args, &changed);
        tell_mapped(x, arena_printf(x->a, "the command of %s", whose), changed);
        v[i].env = map_env(x, maps, whose, v[i].env, v[i].n_env);
        v[i].mounts = map_mounts(x, maps, whose, v[i].mounts, &v[i].n_mounts);
    }
    role->init = v;
}

static void map_role(struct adjuster *x, const struct path_maps *maps, struct role *role)
{
    size_t changed = 0, again = 0;

    role->workdir = map_dir(x, maps, role->name, role->workdir);
    role->argv = paths_argv(x->a, maps, role->argv, &changed);
    role->shell = paths_shell(x->a, maps, role->shell, &changed);
    tell_mapped(x, arena_printf(x->a, "the command of %s", role->name), changed);
    role->shell_secret = paths_shell(x->a, maps, role->shell_secret, &again);
    role->env = map_env(x, maps, role->name, role->env, role->n_env);
    role->mounts = map_mounts(x, maps, role->name, role->mounts, &role->n_mounts);
    map_init(x, maps, role);
}

/* Inputs that are elsewhere, or at a path of the container's; outputs that are to go somewhere. */
static void map_values(struct adjuster *x, const struct path_maps *maps)
{
    struct job_value *values = ARENA_ARRAY(x->a, struct job_value, x->spec->n_values);

    if (x->spec->n_values)
        memcpy(values, x->spec->values, x->spec->n_values * sizeof(*values));
    for (size_t i = 0; i < x->spec->n_values; i++) {
        struct job_value *v = &values[i];

        v->here = v->kind != VALUE_LITERAL && v->text ? paths_one(x->a, maps, v->text) : NULL;
        if (v->here)
            change_add(x, SEV_NOTE, "the %s %s is %s (--map)",
                       v->kind == VALUE_OUTPUT ? "output" : "input", v->name, v->here);
    }
    x->spec->values = values;
}

bool spec_names_value(const struct job_spec *spec, const struct job_value *v)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    bool named = false;

    strbuf_addf(&sb, "${{%s.%s}}", v->kind == VALUE_OUTPUT ? "outputs" : "inputs", v->name);
    for (size_t i = 0; i < spec->n_roles; i++)
        named = named || (spec->roles[i].shell && strstr(spec->roles[i].shell, sb.buf));
    for (const char *const *word = spec->mpi ? spec->mpi->program : NULL; word && *word; word++)
        named = named || strstr(*word, sb.buf);
    return named;
}

int adjust_map(struct adjuster *x, struct err *e)
{
    struct path_map maps[LIMIT_MAPS + 1];
    struct path_maps m = {.v = maps};
    size_t before = x->changes.n, changed = 0;
    int r = read_maps(x, maps, &m.n, e);

    if (r < 0 || m.n == 0)
        return r;
    for (size_t i = 0; i < x->spec->n_roles; i++)
        map_role(x, &m, &x->roles[i]);
    map_values(x, &m);
    if (x->mpi) {
        x->mpi->program = paths_argv(x->a, &m, x->mpi->program, &changed);
        x->mpi->extra_args = paths_argv(x->a, &m, x->mpi->extra_args, &changed);
        tell_mapped(x, "the mpirun line", changed);
    }
    if (x->changes.n == before)
        change_add(x, SEV_WARNING,
                   "--map: the path does not occur in a working directory, command, variable or "
                   "input of the job");
    return 0;
}
