/* volumes.c - what a replica finds at the paths of its mounts.
 *
 * A volume is a directory (or file) somewhere: in the scratch directory if it begins empty, in a
 * file system of its own in memory if it is made of a secret's or config map's values, or where the
 * machine has it. Mounting is binding that to the path, inside the replica's mount namespace:
 * nobody else sees it, and it goes with the namespace. Sources are taken hold of before anything is
 * mounted, so that no mount is in the way of another one's source.
 *
 * Not here: where the path itself is missing (shadow_dir.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/volumes.h"

/* Below the scratch directory. No replica's name begins with a dot. */
#define FILES_DIR "files"
#define SHARED_DIR ".job"

/* --- what muster says ------------------------------------------------------------------------- */

/* One component of a path, and no way up. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static void read_mount(struct wire_reader *r, struct vmount *m)
{
    *m = (struct vmount){.kind = wire_get_u32(r), .flags = wire_get_u32(r)};
    m->volume = xstrdup(wire_get_str(r));
    m->from = xstrdup(wire_get_str(r));
    m->sub_path = xstrdup(wire_get_str(r));
    m->size = wire_get_i64(r);
    m->path = xstrdup(wire_get_str(r));
    m->parent = xstrdup(wire_get_str(r));
    if (m->kind > MOUNT_FILES || (m->kind <= MOUNT_SHARED && !is_plain(m->volume)) ||
        m->path[0] != '/')
        r->broken = true;
}

static uint32_t read_count(struct wire_reader *r)
{
    uint32_t n = wire_get_u32(r);

    if (n > (size_t)(r->end - r->p)) /* each has some bytes */
        r->broken = true;
    return r->broken ? 0 : n;
}

static void read_kept(struct shim *s, struct wire_reader *r)
{
    auto_free const char **kept = wire_get_strs(r);
    size_t n = 0;

    while (kept[n])
        n++;
    s->kept = xcalloc(n + 1, sizeof(*s->kept));
    for (size_t i = 0; i < n; i++) {
        char *real = realpath(kept[i], NULL); /* mounts have no links in their paths either */

        s->kept[i] = real ? real : xstrdup(kept[i]);
    }
}

void volumes_read(struct shim *s, struct wire_reader *r)
{
    read_kept(s, r);
    s->n_tables = read_count(r);
    s->tables = xcalloc(s->n_tables, sizeof(*s->tables));
    for (uint32_t i = 0; i < s->n_tables; i++) {
        struct vtable *t = &s->tables[i];

        t->n = read_count(r);
        t->v = xcalloc(t->n, sizeof(*t->v));
        for (uint32_t k = 0; k < t->n && !r->broken; k++)
            read_mount(r, &t->v[k]);
        t->n = r->broken ? 0 : t->n;
    }
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (s->replicas[i].first_table > s->n_tables ||
            s->replicas[i].n_tables > s->n_tables - s->replicas[i].first_table)
            r->broken = true;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Makes the directories above path below dirfd. */
static int make_parents(int dirfd, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        auto_free char *dir = xstrndup(path, (size_t)(slash - path));

        if (*dir && mkdirat(dirfd, dir, 0755) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_file(int dirfd, const char *path, mode_t mode, const void *bytes, size_t n)
{
    int r = make_parents(dirfd, path);
    auto_close int fd =
        r < 0 ? -1
              : openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (r == 0)
        r = fd < 0 ? -errno : io_write_all(fd, bytes, n);
    return r == 0 && fchmod(fd, mode) < 0 ? -errno : r;
}

static int read_set(struct wire_reader *r, int dirfd, uint32_t set, struct err *e)
{
    uint32_t n = read_count(r);
    char name[16];

    snprintf(name, sizeof(name), "%u", set);
    if (dirfd >= 0 && mkdirat(dirfd, name, 0755) < 0)
        return err_sys(e, -errno, "cannot create a volume of files");
    auto_close int fd = dirfd < 0 ? -1 : openat(dirfd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (uint32_t i = 0; i < n; i++) {
        const char *path = wire_get_str(r);
        mode_t mode = wire_get_u32(r) & 0777;
        size_t len;
        const void *bytes = wire_get_bytes(r, &len);
        int result = r->broken || fd < 0 ? 0 : write_file(fd, path, mode, bytes, len);

        if (result < 0)
            return err_sys(e, result, "cannot write file %s of a volume", path);
    }
    return 0;
}

/* In memory, and nobody outside the job's mount namespace ever sees it. */
static int mount_files(struct shim *s, struct err *e)
{
    auto_free char *path = xasprintf("%s/" FILES_DIR, s->scratch_dir);

    if (mkdirat(s->scratch_fd, FILES_DIR, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot make %s", path);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") < 0)
        return err_sys(e, -errno, "cannot mount %s", path);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, -errno, "cannot open %s", path) : fd;
}

int volumes_read_files(struct shim *s, struct wire_reader *r, struct err *e)
{
    uint32_t n = read_count(r);
    mode_t mask = umask(0);
    auto_close int fd = n > 0 && s->level != LEVEL_NONE ? mount_files(s, e) : -1;
    int result = n > 0 && s->level != LEVEL_NONE && fd < 0 ? fd : 0;

    for (uint32_t i = 0; i < n && result == 0; i++)
        result = read_set(r, fd, i, e);
    umask(mask);
    return result;
}

/* --- directories ------------------------------------------------------------------------------ */

static char *own_dir(const struct shim *s, const struct replica *r, const struct vmount *m)
{
    return xasprintf("%s/" VOLUMES_DIR "/%s/%s", s->scratch_dir,
                     m->kind == MOUNT_SHARED ? SHARED_DIR : r->name, m->volume);
}

/* Anyone's, as on a cluster: whoever the job becomes, the directory above is what protects it. */
static int make_own(const struct shim *s, const struct replica *r, const struct vmount *m,
                    struct err *e)
{
    auto_free char *dir = own_dir(s, r, m);
    char options[64] = "mode=1777";

    if (mkdir(dir, 0777) < 0)
        return errno == EEXIST ? 0 : err_sys(e, -errno, "cannot make %s", dir);
    if (chmod(dir, 0777) < 0)
        return err_sys(e, -errno, "cannot make %s", dir);
    if (!(m->flags & MOUNT_MEMORY) || s->level == LEVEL_NONE)
        return 0;
    if (m->size >= 0)
        snprintf(options, sizeof(options), "mode=1777,size=%lld", (long long)m->size);
    if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_sys(e, -errno, "cannot mount volume %s of %s", m->volume, r->name);
    return 0;
}

/* What was left there is an earlier attempt's: a replica begins with empty volumes. */
static int make_home(const struct shim *s, const char *name, bool fresh, struct err *e)
{
    auto_free char *path = xasprintf(VOLUMES_DIR "/%s", name);

    if (mkdirat(s->scratch_fd, VOLUMES_DIR, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot make %s/" VOLUMES_DIR, s->scratch_dir);
    if (fresh)
        (void)io_remove_tree(s->scratch_fd, path, NULL);
    if (mkdirat(s->scratch_fd, path, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot make %s/%s", s->scratch_dir, path);
    return 0;
}

static char *source_of(const struct shim *s, const struct replica *r, const struct vmount *m)
{
    switch (m->kind) {
    case MOUNT_FILES:
        return xasprintf("%s/" FILES_DIR "/%lld", s->scratch_dir, (long long)m->size);
    case MOUNT_HOST:
        return xstrdup(m->from);
    default:
        return own_dir(s, r, m);
    }
}

static bool leads_out(const char *path)
{
    for (const char *p = path; (p = strstr(p, "..")); p++)
        if ((p == path || p[-1] == '/') && (p[2] == '/' || !p[2]))
            return true;
    return *path == '/';
}

static int make_sub_path(const struct vmount *m, const char *volume, struct err *e)
{
    auto_close int dir = open(volume, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (!*m->sub_path || !(m->flags & MOUNT_MAKE_SUB) || faccessat(dir, m->sub_path, F_OK, 0) == 0)
        return 0;
    if (make_parents(dir, m->sub_path) < 0 || mkdirat(dir, m->sub_path, 0777) < 0)
        return err_sys(e, -errno, "cannot create %s in volume %s", m->sub_path, m->volume);
    return 0;
}

/* Level `none`: what would be bound has to be there all the same. */
static int make_part(const struct shim *s, const struct replica *r, const struct vmount *m,
                     struct err *e)
{
    auto_free char *volume = source_of(s, r, m);

    return s->level == LEVEL_NONE ? make_sub_path(m, volume, e) : 0;
}

int volumes_make(struct shim *s, const struct replica *r, struct err *e)
{
    bool has_home = false;

    for (uint32_t t = 0; t < r->n_tables; t++) {
        const struct vtable *table = &s->tables[r->first_table + t];

        for (uint32_t i = 0; i < table->n; i++) {
            const struct vmount *m = &table->v[i];
            int result = 0;

            if (m->kind <= MOUNT_SHARED && !has_home) {
                result = make_home(s, r->name, true, e);
                has_home = true;
            }
            if (result == 0 && m->kind == MOUNT_SHARED)
                result = make_home(s, SHARED_DIR, false, e);
            if (result == 0 && m->kind <= MOUNT_SHARED)
                result = make_own(s, r, m, e);
            if (result == 0)
                result = make_part(s, r, m, e);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* --- mounting --------------------------------------------------------------------------------- */

/* The volume, or the part of it that is meant, with all that is mounted in it. */
static int take_source(const struct shim *s, const struct replica *r, const struct vmount *m,
                       struct err *e)
{
    auto_free char *volume = source_of(s, r, m);
    auto_free char *path = *m->sub_path ? xasprintf("%s/%s", volume, m->sub_path) : xstrdup(volume);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

    if (leads_out(m->sub_path)) /* a variable in it may */
        return err_set(e, -EINVAL, "mount %s of volume %s", m->sub_path, m->volume);
    if (make_sub_path(m, volume, e) < 0)
        return e->code;
    auto_close int fd =
        open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (fd < 0)
        return err_sys(e, -errno, "cannot mount %s at %s", path, m->path);
    if ((m->flags & MOUNT_READ_ONLY) &&
        mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
        return err_sys(e, -errno, "cannot mount %s read-only", path);
    return TAKE_FD(fd);
}

static int make_point(const struct vmount *m, int tree, struct err *e)
{
    struct stat st;
    int r = access(m->path, F_OK) == 0 ? 0 : make_parents(AT_FDCWD, m->path);

    if (r == 0 && fstat(tree, &st) == 0 && access(m->path, F_OK) < 0)
        r = S_ISDIR(st.st_mode) ? mkdir(m->path, 0777)
                                : mknod(m->path, S_IFREG | 0644, 0); /* to be mounted over */
    return r < 0 ? err_sys(e, -errno, "cannot create the mount point %s", m->path) : 0;
}

/* Is one of the mounts above the path? To copy a tree in vain costs the kernel a millisecond. */
static bool is_hidden(const struct vtable *t, const char *path)
{
    for (uint32_t i = 0; i < t->n; i++) {
        size_t n = strlen(t->v[i].path);

        if (strncmp(path, t->v[i].path, n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return false;
}

/* What the job's processes need is brought back if a mount has hidden it. */
static int bring_back(char *path, int tree, struct err *e)
{
    const struct vmount m = {.path = path};
    struct stat before, now;
    int r;

    if (tree < 0 || fstat(tree, &before) < 0 ||
        (stat(path, &now) == 0 && now.st_dev == before.st_dev && now.st_ino == before.st_ino))
        return 0;
    r = make_point(&m, tree, e);
    if (r == 0 && move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        r = err_sys(e, -errno, "cannot keep %s visible in a replica", path);
    return r;
}

static int bring_all_back(const struct shim *s, const int *trees, struct err *e)
{
    int r = 0;

    for (size_t i = 0; s->kept[i] && r == 0; i++)
        r = bring_back(s->kept[i], trees[i], e);
    return r;
}

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* A stand-in has the mount points of all that are below it. */
static bool is_covered(const struct vtable *t, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(t->v[k].parent, t->v[i].parent) == 0)
            return true;
    return false;
}

static int attach(const struct vtable *t, const int *trees, struct err *e)
{
    int r = 0;

    for (uint32_t i = 0; i < t->n && r == 0; i++) {
        const struct vmount *m = &t->v[i];

        if (m->flags & MOUNT_MAKE)
            r = make_point(m, trees[i], e);
        if (r == 0 && *m->parent && !is_covered(t, i))
            r = shadow_dir_make(t, trees, i, e);
        if (r == 0 && move_mount(trees[i], "", AT_FDCWD, m->path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
            r = err_sys(e, -errno, "cannot mount volume %s at %s", m->volume, m->path);
    }
    return r;
}

int volumes_mount(struct shim *s, const struct replica *r, uint32_t table, struct err *e)
{
    const struct vtable *t = &s->tables[r->first_table + table];
    uint32_t n = 0, n_kept = 0;
    int result = 0;

    if (t->n == 0)
        return 0;
    while (s->kept[n_kept])
        n_kept++;
    auto_free int *trees = xcalloc(t->n, sizeof(*trees));
    auto_free int *kept = xcalloc(n_kept + 1, sizeof(*kept));
    for (uint32_t i = 0; i < n_kept; i++)
        kept[i] = is_hidden(t, s->kept[i])
                      ? open_tree(AT_FDCWD, s->kept[i],
                                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)
                      : -1;
    for (; n < t->n && result >= 0; n++)
        result = trees[n] = take_source(s, r, &t->v[n], e);
    if (result >= 0)
        result = attach(t, trees, e);
    if (result >= 0)
        result = bring_all_back(s, kept, e);
    close_all(trees, n);
    close_all(kept, n_kept);
    return result < 0 ? result : 0;
}
