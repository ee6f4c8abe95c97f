/* notes_volumes.c - what becomes of volumes and init commands on this machine. */
#include "plan/env.h"
#include "plan/notes.h"

static void note_table(struct notes *ns, const struct plan *plan, const struct mount_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct mount_place *p = &t->v[i];

        if (p->why)
            note_add(ns, p->kind == PLACE_NONE ? SEV_WARNING : SEV_NOTE, "%s", p->why);
        if (p->kind == PLACE_NONE || !p->mount->at) /* nobody asked for it */
            continue;
        if (p->cover)
            note_add(ns, SEV_NOTE,
                     "there is no %s here: replicas see it in a stand-in for %s, in which nothing "
                     "else can be made",
                     p->path, p->cover);
        if (isolation_is(plan->facts, "none"))
            note_add(ns, SEV_WARNING,
                     "at isolation level `none` nothing can be mounted: a word of a command, a "
                     "variable or a working directory that is a path below %s leads to where the "
                     "volume %s is instead",
                     p->path, p->mount->volume);
    }
}

static void note_init(struct notes *ns, const struct plan *plan, const struct role *role, size_t i)
{
    const struct init_command *init = &role->init[i];
    const struct replica *r = role->replicas ? plan_replica(plan, role, 0) : NULL;

    if (r && !plan_runs_init(plan, r, i, PLAN_START(plan)))
        note_add(ns, SEV_NOTE, "the init container %s of %s is left out", init->name, role->name);
    else if (!init->argv || !init->argv[0])
        note_add(ns, SEV_WARNING,
                 "the init container %s of %s has no command: it would run the entry point of %s, "
                 "which is not here; --skip-init=%s leaves it out",
                 init->name, role->name, init->image ? init->image : "its image", init->name);
    if (init->workdir &&
        !(plan->facts->init_dirs && plan->facts->init_dirs[role - plan->spec->roles][i]))
        note_add(ns, SEV_WARNING, "there is no directory %s here for the init container %s of %s",
                 init->workdir, init->name, role->name);
}

void note_volumes(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct mount_table *const *mounts = plan->facts->mounts;
    const struct mount_table *tables = mounts ? mounts[role - plan->spec->roles] : NULL;

    for (size_t i = 0; tables && i <= role->n_init; i++)
        note_table(ns, plan, &tables[i]);
    for (size_t i = 0; i < role->n_init; i++)
        note_init(ns, plan, role, i);
}
