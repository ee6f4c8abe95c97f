/* output.c - a process's output, from its two pipes into its log.
 *
 * A log is made when there is something to write into it. A process that ends without a word gets a
 * link to one empty file instead: making a file is the most expensive part of starting a small
 * process, and a large gang of silent ones is common.
 *
 * stdout and stderr have a pipe each and one log. Two pipes do not say which of them was written to
 * first: where both have something, stdout comes first.
 *
 * Not here: showing it. muster watches the files. What a log cannot take (a full disk) goes to
 * muster itself, as far as it keeps up: the job never waits for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/feed.h"
#include "shim/logfile.h"
#include "shim/pipe_in.h"
#include "shim/pod.h"
#include "shim/shim.h"

struct pipe_end {
    struct watch watch; /* first */
    struct output *output;
    int fd; /* -1: it has ended, or there is none */
};

struct output {
    struct output *prev, *next;
    struct pipe_end ends[2]; /* of stdout, of stderr */
    struct logfile log;      /* its fd -1: nothing was written yet, or descriptors ran short */
    struct unlogged unlogged;
    bool attached; /* its process lives and holds this object */
    char *name;
};

static char chunk[64 * 1024];

static void output_free(struct shim *s, struct output *o)
{
    unlogged_tell(s, o->name, &o->unlogged);
    if (o->prev)
        o->prev->next = o->next;
    else
        s->outputs = o->next;
    if (o->next)
        o->next->prev = o->prev;
    for (int i = 0; i < 2; i++) {
        if (o->ends[i].fd >= 0)
            close(o->ends[i].fd);
    }
    if (o->log.fd >= 0)
        close(o->log.fd);
    free(o->name);
    free(o);
}

static bool has_ended(const struct output *o)
{
    return o->ends[0].fd < 0 && o->ends[1].fd < 0;
}

/* --- what no log takes ------------------------------------------------------------------------ */

static void tell_unlogged(struct shim *s, const char *log, struct unlogged *u, bool is_err,
                          const char *data, size_t n)
{
    struct strbuf *out = &s->link.out;
    size_t frame = wire_frame_begin(out, WIRE_UNLOGGED);

    wire_put_str(out, log);
    wire_put_u32(out, (uint32_t)u->error);
    wire_put_u32(out, is_err);
    wire_put_i64(out, u->untold);
    wire_put_bytes(out, data, n);
    wire_frame_end(out, frame);
    u->untold = 0;
}

void unlogged_add(struct shim *s, const char *log, struct unlogged *u, bool is_err, int64_t missing,
                  const char *data, size_t n)
{
    u->untold += missing;
    if (s->link.out.len - s->link.out_done <= LIMIT_UNLOGGED_BYTES)
        tell_unlogged(s, log, u, is_err, data, n);
}

void unlogged_tell(struct shim *s, const char *log, struct unlogged *u)
{
    if (u->untold > 0)
        tell_unlogged(s, log, u, false, "", 0);
}

/* --- the log ---------------------------------------------------------------------------------- */

int output_marks_fd(struct shim *s)
{
    if (s->marks_fd == 0)
        s->marks_fd = io_open_regular(s->logs_fd, "../marks", O_WRONLY | O_APPEND | O_CREAT, 0600);
    return s->marks_fd;
}

bool output_spare_fd(struct shim *s)
{
    for (struct output *o = s->outputs; o; o = o->next) {
        if (o->log.fd >= 0) {
            close(TAKE_FD(o->log.fd));
            return true;
        }
    }
    return false;
}

static int open_log(struct shim *s, struct output *o)
{
    int fd;

    /* A child that is left may speak after its process has ended: not into everybody's empty file.
     */
    if (!o->attached && o->log.size == 0)
        (void)unlinkat(s->logs_fd, o->name, 0);
    do
        fd = output_open_log(s, o->name);
    while (fd == -EMFILE && output_spare_fd(s));
    if (fd >= 0)
        logfile_begin(&o->log, fd, output_marks_fd(s));
    return fd < 0 ? fd : 0;
}

static void to_log(struct shim *s, struct output *o, bool is_err, size_t n)
{
    size_t done;

    if (!o->log.error && o->log.fd < 0)
        o->log.error = open_log(s, o);
    done = logfile_write(&o->log, is_err, chunk, n);
    pod_show(s, chunk, n);
    if (done == n)
        return;
    o->unlogged.error = o->log.error;
    unlogged_add(s, o->name, &o->unlogged, is_err, (int64_t)(n - done), chunk + done, n - done);
}

#define EMPTY_LOG ".empty"

static void link_empty_log(struct shim *s, struct output *o)
{
    if (linkat(s->logs_fd, EMPTY_LOG, s->logs_fd, o->name, 0) == 0)
        return;
    if (errno == ENOENT) { /* the first of them */
        auto_close int fd = io_open_regular(s->logs_fd, EMPTY_LOG, O_WRONLY | O_CREAT, 0600);

        if (fd >= 0 && linkat(s->logs_fd, EMPTY_LOG, s->logs_fd, o->name, 0) == 0)
            return;
    }
    (void)open_log(s, o); /* a file system without links, or with too many of this one */
}

/* --- the pipes -------------------------------------------------------------------------------- */

struct copying { /* of one pipe */
    struct shim *s;
    struct pipe_end *end;
};

static size_t copy(void *ctx)
{
    const struct copying *c = ctx;
    size_t n = pipe_take(&c->end->fd, chunk, sizeof(chunk));

    if (n > 0)
        to_log(c->s, c->end->output, c->end == &c->end->output->ends[1], n);
    return n;
}

static void drain(struct shim *s, struct pipe_end *end)
{
    pipe_drain(end->fd, copy, &(struct copying){s, end});
}

static void output_ready(struct shim *s, struct watch *w)
{
    struct pipe_end *end = (struct pipe_end *)w;
    struct output *o = end->output;

    if (end == &o->ends[1])
        drain(s, &o->ends[0]);
    (void)copy(&(struct copying){s, end});
    if (has_ended(o) && !o->attached)
        output_free(s, o);
}

bool output_log_name_ok(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

int output_open_log(struct shim *s, const char *name)
{
    feed_add(s, name);
    return io_open_regular(s->logs_fd, name, O_WRONLY | O_APPEND | O_CREAT, 0600);
}

struct output *output_new(struct shim *s, const int fds[2], const char *name)
{
    struct output *o = xcalloc(1, sizeof(*o));

    *o = (struct output){.next = s->outputs, .attached = true, .name = xstrdup(name)};
    o->log = (struct logfile){.name = o->name, .fd = -1, .marks_fd = -1};
    if (s->outputs)
        s->outputs->prev = o;
    s->outputs = o;
    for (int i = 0; i < 2; i++) {
        o->ends[i] = (struct pipe_end){.watch.ready = output_ready, .output = o, .fd = fds[i]};
        if (fds[i] >= 0 && shim_watch(s, fds[i], &o->ends[i].watch) < 0)
            shim_note(s, "cannot watch the output of %s: %s", name, strerror(errno));
    }
    return o;
}

static void drain_both(struct shim *s, struct output *o)
{
    drain(s, &o->ends[0]);
    drain(s, &o->ends[1]);
}

void output_detach(struct shim *s, struct output *o)
{
    drain_both(s, o);
    if (o->log.size == 0 && o->log.fd < 0 && !o->log.error)
        link_empty_log(s, o);
    unlogged_tell(s, o->name, &o->unlogged);
    o->attached = false;
    if (has_ended(o))
        output_free(s, o);
}

static bool is_pipe(int fd, ino_t inode)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == inode;
}

bool output_reads(const struct shim *s, ino_t inode)
{
    for (const struct output *o = s->outputs; o; o = o->next) {
        if (is_pipe(o->ends[0].fd, inode) || is_pipe(o->ends[1].fd, inode))
            return true;
    }
    return false;
}

void outputs_close(struct shim *s)
{
    while (s->outputs) {
        drain_both(s, s->outputs);
        output_free(s, s->outputs);
    }
}
