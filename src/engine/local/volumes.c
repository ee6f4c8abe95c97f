/* volumes.c - see volumes.h: what a volume is here, and whether its mount point can be had.
 *
 * Not here: the frames (volumes_wire.c), the mounting (shim/volumes.c).
 */
#include "engine/local/volumes.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/nearest.h"

struct resolver {
    struct arena *a;
    const struct job_spec *spec;
    const char *const *options;
    bool *used; /* which of them */
    const char *secrets, *config_maps;
    bool tolerant, no_mounts;
    const struct facts *facts;
    struct err *e;
    const struct mount_place
        *under; /* an init command's: the mounts of its replica below its own */
    size_t n_under;
};

/* Says what is wrong with a mount. 0 if that is only to be told. */
static int refuse(struct resolver *rs, struct mount_place *p, int code, const char *text)
{
    const struct mount *m = p->mount;
    const char *file = rs->spec->file;

    p->kind = PLACE_NONE;
    p->why = text;
    if (rs->tolerant)
        return 0;
    if (m->at && file)
        return err_set(rs->e, code, "%s:%u: %s", file, m->at->pos.line, text);
    return err_set(rs->e, code, "%s", text);
}

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The rest of path below dir ("" if they are the same), or NULL. */
static const char *below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    if (n == 1) /* the root */
        return path;
    if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n;
}

/* --- what it is --------------------------------------------------------------------------------- */

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
        return refuse(rs, p, -ENOENT,
                      arena_printf(rs->a,
                                   "there is no %s here, which the volume %s is: say what stands "
                                   "for it with --volume %s=PATH",
                                   m->from, m->volume, m->volume));
    p->kind = PLACE_SHARED;
    p->why = arena_printf(rs->a,
                          "there is no %s here: the volume %s begins empty and is removed at the "
                          "end of the run; --volume %s=PATH keeps it",
                          m->from, m->volume, m->volume);
    return 0;
}

static bool is_given(const struct facts *f, enum env_source source, const char *name)
{
    for (size_t i = 0; i < f->n_secrets; i++)
        if (f->secrets[i].source == source && strcmp(f->secrets[i].name, name) == 0)
            return true;
    return false;
}

static bool has_key(const struct facts *f, enum env_source source, const char *name,
                    const char *key)
{
    for (size_t i = 0; i < f->n_secrets; i++)
        if (f->secrets[i].source == source && strcmp(f->secrets[i].name, name) == 0 &&
            strcmp(f->secrets[i].key, key) == 0)
            return true;
    return false;
}

static bool has_file(const struct facts *f, enum env_source source, const struct mount *m)
{
    for (size_t i = 0; i < m->n_items; i++)
        if (below(m->items[i].path, m->sub_path))
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
                   : refuse(rs, p, -ENOENT,
                            arena_printf(rs->a,
                                         "the volume %s is the %s %s, which is not given: %s DIR "
                                         "takes it from DIR/%s, --volume %s=PATH from elsewhere",
                                         m->volume, word, m->from ? m->from : "?", option,
                                         m->from ? m->from : "NAME", m->volume));
    }
    for (size_t i = 0; i < m->n_items && !m->optional; i++)
        if (!has_key(rs->facts, source, m->from, m->items[i].key))
            return refuse(rs, p, -ENOENT,
                          arena_printf(rs->a, "the %s %s of the volume %s has no key %s here", word,
                                       m->from, m->volume, m->items[i].key));
    if (m->sub_path && !m->expand_sub_path && !has_file(rs->facts, source, m))
        return refuse(rs, p, -ENOENT,
                      arena_printf(rs->a, "the %s %s of the volume %s has no file %s", word,
                                   m->from, m->volume, m->sub_path));
    if (realpath(dir, real))
        p->here = arena_printf(rs->a, "%s/%s", real, m->from);
    if (rs->no_mounts && renames(m))
        p->why = arena_printf(rs->a,
                              "at isolation level `none` the files of the volume %s have the names "
                              "of their keys",
                              m->volume);
    return 0;
}

static int resolve_source(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;
    const char *given = option_for(rs, m->volume), *of_claim = NULL;

    if (m->source == VOLUME_CLAIM)
        of_claim = option_for(rs, m->from);
    if (!is_plain_name(m->volume))
        return refuse(rs, p, -EINVAL,
                      arena_printf(rs->a, "%s cannot be a volume's name", m->volume));
    if (rs->no_mounts && m->expand_sub_path) {
        p->why =
            arena_printf(rs->a,
                         "at isolation level `none` the volume %s is not at %s: its subPathExpr "
                         "needs a mount",
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
        return refuse(rs, p, -ENOENT,
                      arena_printf(rs->a,
                                   "the volume %s is the claim %s, which is not known here: say "
                                   "what stands for it with --volume %s=PATH",
                                   m->volume, m->from, m->from));
    case VOLUME_OTHER:
        break;
    }
    p->kind = PLACE_NONE; /* the dialect has told */
    p->why = arena_printf(rs->a, "nothing is mounted at %s: --volume %s=PATH gives something",
                          m->path, m->volume);
    return 0;
}

/* What of a host's path is meant must be there. */
static int check_sub_path(struct resolver *rs, struct mount_place *p)
{
    const struct mount *m = p->mount;

    if (p->kind != PLACE_HERE || p->makes_sub || !m->sub_path || m->expand_sub_path ||
        access(arena_printf(rs->a, "%s/%s", p->here, m->sub_path), F_OK) == 0)
        return 0;
    return refuse(rs, p, -ENOENT,
                  arena_printf(rs->a, "there is no %s in %s, which the volume %s is", m->sub_path,
                               p->here, m->volume));
}

/* --- where it goes ------------------------------------------------------------------------------ */

/* Without "//", "." and a slash at the end. */
static const char *tidy(struct arena *a, const char *path)
{
    char *out = arena_alloc(a, strlen(path) + 2), *end = out;

    while (*path) {
        size_t n;

        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n > 0 && !(n == 1 && *path == '.')) {
            *end++ = '/';
            memcpy(end, path, n);
            end += n;
        }
        path += n;
    }
    if (end == out)
        *end++ = '/';
    *end = '\0';
    return out;
}

/* Is dir at or below where? The root is above everything and says nothing. */
static bool is_in(const char *dir, const char *where)
{
    return where && where[0] == '/' && where[1] && below(dir, where);
}

/* A directory that the job or its user makes new names in, where a stand-in would be in the way. Root
 * could write anywhere: there it is what is others' too, and where people are known to work. */
static bool is_written(const struct resolver *rs, const char *dir)
{
    struct stat st;

    if (strcmp(dir, "/") == 0)
        return false;
    if (!rs->facts->root)
        return access(dir, W_OK) == 0;
    if (stat(dir, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
        return true;
    for (size_t i = 0; i < rs->spec->n_roles; i++)
        if (is_in(dir, rs->spec->roles[i].workdir))
            return true;
    return is_in(dir, rs->facts->caller_dir) || is_in(dir, rs->spec->dir) ||
           is_in(dir, getenv("HOME")) || is_in(dir, "/tmp") || is_in(dir, "/var/tmp");
}

static bool has_too_many(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    while (d && n <= LIMIT_COVER_ENTRIES + 2 && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n > LIMIT_COVER_ENTRIES + 2;
}

/* The nearest directory above path that is there; links are followed. */
static int find_cover(struct resolver *rs, struct mount_place *p, const char *path)
{
    char *dir = arena_strdup(rs->a, path), real[PATH_MAX];
    const char *reason = NULL;
    struct stat st;

    do
        *strrchr(dir, '/') = '\0';
    while (*dir && lstat(dir, &st) < 0);
    if (!*dir)
        dir = arena_strdup(rs->a, "/");
    if (!realpath(dir, real) || !is_dir(real))
        reason = "is no directory";
    else if (is_written(rs, real))
        reason = "is a directory that is written to";
    else if (access(real, X_OK) == 0 && access(real, R_OK) < 0)
        reason = "cannot be listed";
    else if (has_too_many(real))
        reason = "has too many entries";
    if (reason)
        return refuse(rs, p, -ENOENT,
                      arena_printf(rs->a,
                                   "there is no %s here for the volume %s, and %s %s: make it, or "
                                   "say what the job is to use instead with --map %s=PATH",
                                   path, p->mount->volume, dir, reason, p->mount->path));
    p->cover = arena_strdup(rs->a, real);
    p->path = arena_printf(rs->a, "%s%s", strcmp(real, "/") == 0 ? "" : real,
                           path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir)));
    return 0;
}

/* Another mount, made before, that the path is in or at. */
static const struct mount_place *mount_above(const struct mount_place *v, size_t n,
                                             const char *path, const struct mount_place *best)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].kind != PLACE_NONE && below(path, v[i].path) &&
            (!best || strlen(v[i].path) >= strlen(best->path)))
            best = &v[i];
    return best;
}

static const char *place_of(struct arena *a, const struct mount_place *p)
{
    return p->mount->sub_path ? arena_printf(a, "%s/%s", p->here, p->mount->sub_path) : p->here;
}

static int find_point(struct resolver *rs, struct mount_place *p, const struct mount_place *before,
                      size_t n_before)
{
    const char *path = tidy(rs->a, p->mount->path), *rest;
    const struct mount_place *above = mount_above(rs->under, rs->n_under, path, NULL);
    char real[PATH_MAX];

    p->path = path;
    above = mount_above(before, n_before, path, above);
    rest = above ? below(path, above->path) : NULL;
    if (above && !*rest)
        return 0;
    if (above && (above->kind == PLACE_FRESH || above->kind == PLACE_SHARED)) {
        p->inside = true;
        return 0;
    }
    if (above && above->here &&
        access(arena_printf(rs->a, "%s%s", place_of(rs->a, above), rest), F_OK) == 0)
        return 0;
    if (above)
        return refuse(rs, p, -ENOENT,
                      arena_printf(rs->a,
                                   "the volume %s has no %s, where the volume %s is mounted: make "
                                   "it",
                                   above->mount->volume, rest + 1, p->mount->volume));
    if (realpath(path, real)) {
        p->path = arena_strdup(rs->a, real);
        return 0;
    }
    return find_cover(rs, p, path);
}

/* The path, which need not be there yet, as a mount point would be spelled. */
static const char *without_links(struct arena *a, const char *path)
{
    char *dir = arena_strdup(a, path), real[PATH_MAX];

    while (*dir && !realpath(dir, real))
        *strrchr(dir, '/') = '\0';
    return *dir ? arena_printf(a, "%s%s", strcmp(real, "/") == 0 ? "" : real, path + strlen(dir))
                : path;
}

/* Places of ours are brought back over a volume that begins empty; into another one we do not write. */
static int check_hidden(struct resolver *rs, struct mount_place *p)
{
    const struct {
        const char *path, *hint;
    } ours[] = {
        {rs->facts->scratch_dir, "set XDG_RUNTIME_DIR to another directory"},
        {rs->facts->run_dir, "choose another place with --run-dir"},
        {rs->facts->shim, "install muster somewhere else"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (below(without_links(rs->a, ours[i].path), p->path) &&
            (p->kind != PLACE_FRESH || p->mount->read_only))
            return refuse(rs, p, -EBUSY,
                          arena_printf(rs->a,
                                       "mounted at %s, the volume %s would hide %s, which the run "
                                       "needs: %s",
                                       p->path, p->mount->volume, ours[i].path, ours[i].hint));
    return 0;
}

/* --- tables ------------------------------------------------------------------------------------- */

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
        v[i] = (struct mount_place){.mount = &mounts[i], .path = tidy(rs->a, mounts[i].path)};
    if (n)
        qsort(v, n, sizeof(*v), by_path); /* what is inside another comes after it */
    for (size_t i = 0; i < n && r == 0; i++) {
        struct mount_place *p = &v[i];

        r = resolve_source(rs, p);
        if (r == 0 && p->kind != PLACE_NONE)
            r = check_sub_path(rs, p);
        if (r == 0 && p->kind != PLACE_NONE && !rs->no_mounts)
            r = find_point(rs, p, v, i);
        if (r == 0 && p->kind != PLACE_NONE && !rs->no_mounts)
            r = check_hidden(rs, p);
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
    const char *path = tidy(rs->a, dir);
    const struct mount_place *p = under ? mount_above(under->v, under->n, path, NULL) : NULL;

    p = mount_above(own->v, own->n, path, p);
    if (!p)
        return is_dir(dir);
    if (p->kind == PLACE_HERE)
        return is_dir(arena_printf(rs->a, "%s%s", place_of(rs->a, p), below(path, p->path)));
    return p->kind != PLACE_FILES || !*below(path, p->path);
}

static void settle_dirs(struct resolver *rs, const struct mount_table *const *tables,
                        struct facts *facts)
{
    bool *ok = ARENA_ARRAY(rs->a, bool, rs->spec->n_roles + 1);
    const char *const **dirs = ARENA_ARRAY(rs->a, const char *const *, rs->spec->n_roles + 1);

    for (size_t k = 0; k < rs->spec->n_roles; k++) {
        const struct role *role = &rs->spec->roles[k];
        const char **of_role = ARENA_ARRAY(rs->a, const char *, role->n_init + 1);

        ok[k] = facts->workdir_ok && facts->workdir_ok[k];
        if (role->workdir && *role->workdir == '/')
            ok[k] = dir_ok(rs, role->workdir, &tables[k][0], NULL);
        for (size_t i = 0; i < role->n_init; i++) {
            const char *dir = role->init[i].workdir;

            if (dir && *dir == '/' && dir_ok(rs, dir, &tables[k][i + 1], &tables[k][0]))
                of_role[i] = dir;
        }
        dirs[k] = of_role;
    }
    facts->workdir_ok = ok;
    facts->init_dirs = dirs;
}

static int check_options(const struct resolver *rs)
{
    for (size_t i = 0; rs->options && rs->options[i]; i++)
        if (!rs->used[i])
            return err_set(rs->e, -EINVAL,
                           "--volume %s: no role mounts a volume or claim of that name",
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

    for (size_t i = 0; i < f->n_secrets; i++)
        if (f->secrets[i].source == source && strcmp(f->secrets[i].name, m->from) == 0)
            n += f->secrets[i].len;
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
        return err_set(rs->e, -E2BIG, "the files of the job's volumes have %zu bytes (%d at most)",
                       bytes, LIMIT_VOLUME_BYTES);
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
        return err_set(e, -E2BIG, "the job has %zu mounts (%d at most)", n_mounts, LIMIT_MOUNTS);
    for (size_t k = 0; k < spec->n_roles && r == 0; k++)
        r = resolve_role(&rs, &spec->roles[k], &tables[k]);
    if (r == 0)
        r = check_options(&rs);
    if (r == 0)
        r = check_bytes(&rs, tables, n_mounts);
    if (r < 0)
        return r;
    settle_dirs(&rs, tables, facts);
    facts->mounts = n_mounts ? tables : NULL;
    return 0;
}
