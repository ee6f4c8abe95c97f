/* resolve.c - a job without what only its own platform could resolve: values that Azure ML puts
 * into commands, and tasks of several types that share its nodes.
 *
 * Literal inputs become text. A path of an input or output is no path elsewhere: it is written as
 * the file has it, and told. Tasks become roles of their own, as every other system has them.
 */
#include <string.h>

#include "dialect/convert/convert.h"

struct resolving {
    struct arena *a;
    const struct job_spec *spec;
    struct losses *ls;
};

/* --- values --------------------------------------------------------------------------------- */

static const char *value_text(void *ctx, const struct job_value *v)
{
    struct resolving *s = ctx;
    bool output = v->kind == VALUE_OUTPUT;
    const char *path = arena_printf(s->a, "values.%s.%s", output ? "outputs" : "inputs", v->name);

    if (v->kind == VALUE_LITERAL)
        return v->text ? v->text : "";
    if (output) {
        loss_add(s->ls, path, "it is not collected; the command writes to outputs/%s", v->name);
        return arena_printf(s->a, "outputs/%s", v->name);
    }
    loss_add(s->ls, path, "it is not provided; the command gets %.80s", v->text ? v->text : "");
    return v->text ? v->text : "";
}

static const char *filled(struct resolving *s, const char *text)
{
    return spec_fill_values(s->a, s->spec, text, value_text, s);
}

static const char *const *all_filled(struct resolving *s, const char *const *words)
{
    const char **made;
    size_t n = 0;

    if (!words)
        return NULL;
    while (words[n])
        n++;
    made = ARENA_ARRAY(s->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        made[i] = filled(s, words[i]);
    return made;
}

/* --- tasks ---------------------------------------------------------------------------------- */

static size_t add_roles(struct resolving *s, const struct role *from, struct role *to)
{
    bool some_serve = false;
    size_t n = 0;

    for (size_t i = 0; i < from->n_tasks; i++)
        some_serve = some_serve || from->tasks[i].serves;
    for (size_t i = 0; i < from->n_tasks; i++) {
        const struct task *task = &from->tasks[i];

        if (task->count == 0)
            continue;
        to[n] = *from;
        to[n].name = task->type;
        to[n].replicas = task->count;
        to[n].slots = 1;
        to[n].min_succeeded = some_serve && !task->serves ? task->count : 0;
        to[n].tasks = NULL;
        to[n++].n_tasks = 0;
    }
    loss_add(s->ls, arena_printf(s->a, "roles.%s.tasks", from->name),
             "its tasks become separate replicas and no longer share %d node%s", from->replicas,
             from->replicas == 1 ? "" : "s");
    return n;
}

const struct job_spec *resolve_job(struct arena *a, const struct job_spec *spec, struct losses *ls)
{
    struct resolving s = {a, spec, ls};
    struct job_spec *made = ARENA_NEW(a, struct job_spec);
    struct role *roles;
    size_t room = 0, n = 0;

    for (size_t i = 0; i < spec->n_roles; i++)
        room += spec->roles[i].n_tasks ? spec->roles[i].n_tasks : 1;
    roles = ARENA_ARRAY(a, struct role, room);
    *made = *spec;
    for (size_t i = 0; i < spec->n_roles; i++) {
        struct role role = spec->roles[i];

        role.shell = filled(&s, role.shell);
        role.argv = all_filled(&s, role.argv);
        if (role.n_tasks)
            n += add_roles(&s, &role, &roles[n]);
        else
            roles[n++] = role;
    }
    if (spec->mpi) {
        struct mpi_spec *mpi = ARENA_NEW(a, struct mpi_spec);

        *mpi = *spec->mpi;
        mpi->program = all_filled(&s, mpi->program);
        made->mpi = mpi;
    }
    made->roles = roles;
    made->n_roles = n;
    made->n_values = 0;
    return made;
}
