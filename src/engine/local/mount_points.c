/* mount_points.c - where a volume is mounted, and whether that can be had without touching the
 * machine. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "engine/local/volumes_parts.h"

int mount_refuse(struct resolver *rs, struct mount_place *p, int code, const char *text)
{
    const struct mount *m = p->mount;
    const char *file = rs->spec->file;

    p->kind = PLACE_NONE;
    p->why = text;
    /* what the file does not ask for, a job may do without */
    if (rs->tolerant || (m->source == VOLUME_OPERATOR && !m->at))
        return 0;
    if (file && m->at)
        return err_set(rs->e, code, "%s:%u: %s", file, m->at->pos.line, text);
    return err_set(rs->e, code, "%s", text);
}

bool path_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_has_way_up(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")); p++)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || !p[2]))
            return true;
    return false;
}

const char *path_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    if (strcmp(dir, "/") == 0)
        return strcmp(path, "/") == 0 ? "" : path;
    if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n;
}

/* --- the point ----------------------------------------------------------------------------------
 */

const char *path_tidy(struct arena *a, const char *path)
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
    return where && where[0] == '/' && where[1] && path_below(dir, where);
}

/* A directory that the job or its user makes new names in, where a stand-in would be in the way.
 * Root could write anywhere: there it is what is others' too, and where people are known to work.
 */
static bool is_written(const struct resolver *rs, const char *dir)
{
    struct stat st;

    if (strcmp(dir, "/") == 0)
        return false;
    if (!rs->facts->machine.root)
        return access(dir, W_OK) == 0;
    if (stat(dir, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
        return true;
    for (size_t i = 0; i < rs->spec->n_roles; i++)
        if (is_in(dir, rs->spec->roles[i].workdir))
            return true;
    return is_in(dir, rs->facts->caller.dir) || is_in(dir, rs->spec->dir) ||
           is_in(dir, getenv("HOME")) || is_in(dir, "/tmp") || is_in(dir, "/var/tmp");
}

static bool has_too_many(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    while (d && n <= LIMIT_SHADOW_ENTRIES + 2 && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n > LIMIT_SHADOW_ENTRIES + 2;
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
    if (!realpath(dir, real) || !path_is_dir(real))
        reason = "is not a directory";
    else if (is_written(rs, real))
        reason = "is written to by the job";
    else if (access(real, X_OK) == 0 && access(real, R_OK) < 0)
        reason = "cannot be read";
    else if (has_too_many(real))
        reason = "has too many entries";
    if (reason)
        return mount_refuse(rs, p, -ENOENT,
                            arena_printf(rs->a,
                                         "%s, the path of volume %s, does not exist, and %s %s; "
                                         "create it, or use --map %s=PATH",
                                         path, p->mount->volume, dir, reason, p->mount->path));
    p->parent = arena_strdup(rs->a, real);
    p->path = arena_printf(rs->a, "%s%s", strcmp(real, "/") == 0 ? "" : real,
                           path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir)));
    return 0;
}

const struct mount_place *mount_above(const struct mount_place *v, size_t n, const char *path,
                                      const struct mount_place *best)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].kind != PLACE_NONE && path_below(path, v[i].path) &&
            (!best || strlen(v[i].path) >= strlen(best->path)))
            best = &v[i];
    return best;
}

const char *mount_here(struct arena *a, const struct mount_place *p)
{
    return p->mount->sub_path ? arena_printf(a, "%s/%s", p->here, p->mount->sub_path) : p->here;
}

static int find_point(struct resolver *rs, struct mount_place *p, const struct mount_place *before,
                      size_t n_before)
{
    const char *path = path_tidy(rs->a, p->mount->path), *rest;
    const struct mount_place *above = mount_above(rs->under, rs->n_under, path, NULL);
    char real[PATH_MAX];

    p->path = path;
    above = mount_above(before, n_before, path, above);
    rest = above ? path_below(path, above->path) : NULL;
    if (above && !*rest)
        return 0;
    if (above && (above->kind == PLACE_FRESH || above->kind == PLACE_SHARED)) {
        p->inside = true;
        return 0;
    }
    if (above && above->here &&
        access(arena_printf(rs->a, "%s%s", mount_here(rs->a, above), rest), F_OK) == 0)
        return 0;
    if (above)
        return mount_refuse(
            rs, p, -ENOENT,
            arena_printf(rs->a, "volume %s has no %s, where volume %s is mounted; create it",
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

/* Places of ours are brought back over a volume that begins empty; into another one we do not
 * write. */
static int check_hides_ours(struct resolver *rs, struct mount_place *p)
{
    const struct {
        const char *path, *hint;
    } ours[] = {
        {rs->facts->site.scratch_dir, "set XDG_RUNTIME_DIR to another directory"},
        {rs->facts->site.run_dir, "use --run-dir to choose another directory"},
        {rs->facts->site.shim, "install muster in another directory"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (path_below(without_links(rs->a, ours[i].path), p->path) &&
            (p->kind != PLACE_FRESH || p->mount->read_only))
            return mount_refuse(
                rs, p, -EBUSY,
                arena_printf(rs->a,
                             "mounting at %s: volume %s would hide %s, which the run needs; %s",
                             p->path, p->mount->volume, ours[i].path, ours[i].hint));
    return 0;
}

/* Only a directory can be mounted over a directory, and a file over a file. What a subPath is, is
 * known later. */
static int check_shape(struct resolver *rs, struct mount_place *p)
{
    const char *volume = p->mount->volume;
    bool dir = p->kind != PLACE_HERE || path_is_dir(p->here);
    struct stat st;

    if (p->inside || p->mount->sub_path || stat(p->path, &st) < 0 || S_ISDIR(st.st_mode) == dir)
        return 0;
    return mount_refuse(rs, p, -ENOTDIR,
                        arena_printf(rs->a,
                                     "volume %s is a %s and cannot be mounted at %s, which is a "
                                     "%s on this machine",
                                     volume, dir ? "directory" : "file", p->mount->path,
                                     dir ? "file" : "directory"));
}

int mount_point(struct resolver *rs, struct mount_place *p, const struct mount_place *before,
                size_t n_before)
{
    int r;

    if (strcmp(p->path, "/") == 0 || path_has_way_up(p->path))
        return mount_refuse(rs, p, -EINVAL,
                            arena_printf(rs->a, "volume %s cannot be mounted at %s",
                                         p->mount->volume, p->mount->path));
    r = find_point(rs, p, before, n_before);
    if (r == 0 && p->kind != PLACE_NONE)
        r = check_shape(rs, p);
    return r == 0 && p->kind != PLACE_NONE ? check_hides_ours(rs, p) : r;
}
