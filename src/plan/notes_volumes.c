/* notes_volumes.c - what becomes of volumes and init commands on this machine. */
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/notes.h"

/* Is the path one of "A, B, C"? Init containers mount much of what their role does. */
static bool is_listed(const char *list, const char *path)
{
    size_t n = strlen(path);

    for (const char *at = list; (at = strstr(at, path)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

static void note_table(struct notes *ns, const struct plan *plan, const struct mount_table *t,
                       struct strbuf *paths)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct mount_place *p = &t->v[i];

        if (p->why)
            note_add(ns, p->kind == PLACE_NONE ? SEV_WARNING : SEV_NOTE, "%s", p->why);
        if (p->kind == PLACE_NONE || !p->mount->at) /* nobody asked for it */
            continue;
        if (p->parent)
            note_add(
                ns, SEV_NOTE,
                "%s does not exist on this machine; replicas see it below a substitute for %s, "
                "in which nothing else can be created",
                p->path, p->parent);
        if (isolation_is(plan->facts, "none") && !is_listed(paths->buf, p->path))
            strbuf_addf(paths, "%s%s", paths->len ? ", " : "", p->path);
    }
}

static void note_init(struct notes *ns, const struct plan *plan, const struct role *role, size_t i)
{
    const struct init_command *init = &role->init[i];
    const struct replica *r = role->replicas ? plan_replica(plan, role, 0) : NULL;

    if (r && !plan_runs_init(plan, r, i, PLAN_START(plan))) {
        note_add(ns, SEV_NOTE, "init container %s of %s is skipped", init->name, role->name);
        return;
    }
    if (!init->argv || !init->argv[0])
        note_weigh(ns, NOTE_FAILS, SEV_WARNING,
                   "init container %s of %s has no command: the entry point of %s is not available "
                   "locally; use --skip-init=%s to skip it",
                   init->name, role->name, init->image ? init->image : "its image", init->name);
    if (init->workdir &&
        !(plan->facts->site.init_dirs && plan->facts->site.init_dirs[role - plan->spec->roles][i]))
        note_add(ns, SEV_WARNING, "working directory %s of init container %s of %s does not exist",
                 init->workdir, init->name, role->name);
}

void note_volumes(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct mount_table *const *mounts = plan->facts->site.mounts;
    auto_strbuf struct strbuf paths = STRBUF_INIT;
    const struct mount_table *tables = mounts ? mounts[role - plan->spec->roles] : NULL;

    for (size_t i = 0; tables && i <= role->n_init; i++)
        note_table(ns, plan, &tables[i], &paths);
    if (paths.len)
        note_add(ns, SEV_WARNING,
                 "isolation level `none` cannot mount volumes: in commands, variables and working "
                 "directories, paths below %s are replaced by those of the volumes",
                 paths.buf);
    for (size_t i = 0; i < role->n_init; i++)
        note_init(ns, plan, role, i);
}
