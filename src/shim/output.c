/* output.c - a process's output, from its pipe into its log.
 *
 * A log is made when there is something to write into it. A process that ends without a word gets a
 * link to one empty file instead: making a file is the most expensive part of starting a small process,
 * and a large gang of silent ones is common.
 *
 * Not here: showing it. muster watches the files. A log that cannot be written (a full disk) does
 * not stop the job: the rest of that output is dropped, and a note says so once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/shim.h"

struct output {
    struct watch watch;
    struct output *prev, *next;
    int pipe_fd, log_fd; /* pipe_fd -1: it has ended; log_fd -1: nothing was written yet */
    bool attached;       /* its process lives and holds this object */
    bool lost;           /* the log cannot be written */
    char *name;
};

static char chunk[64 * 1024];

static void output_free(struct shim *s, struct output *o)
{
    if (o->prev)
        o->prev->next = o->next;
    else
        s->outputs = o->next;
    if (o->next)
        o->next->prev = o->prev;
    if (o->pipe_fd >= 0)
        close(o->pipe_fd);
    if (o->log_fd >= 0)
        close(o->log_fd);
    free(o->name);
    free(o);
}

static int open_log(const struct shim *s, struct output *o)
{
    /* A child that is left may speak after its process has ended: not into everybody's empty file. */
    if (!o->attached)
        (void)unlinkat(s->logs_fd, o->name, 0);
    o->log_fd = output_open_log(s, o->name);
    return o->log_fd < 0 ? o->log_fd : 0;
}

static void to_log(struct shim *s, struct output *o, size_t n)
{
    int r = 0;

    if (o->lost)
        return;
    if (o->log_fd < 0)
        r = open_log(s, o);
    if (r == 0)
        r = io_write_all(o->log_fd, chunk, n);
    if (r < 0) {
        shim_note(s, "cannot write log %s: %s; its output is lost from here on", o->name,
                  strerror(-r));
        o->lost = true;
    }
}

#define EMPTY_LOG ".empty"

static void link_empty_log(const struct shim *s, struct output *o)
{
    if (linkat(s->logs_fd, EMPTY_LOG, s->logs_fd, o->name, 0) == 0)
        return;
    if (errno == ENOENT) { /* the first of them */
        auto_close int fd =
            openat(s->logs_fd, EMPTY_LOG, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd >= 0 && linkat(s->logs_fd, EMPTY_LOG, s->logs_fd, o->name, 0) == 0)
            return;
    }
    (void)open_log(s, o); /* a file system without links, or with too many of this one */
}

/* One read: its bytes, or 0 if there are none (for now, or ever again: pipe_fd is -1). */
static size_t copy(struct shim *s, struct output *o)
{
    ssize_t n = read(o->pipe_fd, chunk, sizeof(chunk));

    if (n > 0) {
        to_log(s, o, (size_t)n);
        return (size_t)n;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close(TAKE_FD(o->pipe_fd));
    return 0;
}

/* What is in the pipe now, and no more: a child that never stops writing must not hold us here. */
static void drain(struct shim *s, struct output *o)
{
    int left = 0;

    if (o->pipe_fd >= 0)
        (void)ioctl(o->pipe_fd, FIONREAD, &left);
    while (left > 0) {
        size_t n = copy(s, o);

        if (n == 0)
            return;
        left -= (int)n;
    }
}

static void output_ready(struct shim *s, struct watch *w)
{
    struct output *o = (struct output *)w;

    (void)copy(s, o);
    if (o->pipe_fd < 0 && !o->attached)
        output_free(s, o);
}

bool output_log_name_ok(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

int output_open_log(const struct shim *s, const char *name)
{
    int fd = openat(s->logs_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : fd;
}

struct output *output_new(struct shim *s, int pipe_fd, const char *name)
{
    struct output *o = xcalloc(1, sizeof(*o));

    *o = (struct output){
        .watch.ready = output_ready,
        .next = s->outputs,
        .pipe_fd = pipe_fd,
        .log_fd = -1,
        .attached = true,
        .name = xstrdup(name),
    };
    if (s->outputs)
        s->outputs->prev = o;
    s->outputs = o;
    if (shim_watch(s, pipe_fd, &o->watch) < 0)
        shim_note(s, "cannot watch the output of %s: %s", name, strerror(errno));
    return o;
}

void output_detach(struct shim *s, struct output *o)
{
    drain(s, o);
    if (o->log_fd < 0 && !o->lost)
        link_empty_log(s, o);
    o->attached = false;
    if (o->pipe_fd < 0)
        output_free(s, o);
}

bool output_reads(const struct shim *s, ino_t inode)
{
    for (const struct output *o = s->outputs; o; o = o->next) {
        struct stat st;

        if (o->pipe_fd >= 0 && fstat(o->pipe_fd, &st) == 0 && st.st_ino == inode)
            return true;
    }
    return false;
}

void outputs_close(struct shim *s)
{
    while (s->outputs) {
        drain(s, s->outputs);
        output_free(s, s->outputs);
    }
}
