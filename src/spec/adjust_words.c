/* adjust_words.c - replacing words of commands, and --map, which does nothing else. */
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "spec/adjust_parts.h"

const char *edit_shell(struct arena *a, const char *text, const struct word_edit *edit)
{
    const struct shell_word *words;
    size_t n, changed = 0;
    const char **with;

    if (!text)
        return NULL;
    n = shell_words(a, text, &words);
    with = ARENA_ARRAY(a, const char *, n + 1);
    edit->edit(edit->ctx, words, n, with);
    for (size_t i = 0; i < n; i++) {
        auto_strbuf struct strbuf quoted = STRBUF_INIT;

        if (!with[i])
            continue;
        changed++;
        strbuf_add_shell_word(&quoted, with[i]);
        with[i] = arena_strndup(a, quoted.buf, quoted.len);
    }
    return changed ? shell_replace(a, text, words, n, with) : text;
}

/* The index of the text in `sh -c TEXT`, also behind other options (`bash -eux -c`, `bash -lc`); 0 if
 * it is no such line. */
static size_t shell_text_at(const char *const *argv)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh"};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    bool is_shell = false;

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        is_shell = is_shell || !strcmp(name, shells[i]);
    for (size_t i = 1; is_shell && argv[i] && argv[i][0] == '-'; i++)
        if (argv[i][1] != '-' && strchr(argv[i], 'c') && argv[i + 1])
            return i + 1;
    return 0;
}

const char *const *edit_argv(struct arena *a, const char *const *argv, const struct word_edit *edit)
{
    size_t n = 0, text_at;
    const char **made, **with;
    struct shell_word *words;

    if (!argv || !argv[0])
        return argv;
    while (argv[n])
        n++;
    made = ARENA_ARRAY(a, const char *, n + 1);
    memcpy(made, argv, n * sizeof(*made));
    text_at = shell_text_at(argv);
    if (text_at) {
        made[text_at] = edit_shell(a, argv[text_at], edit);
        return made;
    }
    words = ARENA_ARRAY(a, struct shell_word, n);
    with = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++)
        words[i] = (struct shell_word){.text = argv[i], .plain = true, .begins = i == 0};
    edit->edit(edit->ctx, words, n, with);
    for (size_t i = 0; i < n; i++)
        if (with[i])
            made[i] = with[i];
    return made;
}

void edit_command(struct arena *a, struct role *role, const struct word_edit *edit)
{
    role->argv = edit_argv(a, role->argv, edit);
    role->shell = edit_shell(a, role->shell, edit);
}

/* --- --map -------------------------------------------------------------------------------------- */

struct mapping {
    const char *from, *to;
    size_t len; /* of from, without a slash at its end */
};

struct map_edit {
    struct arena *a;
    const struct mapping *maps;
    size_t n;
    size_t changed;
};

/* The path with the longest mapping that holds it applied, or NULL. */
static const char *map_path(const struct map_edit *m, const char *path)
{
    const struct mapping *best = NULL;

    for (size_t i = 0; i < m->n; i++) {
        const struct mapping *map = &m->maps[i];

        if (strncmp(path, map->from, map->len) == 0 &&
            (path[map->len] == '\0' || path[map->len] == '/') && (!best || map->len > best->len))
            best = map;
    }
    return best ? arena_printf(m->a, "%s%s", best->to, path + best->len) : NULL;
}

/* A word that is a path, or an option's or variable's value that is one: --data=/mnt/data. */
static const char *map_word(struct map_edit *m, const char *word)
{
    const char *equals = strchr(word, '=');
    const char *made = NULL;

    if (word[0] == '/')
        made = map_path(m, word);
    else if (equals && equals[1] == '/') {
        made = map_path(m, equals + 1);
        if (made)
            made = arena_printf(m->a, "%.*s%s", (int)(equals + 1 - word), word, made);
    }
    m->changed += made != NULL;
    return made;
}

static void map_words(void *ctx, const struct shell_word *words, size_t n, const char **with)
{
    for (size_t i = 0; i < n; i++)
        if (words[i].plain)
            with[i] = map_word(ctx, words[i].text);
}

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

static int read_maps(struct adjuster *x, struct mapping *maps, size_t *ret_n, struct err *e)
{
    for (*ret_n = 0; x->adj->map && x->adj->map[*ret_n]; ++*ret_n) {
        const char *text = x->adj->map[*ret_n], *equals = map_separator(text);
        struct mapping *m = &maps[*ret_n];

        if (*ret_n == LIMIT_MAPS)
            return err_set(e, -EINVAL, "--map: at most %d times", LIMIT_MAPS);
        if (!equals)
            return err_set(e, -EINVAL,
                           "--map %s: it must be CONTAINER_PATH=HOST_PATH, both absolute", text);
        m->len = (size_t)(equals - text);
        while (m->len > 1 && text[m->len - 1] == '/')
            m->len--;
        if (m->len == 1)
            return err_set(e, -EINVAL, "--map %s: / itself cannot be mapped", text);
        m->from = arena_strndup(x->a, text, m->len);
        m->to = equals + 1;
    }
    return 0;
}

static void map_env(struct adjuster *x, struct map_edit *m, struct role *role)
{
    struct env_entry *env = ARENA_ARRAY(x->a, struct env_entry, role->n_env);

    if (role->n_env)
        memcpy(env, role->env, role->n_env * sizeof(*env));
    for (size_t i = 0; i < role->n_env; i++) {
        const char *made = env[i].source == ENV_LITERAL && env[i].value && env[i].value[0] == '/'
                               ? map_path(m, env[i].value)
                               : NULL;

        if (!made)
            continue;
        change_add(x, SEV_NOTE, "%s: the variable %s is %s instead of %s (--map)", role->name,
                   env[i].name, made, env[i].value);
        env[i].value = made;
    }
    role->env = env;
}

static void tell_mapped(struct adjuster *x, const char *what, const struct map_edit *m)
{
    if (m->changed)
        change_add(x, SEV_NOTE, "%s: %zu path%s replaced (--map)", what, m->changed,
                   m->changed == 1 ? "" : "s");
}

static void map_role(struct adjuster *x, struct map_edit *m, struct role *role)
{
    const struct word_edit edit = {map_words, m};
    const char *dir = role->workdir && role->workdir[0] == '/' ? map_path(m, role->workdir) : NULL;

    if (dir) {
        change_add(x, SEV_NOTE, "%s: the working directory is %s instead of %s (--map)", role->name,
                   dir, role->workdir);
        role->workdir = dir;
    }
    m->changed = 0;
    edit_command(x->a, role, &edit);
    tell_mapped(x, arena_printf(x->a, "the command of %s", role->name), m);
    role->shell_secret = edit_shell(x->a, role->shell_secret, &edit);
    map_env(x, m, role);
}

/* Inputs that are elsewhere, or at a path of the container's; outputs that are to go somewhere. */
static void map_values(struct adjuster *x, struct map_edit *m)
{
    struct job_value *values = ARENA_ARRAY(x->a, struct job_value, x->spec->n_values);

    if (x->spec->n_values)
        memcpy(values, x->spec->values, x->spec->n_values * sizeof(*values));
    for (size_t i = 0; i < x->spec->n_values; i++) {
        struct job_value *v = &values[i];

        v->here = v->kind != VALUE_LITERAL && v->text ? map_path(m, v->text) : NULL;
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
    struct mapping maps[LIMIT_MAPS + 1];
    struct map_edit m = {.a = x->a, .maps = maps};
    const struct word_edit edit = {map_words, &m};
    size_t before = x->changes.n;
    int r = read_maps(x, maps, &m.n, e);

    if (r < 0 || m.n == 0)
        return r;
    for (size_t i = 0; i < x->spec->n_roles; i++)
        map_role(x, &m, &x->roles[i]);
    map_values(x, &m);
    if (x->mpi) {
        m.changed = 0;
        x->mpi->program = edit_argv(x->a, x->mpi->program, &edit);
        x->mpi->extra_args = edit_argv(x->a, x->mpi->extra_args, &edit);
        tell_mapped(x, "the mpirun line", &m);
    }
    if (x->changes.n == before)
        change_add(x, SEV_WARNING,
                   "--map: no such path is in a working directory, a command, a "
                   "variable or an input of the job");
    return 0;
}
