/* io.c - see io.h. Nothing here is synced to disk: records must outlive the process, not the
 * machine. */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

int io_write_all(int fd, const void *data, size_t n)
{
    const char *p = data;

    while (n) {
        ssize_t w = write(fd, p, n);

        if (w >= 0) {
            p += w;
            n -= (size_t)w;
        } else if (errno == EAGAIN) {
            struct pollfd pfd = {.fd = fd, .events = POLLOUT};

            if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
                return -errno;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int io_read_fd(int fd, const char *name, size_t limit, struct strbuf *sb, struct err *e)
{
    size_t start = sb->len;

    for (;;) {
        ssize_t r;

        strbuf_reserve(sb, 16 * 1024);
        r = read(fd, sb->buf + sb->len, sb->cap - sb->len - 1);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0) {
            r = -errno;
            strbuf_truncate(sb, start);
            return err_sys(e, (int)r, "cannot read %s", name);
        }
        sb->len += (size_t)r;
        sb->buf[sb->len] = '\0';
        if (sb->len - start > limit) {
            strbuf_truncate(sb, start);
            return err_set(e, -EFBIG, "%s is larger than the limit of %zu bytes", name, limit);
        }
        if (r == 0)
            return 0;
    }
}

int io_read_file(int dirfd, const char *path, size_t limit, struct strbuf *sb, struct err *e)
{
    auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_sys(e, -errno, "cannot open %s", path);
    return io_read_fd(fd, path, limit, sb, e);
}

int io_open_regular(int dirfd, const char *path, int flags, mode_t mode)
{
    auto_close int fd =
        openat(dirfd, path, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
    struct stat st;

    if (fd < 0)
        return errno == ENXIO ? -EEXIST : -errno; /* a pipe that nobody reads, or a socket */
    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EEXIST;
}

int io_read_regular(int dirfd, const char *path, size_t limit, struct strbuf *sb, struct err *e)
{
    auto_close int fd = io_open_regular(dirfd, path, O_RDONLY, 0);

    if (fd == -EEXIST)
        return err_set(e, -EINVAL, "%s is not a regular file", path);
    if (fd < 0)
        return err_sys(e, fd, "cannot open %s", path);
    return io_read_fd(fd, path, limit, sb, e);
}

bool io_read_until(int fd, ns_t deadline, size_t limit, struct strbuf *sb)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    size_t start = sb->len;

    while (sb->len - start < limit) {
        ns_t left = deadline - clock_mono();
        char buf[4096];

        if (left <= 0 || poll(&pfd, 1, (int)(left / NS_PER_MS) + 1) == 0)
            return false;
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return true;
        if (n > 0)
            strbuf_add(sb, buf, (size_t)n);
    }
    return false;
}

int io_write_atomic(int dirfd, const char *name, const void *data, size_t n, struct err *e)
{
    auto_free char *temp = xasprintf("%s.%ld.tmp", name, (long)getpid());
    auto_close int fd = -1;
    int r;

    /* A leftover of a dead process with our id would be in the way of O_EXCL. */
    (void)unlinkat(dirfd, temp, 0);
    fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, -errno, "cannot create %s", temp);
    r = io_write_all(fd, data, n);
    if (r < 0)
        err_sys(e, r, "cannot write %s", temp);
    else if (renameat(dirfd, temp, dirfd, name) < 0)
        r = err_sys(e, -errno, "cannot rename %s to %s", temp, name);
    if (r < 0)
        (void)unlinkat(dirfd, temp, 0);
    return r;
}

static int make_dir(const char *path, mode_t mode, struct err *e)
{
    struct stat st;
    int code;

    if (mkdir(path, mode) == 0)
        return 0;
    code = -errno;
    /* A read-only or forbidden parent is no matter if the directory is there. */
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "%s is not a directory", path);
    return err_sys(e, code, "cannot create directory %s", path);
}

int io_mkdir_p(const char *path, mode_t mode, struct err *e)
{
    auto_free char *copy = xstrdup(path);

    for (char *p = copy + 1; *copy && *p; p++) {
        int r;

        if (*p != '/' || p[-1] == '/')
            continue;
        *p = '\0';
        r = make_dir(copy, mode, e);
        if (r < 0)
            return r;
        *p = '/';
    }
    return make_dir(copy, mode, e);
}

static int remove_tree(int at, const char *path, int depth, struct err *e);

static int remove_children(DIR *dir, int depth, struct err *e)
{
    struct dirent *ent;

    while ((errno = 0, ent = readdir(dir))) {
        int r;

        if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
            continue;
        r = remove_tree(dirfd(dir), ent->d_name, depth + 1, e);
        if (r < 0)
            return err_wrap(e, r, "%s", ent->d_name);
    }
    return errno ? err_sys(e, -errno, "cannot list the directory") : 0;
}

static int remove_tree(int at, const char *path, int depth, struct err *e)
{
    DIR *dir;
    int fd, r;

    if (unlinkat(at, path, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return err_sys(e, -errno, "cannot remove %s", path);
    if (depth >= LIMIT_TREE_DEPTH)
        return err_set(e, -ELOOP, "directories are nested deeper than %d", LIMIT_TREE_DEPTH);
    fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(at, path, 0700, 0) == 0) /* its owner may */
        fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, -errno, "cannot open directory %s", path);
    dir = fdopendir(fd);
    if (!dir) {
        r = -errno;
        close(fd);
        return err_sys(e, r, "cannot open directory %s", path);
    }
    r = remove_children(dir, depth, e);
    closedir(dir);
    if (r < 0)
        return r;
    if (unlinkat(at, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return err_sys(e, -errno, "cannot remove directory %s", path);
    return 0;
}

int io_remove_tree(int dirfd, const char *path, struct err *e)
{
    return remove_tree(dirfd, path, 0, e);
}

int io_dir_is_empty(int fd, bool *ret)
{
    auto_close int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *ent;
    bool empty = true;

    if (!dir)
        return -errno;
    (void)TAKE_FD(copy);
    while (empty && (ent = readdir(dir)))
        empty = strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0;
    closedir(dir);
    *ret = empty;
    return 0;
}

static bool was_closed[STDERR_FILENO + 1];

bool io_fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        was_closed[fd] = fcntl(fd, F_GETFD) < 0;
        /* inherited like any other stream, so without close-on-exec; the lowest free number is this
         * one */
        if (was_closed[fd] && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

bool io_stream_was_closed(int fd)
{
    return was_closed[fd];
}

static void on_file_limit(int sig)
{
    (void)sig;
}

/* A handler, because an ignored signal would stay ignored in what is executed. */
void io_survive_file_limit(void)
{
    const struct sigaction sa = {.sa_handler = on_file_limit, .sa_flags = SA_RESTART};

    (void)sigaction(SIGXFSZ, &sa, NULL);
}

int io_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int io_accept(int listen_fd, int *spare)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int code = fd < 0 ? -errno : 0;

    if (code != -EMFILE && code != -ENFILE)
        return code < 0 ? code : fd;
    if (*spare >= 0)
        (void)close(*spare);
    fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    *spare = io_spare();
    return code;
}

int io_need_descriptors(int n, struct err *e)
{
    auto_free int *fds = xcalloc((size_t)n, sizeof(*fds));
    struct rlimit limit = {0};
    int got = 0, code = 0;

    while (got < n && (fds[got] = io_spare()) >= 0)
        got++;
    if (got < n)
        code = -errno;
    for (int i = 0; i < got; i++)
        (void)close(fds[i]);
    if (code == 0)
        return 0;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return err_set(
        e, code, "only %d more files can be opened, at least %d are required: %s", got, n,
        code == -ENFILE        ? "the machine has too many open files"
        : limit.rlim_cur < 256 ? "raise the limit of open files (ulimit -n)"
                               : "close files that were inherited, or raise the limit (ulimit -n)");
}

int io_set_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

int io_set_cloexec(int fd, int on)
{
    return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}
