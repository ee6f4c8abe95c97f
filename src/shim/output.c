/* output.c - a process's output, from its pipe into its log.
 *
 * Not here: showing it. muster watches the files. A log that cannot be written (a full disk) does
 * not stop the job: the rest of that output is dropped, and a note says so once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/shim.h"

struct output {
    struct watch watch;
    struct output *prev, *next;
    int pipe_fd, log_fd; /* pipe_fd -1: it has ended */
    bool attached;       /* its process lives and holds this object */
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

static void to_log(struct shim *s, struct output *o, size_t n)
{
    int r;

    if (o->log_fd < 0)
        return;
    r = io_write_all(o->log_fd, chunk, n);
    if (r < 0) {
        shim_note(s, "cannot write log %s: %s; its output is lost from here on", o->name,
                  strerror(-r));
        close(TAKE_FD(o->log_fd));
    }
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

int output_open_log(const struct shim *s, const char *name)
{
    int fd;

    if (!*name || strchr(name, '/'))
        return -EINVAL;
    fd = openat(s->logs_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : fd;
}

struct output *output_new(struct shim *s, int pipe_fd, int log_fd, const char *name)
{
    struct output *o = xcalloc(1, sizeof(*o));

    *o = (struct output){
        .watch.ready = output_ready,
        .next = s->outputs,
        .pipe_fd = pipe_fd,
        .log_fd = log_fd,
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
    o->attached = false;
    if (o->pipe_fd < 0)
        output_free(s, o);
}

void outputs_close(struct shim *s)
{
    while (s->outputs) {
        drain(s, s->outputs);
        output_free(s, s->outputs);
    }
}
