/* report_file.c - writing a report where the user wants it, see tell.h.
 *
 * In /tmp anybody can put a link or a pipe where a report is expected: what it leads to would be
 * overwritten, or read by others. So only what is one's own, or root's, is written in place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/tell.h"

/* Below /dev are the descriptors of others (/dev/stderr): what they hold already stays. */
static int write_in_place(const char *path, bool is_link, const char *data, size_t n, struct err *e)
{
    int how = strncmp(path, "/dev/", 5) == 0 ? O_APPEND : O_TRUNC;
    auto_close int fd =
        open(path, O_WRONLY | O_CLOEXEC | how | (is_link ? O_CREAT : O_NOFOLLOW), 0600);
    struct stat st;
    int r = fd < 0 ? -errno : 0;

    /* a link of one's own to a file: the file is the report now */
    if (r == 0 && how == O_TRUNC && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid())
        (void)fchmod(fd, 0600);
    if (r == 0)
        r = io_write_all(fd, data, n);
    if (r == -EINTR || r == -EPIPE) /* drain_guard()'s timer has ended the wait for a reader */
        return err_set(e, r, "%s: nothing reads this pipe", path);
    return r < 0 ? err_sys(e, r, "%s", path) : 0;
}

/* Devices are what they are, whoever has them: a terminal is its user's under sudo too. */
static bool is_anothers(const struct stat *st)
{
    return (S_ISLNK(st->st_mode) || S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) &&
           st->st_uid != geteuid() && st->st_uid != 0;
}

static int check_owner(const char *path, const struct stat *st, struct err *e)
{
    bool is_link = S_ISLNK(st->st_mode);

    if (!is_anothers(st))
        return 0;
    return err_set(e, -EPERM, "%s is a %s of uid %u; refusing to %s it", path,
                   is_link                 ? "link"
                   : S_ISSOCK(st->st_mode) ? "socket"
                                           : "pipe",
                   st->st_uid, is_link ? "follow" : "write to");
}

int tell_check_file(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    struct stat st;

    if ((strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) &&
        io_stream_was_closed(STDOUT_FILENO))
        return err_set(e, -EBADF, "stdout is closed");
    if (strcmp(path, "/dev/stderr") == 0 && io_stream_was_closed(STDERR_FILENO))
        return err_set(e, -EBADF, "stderr is closed");
    if (strcmp(path, "-") == 0)
        return 0;
    if (lstat(path, &st) == 0 && check_owner(path, &st, e) < 0)
        return e->code;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? err_set(e, -EISDIR, "%s is a directory", path) : 0;
    return access(dir, W_OK | X_OK) < 0 ? err_sys(e, -errno, "%s", dir) : 0;
}

int tell_write_file(const char *path, const char *data, size_t n, struct err *e)
{
    struct stat st;

    if (strcmp(path, "-") == 0) {
        int r = io_write_all(STDOUT_FILENO, data, n);
        return r < 0 ? err_sys(e, r, "stdout") : 0;
    }
    bool there = lstat(path, &st) == 0;
    if (there && check_owner(path, &st, e) < 0)
        return e->code;
    if (there && !S_ISREG(st.st_mode))
        return write_in_place(path, S_ISLNK(st.st_mode), data, n, e);

    const char *slash = strrchr(path, '/');
    auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, -errno, "%s", dir);
    return io_write_atomic(fd, slash ? slash + 1 : path, data, n, e);
}
