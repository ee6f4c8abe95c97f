/* volumes.c - see volumes.h: what a volume is here.
 *
 * Not here: where it goes (mount_points.c), the frames (volumes_wire.c), the mounting
 * (shim/volumes.c).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/local/volumes_parts.h"

/* --- what it is ---------------------------------------------------------------------------------
 */

static const char *option_for(struct resolver *rs, const char *name)
{
    for (size_t i = 0; name && rs->options && rs->options[i]; i++) {
        size_t n = strlen(name);

        if (strncmp(rs->options[i], name, n) == 0 && rs->options[i][n] == '=') {
            rs->used[i] = true;
            return rs->options[i] + n + 1;
        }
    }
    return NULL;
}

static bool is_plain_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static int resolve_host_path(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;

    p->here = m->from;
    if (access(m->from, F_OK) == 0)
        return 0;
    if (!m->optional)
        return mount_refuse(
            rs, p, -ENOENT,
            arena_printf(rs->a, "volume %s: %s does not exist; use --volume %s=PATH to replace it",
                         m->volume, m->from, m->volume));
    p->kind = PLACE_SHARED;
    p->why = arena_printf(rs->a,
                          "%s does not exist; volume %s starts as an empty directory and is "
                          "removed at the end of the run; use --volume %s=PATH to keep it",
                          m->from, m->volume, m->volume);
    return 0;
}

static bool is_given(const struct facts *f, enum env_source source, const char *name)
{
    for (size_t i = 0; i < f->given.n_secrets; i++)
        if (f->given.secrets[i].source == source && strcmp(f->given.secrets[i].name, name) == 0)
            return true;
    return false;
}

static bool has_key(const struct facts *f, enum env_source source, const char *name,
                    const char *key)
{
    for (size_t i = 0; i < f->given.n_secrets; i++)
        if (f->given.secrets[i].source == source && strcmp(f->given.secrets[i].name, name) == 0 &&
            strcmp(f->given.secrets[i].key, key) == 0)
            return true;
    return false;
}

static bool has_file(const struct facts *f, enum env_source source, const struct mount *m)
{
    for (size_t i = 0; i < m->n_items; i++)
        if (path_below(m->items[i].path, m->sub_path))
            return true;
    return m->n_items == 0 && has_key(f, source, m->from, m->sub_path);
}

/* At level `none` the files are where the option says they are: they cannot have other names. */
static bool renames(const struct mount *m)
{
    for (size_t i = 0; i < m->n_items; i++)
        if (strcmp(m->items[i].key, m->items[i].path) != 0)
            return true;
    return false;
}

static int resolve_files(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;
    bool secret = m->source == VOLUME_SECRET;
    enum env_source source = secret ? ENV_SECRET : ENV_CONFIG_MAP;
    const char *dir = secret ? rs->secrets : rs->config_maps;
    const char *word = secret ? "secret" : "config map";
    const char *option = secret ? "--secrets" : "--configmaps";
    char real[PATH_MAX];

    p->kind = PLACE_FILES;
    if (!m->from || !is_given(rs->facts, source, m->from)) {
        if (m->optional)
            p->kind = PLACE_FRESH;
        return m->optional
                   ? 0
                   : mount_refuse(rs, p, -ENOKEY,
                                  arena_printf(rs->a,
                                               "volume %s: the %s %s is not available; use %s DIR "
                                               "to read it from DIR/%s, or --volume %s=PATH",
                                               m->volume, word, m->from ? m->from : "?", option,
                                               m->from ? m->from : "NAME", m->volume));
    }
    for (size_t i = 0; i < m->n_items && !m->optional; i++)
        if (!has_key(rs->facts, source, m->from, m->items[i].key))
            return mount_refuse(rs, p, -ENOKEY,
                                arena_printf(rs->a, "the %s %s of volume %s has no key %s", word,
                                             m->from, m->volume, m->items[i].key));
    if (m->sub_path && !m->expand_sub_path && !has_file(rs->facts, source, m))
        return mount_refuse(rs, p, -ENOKEY,
                            arena_printf(rs->a, "the %s %s of volume %s has no file %s", word,
                                         m->from, m->volume, m->sub_path));
    if (dir && realpath(dir, real))
        p->here = arena_printf(rs->a, "%s/%s", real, m->from);
    if (rs->no_mounts && !p->here) {
        p->kind = PLACE_NONE;
        p->why =
            arena_printf(rs->a, "volume %s needs a directory at isolation level `none`: use %s DIR",
                         m->volume, option);
    } else if (rs->no_mounts && renames(m))
        p->why = arena_printf(
            rs->a, "at isolation level `none`, files of volume %s are named after their keys",
            m->volume);
    return 0;
}

/* A path in a volume with a way out of it. */
static bool leaves_volume(const struct mount *m)
{
    bool out = m->sub_path && (*m->sub_path == '/' || path_has_way_up(m->sub_path));

    for (size_t i = 0; i < m->n_items; i++)
        out = out || !*m->items[i].path || *m->items[i].path == '/' ||
              path_has_way_up(m->items[i].path);
    return out;
}

static int resolve_source(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;
    const char *given = option_for(rs, m->volume), *of_claim = NULL;

    if (m->source == VOLUME_CLAIM)
        of_claim = option_for(rs, m->from);
    if (leaves_volume(m))
        return mount_refuse(rs, p, -EINVAL,
                            arena_printf(rs->a, "the subPath mounted at %s is outside of volume %s",
                                         m->path, m->volume));
    if (!is_plain_name(m->volume))
        return mount_refuse(rs, p, -EINVAL,
                            arena_printf(rs->a, "%s is not a valid volume name", m->volume));
    if (rs->no_mounts && m->expand_sub_path) {
        p->why = arena_printf(rs->a,
                              "at isolation level `none`, volume %s is not available at %s: its "
                              "subPathExpr requires a mount",
                              m->volume, m->path);
        return 0;
    }
    p->kind = PLACE_HERE;
    if (given || of_claim) {
        p->here = given ? given : of_claim;
        p->makes_sub = !m->read_only;
        return 0;
    }
    switch (m->source) {
    case VOLUME_EMPTY_DIR:
        p->kind = PLACE_FRESH;
        p->makes_sub = true;
        return 0;
    case VOLUME_HOST_PATH:
        return resolve_host_path(rs, p);
    case VOLUME_CONFIG_MAP:
    case VOLUME_SECRET:
        return resolve_files(rs, p);
    case VOLUME_CLAIM:
        return mount_refuse(
            rs, p, -ENOENT,
            arena_printf(rs->a,
                         "volume %s: claim %s is not available locally; use --volume %s=PATH",
                         m->volume, m->from, m->from));
    case VOLUME_OPERATOR:
        p->here = arena_printf(rs->a, "%s/" PLAN_OPERATOR, rs->facts->site.run_dir);
        return 0;
    case VOLUME_OTHER:
        break;
    }
    p->kind = PLACE_NONE; /* the dialect has told */
    p->why =
        arena_printf(rs->a, "nothing is mounted at %s; use --volume %s=PATH", m->path, m->volume);
    return 0;
}

/* What of a host's path is meant must be there. */
static int check_sub_path(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;

    if (p->kind != PLACE_HERE || p->makes_sub || !m->sub_path || m->expand_sub_path ||
        access(arena_printf(rs->a, "%s/%s", p->here, m->sub_path), F_OK) == 0)
        return 0;
    return mount_refuse(
        rs, p, -ENOENT,
        arena_printf(rs->a, "%s not found in %s (volume %s)", m->sub_path, p->here, m->volume));
}

/* --- tables -------------------------------------------------------------------------------------
 */

static int by_path(const void *a, const void *b)
{
    const struct mount_place *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static int resolve_table(struct resolver *rs, const struct mount *mounts, size_t n,
                         struct mount_table *ret)
{
    struct mount_place *v = ARENA_ARRAY(rs->a, struct mount_place, n);
    int r = 0;

    for (size_t i = 0; i < n; i++)
        v[i] = (struct mount_place){.mount = &mounts[i], .path = path_tidy(rs->a, mounts[i].path)};
    if (n)
        qsort(v, n, sizeof(*v), by_path); /* what is inside another comes after it */
    for (size_t i = 0; i < n && r == 0; i++) {
        struct mount_place *p = &v[i];

        r = resolve_source(rs, p);
        if (r == 0 && p->kind != PLACE_NONE)
            r = check_sub_path(rs, p);
        if (r == 0 && p->kind != PLACE_NONE && !rs->no_mounts)
            r = mount_point(rs, p, v, i);
    }
    *ret = (struct mount_table){.v = v, .n = n};
    return r;
}

static int resolve_role(struct resolver *rs, const struct role *role,
                        const struct mount_table **ret)
{
    struct mount_table *tables = ARENA_ARRAY(rs->a, struct mount_table, role->n_init + 1);
    int r = resolve_table(rs, role->mounts, role->n_mounts, &tables[0]);

    rs->under = tables[0].v;
    rs->n_under = tables[0].n;
    for (size_t i = 0; i < role->n_init && r == 0; i++)
        r = resolve_table(rs, role->init[i].mounts, role->init[i].n_mounts, &tables[i + 1]);
    rs->under = NULL;
    rs->n_under = 0;
    *ret = tables;
    return r;
}

/* Can a process be in that directory? It may be in a volume that is not filled yet. */
static bool dir_ok(struct resolver *rs, const char *dir, const struct mount_table *own,
                   const struct mount_table *under)
{
    const char *path = path_tidy(rs->a, dir);
    const struct mount_place *p = mount_above(under->v, under->n, path, NULL);

    p = mount_above(own->v, own->n, path, p);
    if (!p)
        return path_is_dir(dir);
    if (p->kind == PLACE_HERE)
        return path_is_dir(
            arena_printf(rs->a, "%s%s", mount_here(rs->a, p), path_below(path, p->path)));
    return p->kind != PLACE_FILES || !*path_below(path, p->path);
}

static void check_workdirs(struct resolver *rs, const struct mount_table *const *tables,
                           struct facts *facts)
{
    static const struct mount_table none;
    bool *ok = ARENA_ARRAY(rs->a, bool, rs->spec->n_roles + 1);
    const char *const **dirs = ARENA_ARRAY(rs->a, const char *const *, rs->spec->n_roles + 1);

    for (size_t k = 0; k < rs->spec->n_roles; k++) {
        const struct role *role = &rs->spec->roles[k];
        const char **of_role = ARENA_ARRAY(rs->a, const char *, role->n_init + 1);

        ok[k] = facts->machine.workdir_ok && facts->machine.workdir_ok[k];
        if (role->workdir && *role->workdir == '/')
            ok[k] = dir_ok(rs, role->workdir, &tables[k][0], &none);
        for (size_t i = 0; i < role->n_init; i++) {
            const char *dir = role->init[i].workdir;

            if (dir && *dir == '/' && dir_ok(rs, dir, &tables[k][i + 1], &tables[k][0]))
                of_role[i] = dir;
        }
        dirs[k] = of_role;
    }
    facts->machine.workdir_ok = ok;
    facts->site.init_dirs = dirs;
}

static int check_options(const struct resolver *rs)
{
    for (size_t i = 0; rs->options && rs->options[i]; i++)
        if (!rs->used[i])
            return err_set(rs->e, -EINVAL,
                           "--volume %s: no role mounts a volume or claim with this name",
                           rs->options[i]);
    return 0;
}

static size_t count_mounts(const struct job_spec *spec)
{
    size_t n = 0;

    for (size_t k = 0; k < spec->n_roles; k++) {
        n += spec->roles[k].n_mounts;
        for (size_t i = 0; i < spec->roles[k].n_init; i++)
            n += spec->roles[k].init[i].n_mounts;
    }
    return n;
}

static size_t bytes_of(const struct facts *f, const struct mount *m)
{
    enum env_source source = m->source == VOLUME_SECRET ? ENV_SECRET : ENV_CONFIG_MAP;
    size_t n = 0;

    for (size_t i = 0; i < f->given.n_secrets; i++)
        if (f->given.secrets[i].source == source && strcmp(f->given.secrets[i].name, m->from) == 0)
            n += f->given.secrets[i].len;
    return n;
}

/* All files have to fit into one message to the shim. */
static int check_bytes(const struct resolver *rs, const struct mount_table *const *tables,
                       size_t n_mounts)
{
    const struct mount **seen = ARENA_ARRAY(rs->a, const struct mount *, n_mounts);
    size_t n_seen = 0, bytes = 0;

    for (size_t k = 0; k < rs->spec->n_roles; k++)
        for (size_t t = 0; t <= rs->spec->roles[k].n_init; t++)
            for (size_t i = 0; i < tables[k][t].n; i++) {
                const struct mount_place *p = &tables[k][t].v[i];
                bool again = p->kind != PLACE_FILES;

                for (size_t s = 0; s < n_seen && !again; s++)
                    again = volumes_same_files(seen[s], p->mount);
                if (again)
                    continue;
                seen[n_seen++] = p->mount;
                bytes += bytes_of(rs->facts, p->mount);
            }
    if (bytes > LIMIT_VOLUME_BYTES)
        return err_set(rs->e, -E2BIG,
                       "the files of the job's volumes have %zu bytes; the limit is %d", bytes,
                       LIMIT_VOLUME_BYTES);
    return 0;
}

int volumes_resolve(struct arena *a, const struct job_spec *spec, const char *const *options,
                    const char *secrets, const char *config_maps, bool tolerant,
                    struct facts *facts, struct err *e)
{
    const struct mount_table **tables = ARENA_ARRAY(a, const struct mount_table *, spec->n_roles);
    size_t n_options = 0, n_mounts = count_mounts(spec);
    int r = 0;

    while (options && options[n_options])
        n_options++;
    struct resolver rs = {
        .a = a,
        .spec = spec,
        .options = options,
        .used = ARENA_ARRAY(a, bool, n_options + 1),
        .secrets = secrets,
        .config_maps = config_maps,
        .tolerant = tolerant,
        .no_mounts = isolation_is(facts, "none"),
        .facts = facts,
        .e = e,
    };

    if (n_mounts > LIMIT_MOUNTS)
        return err_set(e, -E2BIG, "the job has %zu mounts; the limit is %d", n_mounts,
                       LIMIT_MOUNTS);
    for (size_t k = 0; k < spec->n_roles && r == 0; k++)
        r = resolve_role(&rs, &spec->roles[k], &tables[k]);
    if (r == 0)
        r = check_options(&rs);
    if (r == 0)
        r = check_bytes(&rs, tables, n_mounts);
    if (r < 0)
        return r;
    check_workdirs(&rs, tables, facts);
    facts->site.mounts = n_mounts ? tables : NULL;
    return 0;
}
