/* shadow_dir.c - a mount point that this machine does not have.
 *
 * A directory is never made on the machine for it: as root that would leave /data behind. Instead
 * the nearest directory above that is there gets a stand-in in the replica's own mount namespace:
 * an empty file system in memory, in which every entry of the directory is bound to itself, links
 * are copied, and what is missing is made. It is read-only: a new file in that very directory would
 * vanish with the replica, so it is refused. Files and directories that were there before are the
 * machine's own, and are written as ever. Where the directory is /, the stand-in becomes the root.
 *
 * Not here: whether a directory may be treated so (engine/local/volumes.c).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/volumes.h"

/* An entry of the directory at the same name in the stand-in. What vanishes meanwhile is left out.
 */
static int copy_entry(int from, int to, const char *name)
{
    char target[PATH_MAX];
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

        target[n > 0 ? n : 0] = '\0';
        return n < 0 || symlinkat(target, to, name) < 0 ? -errno : 0;
    }
    auto_close int tree = open_tree(from, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (tree < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode) ? mkdirat(to, name, 0755) < 0
                            : mknodat(to, name, S_IFREG | 0644, 0) < 0)
        return -errno;
    return move_mount(tree, "", to, name, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* A directory that cannot be entered shows nothing: an empty one is as good. */
static int copy_entries(const char *parent, int to, struct err *e)
{
    auto_close int from = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = from < 0 ? NULL : fdopendir(dup(from));
    struct dirent *d;
    int r = 0, n = 0;

    if (!dir)
        return errno == EACCES ? 0 : err_sys(e, -errno, "cannot list %s", parent);
    while (r == 0 && (d = readdir(dir))) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (++n > LIMIT_SHADOW_ENTRIES)
            r = err_set(e, -E2BIG, "%s has more than %d entries", parent, LIMIT_SHADOW_ENTRIES);
        else if ((r = copy_entry(from, to, d->d_name)) < 0)
            err_sys(e, r, "cannot show %s/%s in a replica", parent, d->d_name);
    }
    closedir(dir);
    return r;
}

/* The mount points below that parent. */
static int make_points(const struct vtable *t, const int *trees, uint32_t first, int to,
                       struct err *e)
{
    const char *parent = t->v[first].parent;
    size_t skip = strcmp(parent, "/") == 0 ? 1 : strlen(parent) + 1;

    for (uint32_t i = first; i < t->n; i++) {
        struct stat st;
        char *path;

        if (strcmp(t->v[i].parent, parent) != 0)
            continue;
        path = t->v[i].path + skip;
        for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            (void)mkdirat(to, path, 0755);
            *slash = '/';
        }
        if (fstat(trees[i], &st) < 0 ||
            ((S_ISDIR(st.st_mode) ? mkdirat(to, path, 0755)
                                  : mknodat(to, path, S_IFREG | 0644, 0)) < 0 &&
             errno != EEXIST))
            return err_sys(e, -errno, "cannot create the mount point %s", t->v[i].path);
    }
    return 0;
}

/* As the directory that it stands for. */
static void copy_owner_and_mode(const char *parent, int to)
{
    struct stat st;

    if (stat(parent, &st) == 0) {
        (void)!fchownat(to, "", st.st_uid, st.st_gid, AT_EMPTY_PATH);
        (void)fchmod(to, st.st_mode & 07777);
    }
}

/* The stand-in is the mount that fd is in. */
static int put_over(int stand_in, const char *parent, struct err *e)
{
    if (strcmp(parent, "/") != 0) {
        if (move_mount(stand_in, "", AT_FDCWD, parent, MOVE_MOUNT_F_EMPTY_PATH) < 0)
            return err_sys(e, -errno, "cannot mount a substitute over %s", parent);
        return 0;
    }
    if (fchdir(stand_in) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(e, -errno, "cannot make a substitute the root");
    return 0;
}

/* It is built over /dev/shm, which every replica has, and moved from there. Unbindable: else it
 * would be copied into itself with /dev. One for /dev itself has to show /dev/shm, and is built
 * elsewhere. */
static int open_stand_in(const char *parent, struct err *e)
{
    const char *place = strcmp(parent, "/dev") == 0 ? "/tmp" : "/dev/shm";

    if (mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0 ||
        mount(NULL, place, NULL, MS_UNBINDABLE, NULL) < 0)
        return err_sys(e, -errno, "cannot mount a substitute");
    int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, -errno, "cannot open a substitute") : fd;
}

int shadow_dir_make(const struct vtable *t, const int *trees, uint32_t i, struct err *e)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    const char *parent = t->v[i].parent;
    auto_close int to = open_stand_in(parent, e);
    int r = to < 0 ? to : copy_entries(parent, to, e);

    if (r == 0)
        r = make_points(t, trees, i, to, e);
    if (r == 0)
        copy_owner_and_mode(parent, to);
    if (r == 0 && mount_setattr(to, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        r = err_sys(e, -errno, "cannot make the substitute for %s read-only", parent);
    if (r == 0)
        r = put_over(to, parent, e);
    if (r == 0 && mount(NULL, parent, NULL, MS_PRIVATE, NULL) < 0)
        r = err_sys(e, -errno, "cannot complete the substitute for %s", parent);
    return r;
}
