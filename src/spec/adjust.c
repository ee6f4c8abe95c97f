/* adjust.c - the options that change a spec, one after the other: commands and paths first, then
 * numbers, so that what a new command says is seen.
 */
#include "spec/adjust.h"

#include <stdarg.h>
#include <string.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "spec/adjust_parts.h"

void change_add(struct adjuster *x, enum severity severity, const char *fmt, ...)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct changes *cs = &x->changes;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    if (cs->n == cs->cap) {
        struct change *v = ARENA_ARRAY(x->a, struct change, cs->cap * 2 + 16);

        if (cs->n)
            memcpy(v, cs->v, cs->n * sizeof(*v));
        cs->v = v;
        cs->cap = cs->cap * 2 + 16;
    }
    cs->v[cs->n++] = (struct change){severity, arena_strndup(x->a, sb.buf, sb.len)};
}

struct role *role_named(struct adjuster *x, const char *name, const char **ret_near)
{
    const char *names[64] = {NULL};

    *ret_near = NULL;
    for (size_t i = 0; i < x->spec->n_roles; i++) {
        if (!strcmp(x->roles[i].name, name))
            return &x->roles[i];
        if (i < ARRAY_SIZE(names))
            names[i] = x->roles[i].name;
    }
    *ret_near = nearest_word(name, names, ARRAY_SIZE(names));
    return NULL;
}

struct role *role_wanted(struct adjuster *x, const char *option, const char *name, struct err *e)
{
    auto_strbuf struct strbuf all = STRBUF_INIT;
    const char *near;
    struct role *role = role_named(x, name, &near);

    if (role)
        return role;
    for (size_t i = 0; i < x->spec->n_roles; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", x->roles[i].name);
    if (near)
        (void)err_set(e, -EINVAL, "--%s: role \"%s\" not found; did you mean \"%s\"?", option, name,
                      near);
    else
        (void)err_set(e, -EINVAL, "--%s: role \"%s\" not found; roles: %s", option, name, all.buf);
    return NULL;
}

/* --- --entrypoint -------------------------------------------------------------------------------
 */

bool spec_lacks_command(const struct job_spec *spec, const struct role *role)
{
    if (role->argv || role->shell || role->kind == ROLE_HOST)
        return false;
    return role->kind != ROLE_LAUNCHER || !spec->mpi;
}

/* An entry point gets the arguments that the file has for it, as a container's does. */
static const char *with_args(struct arena *a, const char *command, const char *const *args)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, command);
    for (; args && *args; args++) {
        strbuf_addch(&sb, ' ');
        strbuf_add_shell_word(&sb, *args);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

static void set_command(struct adjuster *x, struct role *role, const char *command)
{
    bool had = role->argv || role->shell;

    role->argv = NULL;
    role->shell = had ? command : with_args(x->a, command, role->args);
    role->shell_secret = NULL;
    role->shell_kind = SHELL_SH;
    role->expand_argv = false;
    if (had)
        change_add(x, SEV_NOTE, "%s: command overridden by --entrypoint", role->name);
    else
        change_add(x, SEV_NOTE, "%s: command set by --entrypoint%s", role->name,
                   role->args ? ", with the file's arguments" : "");
}

/* The role that ROLE=CMD names. NULL without e set: it is a CMD. */
static struct role *entry_role(struct adjuster *x, const char *text, struct err *e)
{
    size_t n = strcspn(text, "= \t\n");
    const char *name = arena_strndup(x->a, text, n), *near = NULL;
    struct role *role = text[n] == '=' ? role_named(x, name, &near) : NULL;

    e->code = 0;
    if (near) /* else VARIABLE=value CMD is a command */
        (void)err_set(e, -EINVAL, "--entrypoint: role \"%s\" not found; did you mean \"%s\"?", name,
                      near);
    return role;
}

/* What each rank runs, where the platform starts mpirun and the file has only that. */
static bool set_program(struct adjuster *x, const struct role *role, const char *command)
{
    const char **program = ARENA_ARRAY(x->a, const char *, 4);
    bool implied = false;

    for (size_t i = 0; i < x->spec->n_roles; i++)
        implied = implied || x->roles[i].implied;
    if (!implied || role->kind != ROLE_HOST)
        return false;
    program[0] = "bash";
    program[1] = "-c";
    program[2] = command;
    x->mpi->program = program;
    change_add(x, SEV_NOTE, "%s: command overridden by --entrypoint", role->name);
    return true;
}

static int entry_for_role(struct adjuster *x, struct role *role, const char *command, struct err *e)
{
    if (!*command)
        return err_set(e, -EINVAL, "--entrypoint: the command of %s is empty", role->name);
    if (x->mpi && set_program(x, role, command))
        return 0;
    if (role->kind == ROLE_HOST)
        return err_set(e, -EINVAL,
                       "--entrypoint: a %s runs no command; it only hosts ranks of the launcher",
                       role->name);
    if (role->kind == ROLE_LAUNCHER && x->mpi)
        return err_set(e, -EINVAL,
                       "--entrypoint: the mpirun command of %s is generated from the file; use "
                       "--set to change it",
                       role->name);
    set_command(x, role, command);
    return 0;
}

static int adjust_entrypoint(struct adjuster *x, struct err *e)
{
    for (size_t i = 0; x->adj->entrypoint && x->adj->entrypoint[i]; i++) {
        const char *text = x->adj->entrypoint[i];
        struct role *role = entry_role(x, text, e);
        size_t given = 0;
        int r = e->code;

        if (role)
            r = entry_for_role(x, role, strchr(text, '=') + 1, e);
        else if (r == 0 && !*text)
            r = err_set(e, -EINVAL, "--entrypoint: the command is empty");
        for (size_t k = 0; !role && r == 0 && k < x->spec->n_roles; k++)
            if (spec_lacks_command(x->spec, &x->roles[k])) {
                set_command(x, &x->roles[k], text);
                given++;
            }
        if (!role && r == 0 && given == 0)
            r = err_set(e, -EINVAL,
                        "--entrypoint: every role has a command; use ROLE=CMD to override one");
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- --workdir ----------------------------------------------------------------------------------
 */

static void adjust_workdir(struct adjuster *x)
{
    for (size_t i = 0; x->adj->workdir && i < x->spec->n_roles; i++) {
        struct role *role = &x->roles[i];

        if (role->workdir)
            change_add(x, SEV_NOTE, "%s: working directory %s instead of %s (--workdir)",
                       role->name, x->adj->workdir, role->workdir);
        else
            change_add(x, SEV_NOTE, "%s: working directory %s (--workdir)", role->name,
                       x->adj->workdir);
        role->workdir = x->adj->workdir;
    }
}

/* --- --debug ------------------------------------------------------------------------------------
 */

/* The file's own debug mode is about every role; naming some makes it about these. */
static int adjust_debug(struct adjuster *x, struct err *e)
{
    const char *const *names = x->adj->debug;
    size_t n = 0;
    bool all = false;

    if (!names || !names[0])
        return 0;
    for (; names[n]; n++) {
        all |= !*names[n];
        if (*names[n] && !role_wanted(x, "debug", names[n], e))
            return -EINVAL;
    }
    x->spec->debug = true;
    x->spec->debug_only = all ? NULL : names;
    return 0;
}

/* --- --no-restart -------------------------------------------------------------------------------
 */

/* Nothing is said of a job that is started once anyway. */
static void adjust_restart(struct adjuster *x)
{
    struct job_spec *spec = x->spec;

    for (size_t i = 0; x->adj->no_restart && i < spec->n_roles; i++) {
        struct role *role = &x->roles[i];

        if (role->restart != RESTART_NEVER && role->kind != ROLE_HOST)
            change_add(x, SEV_NOTE, "%s: processes are not restarted (--no-restart)", role->name);
        role->restart = RESTART_NEVER;
    }
    if (x->adj->no_restart && (spec->retry.max != 0 || spec->retry.by_class)) {
        change_add(x, SEV_NOTE, "a failed job is not retried (--no-restart)");
        spec->retry = (struct retry_policy){0};
    }
}

int spec_adjust(struct arena *a, const struct job_spec *spec, const struct adjustments *adj,
                const struct job_spec **ret, struct changes *ret_changes, struct err *e)
{
    struct adjuster x = {.a = a,
                         .adj = adj,
                         .before = spec,
                         .spec = ARENA_NEW(a, struct job_spec),
                         .roles = ARENA_ARRAY(a, struct role, spec->n_roles)};
    int r;

    *x.spec = *spec;
    if (spec->n_roles)
        memcpy(x.roles, spec->roles, spec->n_roles * sizeof(*x.roles));
    x.spec->roles = x.roles;
    if (spec->mpi) {
        x.mpi = ARENA_NEW(a, struct mpi_spec);
        *x.mpi = *spec->mpi;
        x.spec->mpi = x.mpi;
    }
    r = adjust_entrypoint(&x, e);
    if (r == 0)
        r = adjust_map(&x, e);
    if (r == 0)
        r = adjust_image(&x, e);
    if (r == 0)
        r = adjust_debug(&x, e);
    if (r < 0)
        return r;
    adjust_workdir(&x);
    adjust_restart(&x);
    r = adjust_counts(&x, e);
    if (r < 0)
        return r;
    *ret = x.spec;
    *ret_changes = x.changes;
    return 0;
}
