/* pod_files.c - files that muster writes into a pod: below the run directory, and nowhere else.
 *
 * Every directory on the way is opened without following links, so that a link that came with the
 * job's code does not lead a later file out of the run directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/peer.h"
#include "shim/pod.h"
#include "shim/stand_in.h"

#define SCRATCH "scratch"
#define KUBELET_HOSTS "# Kubernetes-managed hosts file" /* its first line, with hostNetwork too */

/* RUN_DIR/hosts is added to what the kubelet has put into /etc/hosts. Where that cannot be written,
 * names resolve by DNS. A file that is not the kubelet's is a machine's own, and stays as it is. */
static void add_hosts(const char *text, size_t n)
{
    static struct strbuf first = STRBUF_INIT;

    if (first.len == 0)
        (void)io_read_file(AT_FDCWD, "/etc/hosts", LIMIT_FILE_BYTES, &first, NULL);
    if (!first.buf || strncmp(first.buf, KUBELET_HOSTS, strlen(KUBELET_HOSTS)) != 0)
        return;
    auto_close int fd = open("/etc/hosts", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0)
        return;
    (void)io_write_all(fd, first.buf, first.len);
    (void)io_write_all(fd, text, n);
}

/* A stand-in for an mpirun that the image does not have would look like one to a script. */
static bool is_needless(const char *path)
{
    const char *name = strrchr(path, '/');
    char file[PATH_MAX];

    if (!name || strncmp(path, SCRATCH "/bin/", strlen(SCRATCH "/bin/")) != 0)
        return false;
    name++;
    return (strncmp(name, "mpi", 3) == 0 || strcmp(name, "orterun") == 0) &&
           !find_next(name, file, sizeof(file));
}

/* Relative, with no empty word, "." or "..". */
static bool is_inside(const char *path)
{
    for (;;) {
        size_t n = strcspn(path, "/");

        if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (!path[n])
            return true;
        path += n + 1;
    }
}

/* The directory that the path's last word is in, made where it is missing. */
static int open_parent(const struct shim *s, const char *path, const char **ret_name)
{
    enum { HOW = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    auto_close int fd = open(s->run_dir, HOW);
    const char *slash;

    for (; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        auto_free char *name = xstrndup(path, (size_t)(slash - path));
        (void)mkdirat(fd, name, 0755); /* else it is there, or cannot be opened */
        int next = openat(fd, name, HOW);
        int error = errno;

        (void)close(fd);
        fd = next;
        errno = error;
    }
    *ret_name = path;
    return fd < 0 ? -errno : TAKE_FD(fd);
}

static void close_file(struct pod *p)
{
    if (p->file_fd >= 0)
        (void)close(p->file_fd);
    p->file_fd = -1;
}

static void failed(struct shim *s, const char *path, int error)
{
    close_file(s->pod);
    if (s->pod->file_error)
        return;
    s->pod->file_error = error;
    s->pod->file_what = xstrdup(path);
    shim_note(s, "cannot write %s/%s: %s", s->run_dir, path, strerror(-error));
}

/* Its owner can always write into a directory: what is in it is not there yet. */
static int make_dir(int fd, const char *name, mode_t mode)
{
    struct stat st;

    if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return fchmodat(fd, name, (mode & 0777) | 0700, 0) < 0 ? -errno : 0;
}

static int make_file(struct pod *p, int fd, const char *name, mode_t mode, const char *data,
                     size_t n)
{
    (void)unlinkat(fd, name, 0);
    if (S_ISLNK(mode)) {
        auto_free char *target = xstrndup(data, n);
        return symlinkat(target, fd, name) < 0 ? -errno : 0;
    }
    p->file_fd = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (p->file_fd < 0 || fchmod(p->file_fd, mode & 0777) < 0)
        return -errno;
    return io_write_all(p->file_fd, data, n);
}

int pod_file(struct shim *s, struct wire_reader *r)
{
    mode_t mode = wire_get_u32(r);
    const char *path = wire_get_str(r), *name;
    size_t n;
    const char *data = wire_get_bytes(r, &n);

    if (!s->pod || !wire_done(r) || !is_inside(path))
        return -EPROTO;
    close_file(s->pod);
    if (S_ISLNK(mode) && is_needless(path))
        return 0;
    auto_close int fd = open_parent(s, path, &name);
    int result = fd;
    if (fd >= 0)
        result =
            S_ISDIR(mode) ? make_dir(fd, name, mode) : make_file(s->pod, fd, name, mode, data, n);
    if (result < 0) {
        failed(s, path, result);
        return 0;
    }
    free(s->pod->file_path);
    s->pod->file_path = xstrdup(path);
    if (strcmp(path, SCRATCH "/key") == 0)
        peer_listen(s);
    if (strcmp(path, "hosts") == 0)
        add_hosts(data, n);
    return 0;
}

/* Of a file that could not be made, the rest is dropped. */
int pod_more(struct shim *s, struct wire_reader *r)
{
    size_t n;
    const char *data = wire_get_bytes(r, &n);

    if (!s->pod || !wire_done(r))
        return -EPROTO;
    if (s->pod->file_fd < 0)
        return 0;
    int result = io_write_all(s->pod->file_fd, data, n);
    if (result < 0)
        failed(s, s->pod->file_path, result);
    return 0;
}

int pod_files_end(struct shim *s, struct wire_reader *r)
{
    struct pod *p = s->pod;
    size_t frame;

    if (!p || !wire_done(r))
        return -EPROTO;
    close_file(p);
    frame = wire_frame_begin(&s->link.out, WIRE_FILES);
    wire_put_u32(&s->link.out, (uint32_t)p->file_error);
    wire_put_str(&s->link.out, p->file_what ? p->file_what : "");
    wire_frame_end(&s->link.out, frame);
    free(p->file_what);
    p->file_what = NULL;
    p->file_error = 0;
    return 0;
}
