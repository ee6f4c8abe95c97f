/* overlay.c - see overlay.h.
 *
 * With all privileges one overlay covers /, and becomes the root. A user namespace refuses that,
 * because the mounts below / are locked together with it; there each directory of / gets an overlay
 * of its own. An overlay shows one file system only, so mounts below it are put back: other disks
 * under a layer of their own, kernel file systems and single files as they are.
 *
 * Upper directories are named relative to the base, which is the working directory meanwhile:
 * options of mount() are split at commas, and a run directory may have one in its path.
 */
#include "shim/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "shim/mounts.h"

#define ROOT_DIR ".root" /* where the new root is put together */
#define WORK_DIR ".work" /* what overlayfs needs beside an upper directory */

void overlay_read(struct shim *s, struct wire_reader *r)
{
    struct overlay *o = &s->overlay;
    uint32_t flags = wire_get_u32(r);
    const char *base = wire_get_str(r);
    auto_free const char **real = wire_get_strs(r);
    size_t n = 0, k = 0;

    *o = (struct overlay){
        .wanted = flags & OVERLAY_ON, .keep = flags & OVERLAY_KEEP, .base = xstrdup(base)};
    if (o->wanted && *base != '/')
        r->broken = true;
    while (real[n])
        n++;
    o->real = xcalloc(n + 1, sizeof(*o->real));
    for (size_t i = 0; i < n; i++) {
        char *path = realpath(real[i], NULL);

        if (path && strcmp(path, "/") != 0)
            o->real[k++] = path;
        else
            free(path);
    }
}

/* --- trees of mounts -----------------------------------------------------------------------------
 */

static bool is_at_or_below(const char *path, const char *dir)
{
    return strcmp(path, dir) == 0 || mount_is_below(path, dir);
}

static int copy_tree(const char *path, bool recursive)
{
    return open_tree(AT_FDCWD, path,
                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0));
}

static int put_tree(int tree, const char *path)
{
    return move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* --- one layer ----------------------------------------------------------------------------------
 */

/* An upper directory shows as the root of its layer: with the owner and mode of what it covers. */
static int make_upper(const char *upper, const char *lower)
{
    struct stat st;

    for (const char *slash = strchr(upper, '/'); slash; slash = strchr(slash + 1, '/')) {
        auto_free char *dir = xstrndup(upper, (size_t)(slash - upper));

        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
            return -1;
    }
    if (mkdir(upper, 0755) < 0 && errno != EEXIST)
        return -1;
    if (stat(lower, &st) == 0) {
        (void)!chown(upper, st.st_uid, st.st_gid);
        (void)chmod(upper, st.st_mode & 07777);
    }
    return 0;
}

/* Mounts a layer over `lower` at `at`; upper and work are relative. */
static int mount_layer(const struct shim *s, const char *lower, const char *upper, const char *at)
{
    static unsigned counter;
    auto_free char *work = xasprintf(WORK_DIR "/%u", counter++);
    auto_free char *options = xasprintf("lowerdir=%s,upperdir=%s,workdir=%s%s", lower, upper, work,
                                        s->overlay.whole ? "" : ",userxattr");

    errno = EINVAL;
    if (strpbrk(lower, ",:\\"))
        return -1;
    if ((mkdir(WORK_DIR, 0700) < 0 && errno != EEXIST) ||
        (mkdir(work, 0700) < 0 && errno != EEXIST) || make_upper(upper, lower) < 0)
        return -1;
    return mount("overlay", at, "overlay", 0, options);
}

static bool is_real(const struct shim *s, const char *path)
{
    for (char **real = s->overlay.real; real && *real; real++)
        if (is_at_or_below(path, *real))
            return true;
    return false;
}

static void note_uncovered(struct shim *s, const struct replica *r, const char *path,
                           const char *why)
{
    struct stat st;
    bool changeable = geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid()) ||
                      access(path, W_OK) == 0;

    if (r->id == 0 && changeable)
        shim_note(s, "--overlay does not cover %s: %s", path, why);
}

/* --- over the whole root ------------------------------------------------------------------------
 */

static bool changes_nothing(const struct seen *m)
{
    struct statvfs st;
    struct stat file;

    return m->pseudo || (stat(m->path, &file) == 0 && !S_ISDIR(file.st_mode)) ||
           (statvfs(m->path, &st) == 0 && (st.f_flag & ST_RDONLY));
}

/* Shows one of the mounts below / in the new root. */
static void show_mount(struct shim *s, const struct replica *r, const struct seen *m)
{
    auto_free char *at = xasprintf(ROOT_DIR "%s", m->path);
    auto_free char *upper = xasprintf("%s.mounts%s", r->name, m->path);
    auto_close int tree = -1;

    if (is_real(s, m->path))
        return; /* comes with the rest of it */
    if (!changes_nothing(m)) {
        if (mount_layer(s, m->path, upper, at) == 0)
            return;
        note_uncovered(s, r, m->path, strerror(errno));
    }
    tree = copy_tree(m->path, m->pseudo);
    if (tree < 0 || put_tree(tree, at) < 0)
        shim_note(s, "%s is not visible in %s: %s", m->path, r->name, strerror(errno));
}

static int cover_whole(struct shim *s, const struct replica *r, const struct mounts *ms,
                       struct err *e)
{
    if ((mkdir(ROOT_DIR, 0755) < 0 && errno != EEXIST) ||
        mount_layer(s, "/", r->name, ROOT_DIR) < 0)
        return err_sys(e, -errno, "cannot mount the layer of %s over /", r->name);
    for (size_t i = 0; i < ms->n; i++)
        show_mount(s, r, &ms->v[i]);
    if (chdir(ROOT_DIR) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(e, -errno, "cannot make the layer of %s the root", r->name);
    return 0;
}

/* --- over each directory ------------------------------------------------------------------------
 */

#define COVER_DEPTH 3 /* how far below / directories get layers of their own */

static bool has_mounts_below(const struct mounts *ms, const char *path)
{
    for (size_t i = 0; i < ms->n; i++)
        if (mount_is_below(ms->v[i].path, path))
            return true;
    return false;
}

static void put_back_below(struct shim *s, const struct replica *r, const struct mounts *ms,
                           const char *path)
{
    for (size_t i = 0; i < ms->n; i++) {
        const struct seen *m = &ms->v[i];

        if (m->tree < 0 || !mount_is_below(m->path, path))
            continue;
        (void)put_tree(m->tree, m->path);
        if (!changes_nothing(m) && !is_real(s, m->path))
            note_uncovered(s, r, m->path, "it is a separate file system");
    }
}

static size_t cover_below(struct shim *s, const struct replica *r, const struct mounts *ms,
                          const char *path, int depth);

/* Returns the number of layers mounted. */
static size_t cover_dir(struct shim *s, const struct replica *r, const struct mounts *ms,
                        const char *path, int depth)
{
    auto_free char *upper = xasprintf("%s%s", r->name, path);

    if (is_real(s, path))
        return 0;
    for (size_t i = 0; i < ms->n; i++)
        if (ms->v[i].pseudo && is_at_or_below(path, ms->v[i].path))
            return 0;
    if (mount_layer(s, path, upper, path) == 0) {
        put_back_below(s, r, ms, path);
        return 1;
    }
    (void)rmdir(upper);
    if (has_mounts_below(ms, path) && depth < COVER_DEPTH)
        return cover_below(s, r, ms, path, depth + 1);
    note_uncovered(s, r, path, strerror(errno));
    return 0;
}

static size_t cover_below(struct shim *s, const struct replica *r, const struct mounts *ms,
                          const char *path, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *d;
    size_t n = 0;

    while (dir && (d = readdir(dir))) {
        auto_free char *child = xasprintf("%s/%s", strcmp(path, "/") == 0 ? "" : path, d->d_name);
        struct stat st;

        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && lstat(child, &st) == 0 &&
            S_ISDIR(st.st_mode))
            n += cover_dir(s, r, ms, child, depth);
    }
    if (dir)
        closedir(dir);
    return n;
}

static int cover_dirs(struct shim *s, const struct replica *r, struct mounts *ms, struct err *e)
{
    for (size_t i = 0; i < ms->n; i++)
        ms->v[i].tree = ms->v[i].pseudo ? -1 : copy_tree(ms->v[i].path, true);
    if (cover_below(s, r, ms, "/", 1) == 0)
        return err_sys(e, -errno, "cannot mount a layer of %s over any directory", r->name);
    return chdir("/") < 0 ? err_sys(e, -errno, "cannot change to /") : 0;
}

/* --- what stays real ----------------------------------------------------------------------------
 */

static size_t copy_real(const struct shim *s, int **ret)
{
    size_t n = 0;

    while (s->overlay.real && s->overlay.real[n])
        n++;
    *ret = xcalloc(n + 1, sizeof(**ret));
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = copy_tree(s->overlay.real[i], true);
    return n;
}

/* One inside another has come with it. */
static bool is_shown(const char *path, int tree)
{
    struct stat before, now;

    return fstat(tree, &before) == 0 && stat(path, &now) == 0 && now.st_dev == before.st_dev &&
           now.st_ino == before.st_ino;
}

static int show_real(const struct shim *s, const int *trees, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const char *path = s->overlay.real[i];

        if (trees[i] >= 0 && !is_shown(path, trees[i]) && put_tree(trees[i], path) < 0)
            return err_sys(e, -errno, "cannot show %s through the layer", path);
    }
    return 0;
}

int overlay_mount(struct shim *s, const struct replica *r, struct err *e)
{
    struct overlay *o = &s->overlay;
    CLEANUP(mounts_release) struct mounts ms = {0};
    auto_free int *trees = NULL;
    int result = mounts_read(&ms, e);
    size_t n;

    if (result < 0)
        return result;
    if (chdir(o->base) < 0)
        return err_sys(e, -errno, "cannot enter %s", o->base);
    n = copy_real(s, &trees);
    result = o->whole ? cover_whole(s, r, &ms, e) : cover_dirs(s, r, &ms, e);
    if (result == 0)
        result = show_real(s, trees, n, e);
    for (size_t i = 0; i < n; i++)
        if (trees[i] >= 0)
            close(trees[i]);
    return result;
}

/* --- beginning and end --------------------------------------------------------------------------
 */

/* A directory in which nothing was changed need not be looked at by anybody. */
static void remove_empty(int base, const char *name)
{
    auto_close int upper = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = upper < 0 ? NULL : fdopendir(dup(upper));
    struct dirent *d;

    while (dir && (d = readdir(dir)))
        (void)unlinkat(upper, d->d_name, AT_REMOVEDIR);
    if (dir)
        closedir(dir);
}

/* What is in the base, but for the upper directories that are to be kept. */
static void clear_base(const struct shim *s)
{
    const struct overlay *o = &s->overlay;
    auto_close int base = o->wanted ? open(o->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (base < 0)
        return;
    (void)io_remove_tree(base, WORK_DIR, NULL);
    (void)io_remove_tree(base, ROOT_DIR, NULL);
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        auto_free char *mounts = xasprintf("%s.mounts", s->replicas[i].name);

        if (s->is_set_up && o->keep) {
            if (!o->whole)
                remove_empty(base, s->replicas[i].name);
            continue;
        }
        (void)io_remove_tree(base, s->replicas[i].name, NULL);
        (void)io_remove_tree(base, mounts, NULL);
    }
}

/* One layer more, for a moment. */
static bool can_mount(struct shim *s, bool whole)
{
    static const char *const lowers[] = {"/", "/usr"};

    s->overlay.whole = whole;
    if (mkdir(ROOT_DIR, 0755) < 0 && errno != EEXIST)
        return false;
    if (mount_layer(s, lowers[!whole], WORK_DIR "/try", ROOT_DIR) < 0)
        return false;
    (void)umount2(ROOT_DIR, MNT_DETACH);
    (void)rmdir(WORK_DIR "/try");
    return true;
}

static bool can_mount_here(struct shim *s)
{
    return can_mount(s, true) || can_mount(s, false);
}

static int use_memory(struct shim *s, struct err *e)
{
    const char *base = s->overlay.base;
    char options[64];

    snprintf(options, sizeof(options), "mode=0700,size=%lld", (long long)LIMIT_OVERLAY_BYTES);
    if (mount("tmpfs", base, "tmpfs", MS_NODEV, options) < 0 || chdir(base) < 0)
        return err_sys(e, -errno, "cannot mount a tmpfs on %s", base);
    return 0;
}

int overlay_prepare(struct shim *s, struct err *e)
{
    struct overlay *o = &s->overlay;
    int r, why;

    if (!o->wanted)
        return 0;
    clear_base(s); /* an earlier attempt has left it */
    if (mkdir(o->base, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot make %s", o->base);
    if (chdir(o->base) < 0)
        return err_sys(e, -errno, "cannot enter %s", o->base);
    if (can_mount_here(s))
        return 0;
    why = errno;
    if (o->keep)
        return err_sys(e, -why,
                       "cannot mount an overlay with its upper layer in %s; --keep-overlay needs a "
                       "directory on a local file system such as ext4, xfs or tmpfs",
                       o->base);
    r = use_memory(s, e);
    if (r < 0)
        return r;
    if (!can_mount_here(s))
        return err_sys(e, -errno,
                       "cannot mount an overlay; overlayfs may be missing or forbidden "
                       "here (modprobe overlay, AppArmor, a container)");
    shim_note(s,
              "the layer of --overlay is kept in memory (at most %lld GiB): an overlay cannot "
              "be kept in %s: %s",
              (long long)LIMIT_OVERLAY_BYTES >> 30, o->base, strerror(why));
    return 0;
}

void overlay_remove(const struct shim *s)
{
    const struct overlay *o = &s->overlay;

    clear_base(s);
    if (o->wanted && !o->keep) {
        (void)umount2(o->base, MNT_DETACH); /* if it is in memory */
        (void)rmdir(o->base);
    }
}
