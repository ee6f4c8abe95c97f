/* snapshot.c - see snapshot.h. */
#include "engine/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "engine/code.h"

#define COMPILED "__pycache__"

/* --- files ------------------------------------------------------------------------------------ */

static int copy_bytes(int from, int to)
{
    static char buf[1 << 16];
    ssize_t n;

    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
        ;
    if (n == 0)
        return 0;
    if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    while ((n = read(from, buf, sizeof(buf))) > 0) {
        int r = io_write_all(to, buf, (size_t)n);
        if (r < 0)
            return r;
    }
    return n < 0 ? -errno : 0;
}

/* With mode and time, which say later whether it was changed. */
static int copy_file(const char *from, int dir, const char *to, struct err *e)
{
    auto_close int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (in < 0 || fstat(in, &st) < 0)
        return err_sys(e, -errno, "cannot read %s", from);
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "%s changed while it was copied", from);
    auto_close int out =
        openat(dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (st.st_mode & 0777) | 0200);
    int r = out < 0 ? -errno : copy_bytes(in, out);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    if (r == 0 && (fchmod(out, st.st_mode & 0777) < 0 || futimens(out, times) < 0))
        r = -errno;
    return r < 0 ? err_sys(e, r, "cannot copy %s", from) : 0;
}

/* --- taking ----------------------------------------------------------------------------------- */

static int put_entry(const struct code_entry *x, const char *from, int dir, struct err *e)
{
    const char *to = x->to + 1; /* "/src/a.py" */
    auto_free char *target = NULL;

    if (!*x->to)
        return 0; /* the top, which is there */
    if (x->is_left_out) {
        target = xstrdup(x->from);
    } else if (x->target && x->leads_out && *x->target != '/') {
        const char *slash = strrchr(x->from, '/');
        target = xasprintf("%.*s/%s", (int)(slash - x->from), x->from, x->target);
    } else if (x->target) {
        target = xstrdup(x->target);
    } else if (S_ISDIR(x->mode)) {
        return mkdirat(dir, to, (x->mode & 0777) | 0700) < 0
                   ? err_sys(e, -errno, "cannot create a directory for a copy of %s", from)
                   : 0;
    } else {
        return copy_file(x->from, dir, to, e);
    }
    return symlinkat(target, dir, to) < 0 ? err_sys(e, -errno, "cannot copy the link %s", x->from)
                                          : 0;
}

int snapshot_take(const char *from, const char *to, const char *skip, struct err *e)
{
    struct code_list list = {
        .names_left_out = true, .skip = skip, .place = "copied when a job is submitted"};
    int r = code_add(&list, from, "", "use --in-place to run in the directory itself", e);

    if (r == 0 && mkdir(to, 0700) < 0)
        r = err_sys(e, -errno, "cannot create %s", to);
    auto_close int dir = r == 0 ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (r == 0 && dir < 0)
        r = err_sys(e, -errno, "cannot open %s", to);
    for (size_t i = 0; i < list.n && r == 0; i++)
        r = put_entry(&list.v[i], from, dir, e);
    if (r < 0 && dir >= 0)
        (void)io_remove_tree(AT_FDCWD, to, NULL);
    code_release(&list);
    return r;
}

/* --- copying ---------------------------------------------------------------------------------- */

typedef int entry_fn(const char *a, const char *b, const struct stat *st, struct err *e);

/* Calls fn with the paths of each entry of a directory, here and there. */
static int each(const char *from, const char *to, entry_fn *fn, struct err *e)
{
    DIR *dir = opendir(from);
    int r = dir ? 0 : err_sys(e, -errno, "cannot list %s", from);

    while (dir && r == 0) {
        const struct dirent *d = readdir(dir);
        struct stat st;

        if (!d)
            break;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        auto_free char *a = xasprintf("%s/%s", from, d->d_name),
                       *b = xasprintf("%s/%s", to, d->d_name);
        if (lstat(a, &st) < 0)
            r = err_sys(e, -errno, "cannot access %s", a);
        else
            r = fn(a, b, &st, e);
    }
    if (dir)
        (void)closedir(dir);
    return r;
}

static char *link_text(const char *path)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target) - 1);

    return n < 0 ? NULL : xstrndup(target, (size_t)n);
}

static int copy_entry(const char *from, const char *to, const struct stat *st, struct err *e)
{
    auto_free char *target = S_ISLNK(st->st_mode) ? link_text(from) : NULL;

    if (S_ISREG(st->st_mode))
        return copy_file(from, AT_FDCWD, to, e);
    if (target)
        return symlink(target, to) < 0 ? err_sys(e, -errno, "cannot copy the link %s", from) : 0;
    if (mkdir(to, st->st_mode & 0777) < 0)
        return err_sys(e, -errno, "cannot create %s", to);
    return each(from, to, copy_entry, e);
}

int snapshot_copy(const char *snapshot, const char *to, struct err *e)
{
    if (mkdir(to, 0700) < 0)
        return err_sys(e, -errno, "cannot create %s", to);
    return each(snapshot, to, copy_entry, e);
}

/* --- pruning ---------------------------------------------------------------------------------- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int prune_entry(const char *was, const char *copy, const struct stat *st, struct err *e)
{
    struct stat now;

    if (lstat(copy, &now) < 0 || (now.st_mode & S_IFMT) != (st->st_mode & S_IFMT))
        return 0;
    if (S_ISLNK(st->st_mode)) {
        auto_free char *a = link_text(was), *b = link_text(copy);

        if (a && b && strcmp(a, b) == 0)
            (void)unlink(copy);
    } else if (S_ISREG(st->st_mode)) {
        if (st->st_size == now.st_size && same_time(&st->st_mtim, &now.st_mtim))
            (void)unlink(copy);
    } else {
        (void)each(was, copy, prune_entry, e);
        auto_free char *compiled = xasprintf("%s/" COMPILED, copy);
        (void)io_remove_tree(AT_FDCWD, compiled, NULL);
        (void)rmdir(copy); /* if nothing is left */
    }
    return 0;
}

void snapshot_prune(const char *snapshot, const char *copy)
{
    struct stat st;
    struct err e;

    if (lstat(snapshot, &st) == 0)
        (void)prune_entry(snapshot, copy, &st, &e);
}
