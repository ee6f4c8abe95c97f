/* relocate.c - see relocate.h. */
#include "plan/relocate.h"

#include "spec/paths.h"

static const char *volume_here(struct arena *a, const struct plan *plan,
                               const struct replica *replica, const struct mount_place *p)
{
    const struct mount *m = p->mount;
    const char *dir = p->here;

    if (p->kind == PLACE_FRESH || p->kind == PLACE_SHARED)
        dir = arena_printf(a, "%s/" PLAN_VOLUMES "/%s/%s", plan->facts->site.scratch_dir,
                           p->kind == PLACE_FRESH ? replica->name : ".job", m->volume);
    return m->sub_path ? arena_printf(a, "%s/%s", dir, m->sub_path) : dir;
}

static void add_table(struct arena *a, const struct plan *plan, const struct replica *replica,
                      const struct mount_table *t, struct path_map *v, size_t *n)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].kind != PLACE_NONE)
            v[(*n)++] = (struct path_map){t->v[i].path, volume_here(a, plan, replica, &t->v[i])};
}

/* An init command's own come first: of two at one path the first is taken. */
static bool maps_of(struct arena *a, const struct plan *plan, const struct replica *replica,
                    int init, struct path_maps *ret)
{
    const struct facts *facts = plan->facts;
    const struct mount_table *tables;
    struct path_map *v;
    size_t n = 0;

    if (!facts->site.mounts || !isolation_is(facts, "none"))
        return false;
    tables = facts->site.mounts[replica->role_index];
    v = ARENA_ARRAY(a, struct path_map, tables[0].n + (init < 0 ? 0 : tables[init + 1].n));
    if (init >= 0)
        add_table(a, plan, replica, &tables[init + 1], v, &n);
    add_table(a, plan, replica, &tables[0], v, &n);
    *ret = (struct path_maps){v, n};
    return n > 0;
}

const char *relocate_path(struct arena *a, const struct plan *plan, const struct replica *replica,
                          int init, const char *path)
{
    struct path_maps maps;
    const char *made = NULL;

    if (path && path[0] == '/' && maps_of(a, plan, replica, init, &maps))
        made = paths_one(a, &maps, path);
    return made ? made : path;
}

const char *const *relocate_argv(struct arena *a, const struct plan *plan,
                                 const struct replica *replica, int init, const char *const *argv)
{
    struct path_maps maps;
    size_t changed = 0;

    return maps_of(a, plan, replica, init, &maps) ? paths_argv(a, &maps, argv, &changed) : argv;
}

const char *relocate_shell(struct arena *a, const struct plan *plan, const struct replica *replica,
                           const char *text)
{
    struct path_maps maps;
    size_t changed = 0;

    return maps_of(a, plan, replica, -1, &maps) ? paths_shell(a, &maps, text, &changed) : text;
}

const char *plan_workdir(struct arena *a, const struct plan *plan, const struct replica *replica)
{
    return relocate_path(a, plan, replica, -1, plan->workdirs[replica->role_index]);
}
