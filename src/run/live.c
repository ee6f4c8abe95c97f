/* live.c - tails logs and writes whole lines.
 *
 * stdout may be anything: a file, a terminal, a pipe nobody reads. Unless it is a regular file, it is
 * written only as far as it takes without blocking (PIPE_BUF bytes after poll says so), and logs are not
 * read while much is waiting to be written: they are files and can wait.
 */
#include "run/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define READ_CHUNK (64 * 1024)
/* Closing an inotify descriptor takes the kernel some ten milliseconds, more than a short run has
 * altogether: so a run begins with looking at its logs, and is watched once it has lasted a while.
 * Where inotify is not to be had, looking goes on. */
#define LOOK_MS 40
#define LOOKS 8

struct source {
    char *name; /* the key; heap */
    char *prefix;
    bool shown, ready;  /* ready: may have grown since it was last read */
    bool over;          /* whoever wrote it has ended */
    int fd;             /* -1 until there is something to read */
    struct strbuf line; /* the line not yet finished */
    struct source *next_ready;
};

struct live {
    int logs_fd;
    char *logs_path;
    unsigned looks;
    bool colour, off, draws_status;
    bool never_blocks; /* stdout: it is a file, and takes what it is given */
    void (*on_activity)(void *ctx, ns_t at);
    void *ctx;
    void *by_name; /* tsearch tree of sources */
    struct source **sources;
    size_t n, cap;
    struct source *ready, **ready_end; /* in the order in which they are read */
    struct strbuf out;
    char *status;
    bool status_drawn;
    int inotify_fd, stdout_epoll;
    uv_poll_t poll, writable;
    uv_timer_t timer;
    bool has_poll, has_writable;
    int n_handles;
};

/* The tree is keyed by the names themselves: a source begins with its name's pointer. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct source *find_source(const struct live *lv, const char *name)
{
    struct source **found = tfind(&name, &lv->by_name, by_name);

    return found ? *found : NULL;
}

static void on_writable(uv_poll_t *poll, int status, int events);

/* --- writing ---------------------------------------------------------------------------------- */

static void view_ends(struct live *lv)
{
    lv->off = true;
    strbuf_truncate(&lv->out, 0);
}

static bool writable_now(int timeout_ms)
{
    struct pollfd pfd = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&pfd, 1, timeout_ms) > 0;
}

/* Writes what goes without blocking; with wait, everything. */
static void write_out(struct live *lv, bool wait)
{
    size_t done = 0;

    while (done < lv->out.len && (lv->never_blocks || writable_now(wait ? -1 : 0))) {
        size_t n = lv->out.len - done;
        if (!lv->never_blocks && n > PIPE_BUF)
            n = PIPE_BUF;
        ssize_t w = write(STDOUT_FILENO, lv->out.buf + done, n);
        if (w < 0 && errno != EINTR && errno != EAGAIN) {
            view_ends(lv);
            return;
        }
        done += w > 0 ? (size_t)w : 0;
    }
    strbuf_consume(&lv->out, done);
    if (lv->has_writable) {
        if (lv->out.len > 0)
            (void)uv_poll_start(&lv->writable, UV_READABLE, on_writable);
        else
            (void)uv_poll_stop(&lv->writable);
    }
}

static void erase_status(struct live *lv)
{
    if (lv->status_drawn)
        (void)io_write_all(STDERR_FILENO, "\r\033[K", 4);
    lv->status_drawn = false;
}

static void draw_status(struct live *lv)
{
    if (!lv->draws_status || !lv->status || lv->out.len > 0)
        return;
    (void)io_write_all(STDERR_FILENO, "\r\033[K", 4);
    (void)io_write_all(STDERR_FILENO, lv->status, strlen(lv->status));
    lv->status_drawn = true;
}

static void show(struct live *lv, bool wait)
{
    if (lv->out.len > 0)
        erase_status(lv);
    write_out(lv, wait);
    draw_status(lv);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void put_line(struct live *lv, const struct source *s, const char *text, size_t n)
{
    if (lv->off)
        return;
    if (lv->colour)
        strbuf_addf(&lv->out, "\033[2m[%s]\033[0m ", s->prefix);
    else
        strbuf_addf(&lv->out, "[%s] ", s->prefix);
    strbuf_add(&lv->out, text, n);
    strbuf_addch(&lv->out, '\n');
}

static void take_text(struct live *lv, struct source *s, const char *p, size_t n)
{
    while (n > 0) {
        const char *nl = memchr(p, '\n', n);
        size_t len = nl ? (size_t)(nl - p) : n;
        if (nl && s->line.len == 0) {
            put_line(lv, s, p, len);
        } else {
            strbuf_add(&s->line, p, len);
            if (nl || s->line.len >= LIMIT_LINE_BYTES) {
                put_line(lv, s, s->line.buf, s->line.len);
                strbuf_truncate(&s->line, 0);
            }
        }
        p += len + (nl != NULL);
        n -= len + (nl != NULL);
    }
}

static bool is_empty(const struct live *lv, const struct source *s)
{
    struct stat st;

    return fstatat(lv->logs_fd, s->name, &st, 0) < 0 || st.st_size == 0;
}

/* Reads one piece; true if there may be more. */
static bool read_some(struct live *lv, struct source *s)
{
    char buf[READ_CHUNK];

    if (s->fd < 0 && !is_empty(lv, s))
        s->fd = openat(lv->logs_fd, s->name, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return false;
    ssize_t n = read(s->fd, buf, sizeof(buf));
    if (n <= 0)
        return false;
    lv->on_activity(lv->ctx, clock_real());
    if (s->shown)
        take_text(lv, s, buf, (size_t)n);
    return n == (ssize_t)sizeof(buf);
}

static void mark_ready(struct live *lv, struct source *s)
{
    if (s->ready)
        return;
    s->ready = true;
    s->next_ready = NULL;
    *(lv->ready ? lv->ready_end : &lv->ready) = s;
    lv->ready_end = &s->next_ready;
}

static void end_line(struct live *lv, struct source *s)
{
    if (s->line.len > 0)
        put_line(lv, s, s->line.buf, s->line.len);
    strbuf_truncate(&s->line, 0);
}

/* Reads in turns; but a log that is over stays first until its end, since what comes after it may be
 * the next start of the same process. */
static void pump(struct live *lv)
{
    while (lv->ready && (lv->out.len < LIMIT_LIVE_BYTES || lv->off)) {
        struct source *s = lv->ready;
        bool more = read_some(lv, s);
        if (more && s->over)
            continue;
        lv->ready = s->next_ready;
        s->ready = false;
        if (more)
            mark_ready(lv, s);
        else if (s->over)
            end_line(lv, s);
    }
    show(lv, false);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct live *lv = poll->data;

    (void)events;
    if (status < 0)
        view_ends(lv);
    pump(lv);
}

static void on_inotify(uv_poll_t *poll, int status, int events)
{
    struct live *lv = poll->data;
    char buf[16 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    (void)status;
    (void)events;
    while ((n = read(lv->inotify_fd, buf, sizeof(buf))) > 0) {
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *ev = (const struct inotify_event *)p;
            struct source *s = ev->len ? find_source(lv, ev->name) : NULL;
            if (s)
                mark_ready(lv, s);
            p += sizeof(*ev) + ev->len;
        }
    }
    pump(lv);
}

static void look(struct live *lv)
{
    for (size_t i = 0; i < lv->n; i++)
        mark_ready(lv, lv->sources[i]);
    pump(lv);
}

static void watch_logs(struct live *lv)
{
    lv->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (lv->inotify_fd < 0 || inotify_add_watch(lv->inotify_fd, lv->logs_path, IN_MODIFY) < 0 ||
        uv_poll_init(lv->timer.loop, &lv->poll, lv->inotify_fd) != 0)
        return;
    lv->poll.data = lv;
    lv->has_poll = true;
    lv->n_handles++;
    (void)uv_poll_start(&lv->poll, UV_READABLE, on_inotify);
    (void)uv_timer_stop(&lv->timer);
}

static void on_look(uv_timer_t *timer)
{
    struct live *lv = timer->data;

    if (++lv->looks == LOOKS)
        watch_logs(lv); /* before the look, so that nothing falls between */
    look(lv);
}

static void on_soon(uv_timer_t *timer)
{
    pump(timer->data);
}

static void read_soon(struct live *lv, struct source *s)
{
    mark_ready(lv, s);
    if (lv->has_poll)
        (void)uv_timer_start(&lv->timer, on_soon, 0, 0);
}

void live_add(struct live *lv, const char *name, const char *prefix, bool shown)
{
    if (find_source(lv, name))
        return;
    struct source *s = xcalloc(1, sizeof(*s));
    *s =
        (struct source){.name = xstrdup(name), .prefix = xstrdup(prefix), .shown = shown, .fd = -1};
    s->line = (struct strbuf)STRBUF_INIT;
    GROW(lv->sources, lv->n, lv->cap);
    lv->sources[lv->n++] = s;
    (void)tsearch(s, &lv->by_name, by_name);
    /* It may have begun before we heard of it, and been silent since: then nothing else calls. */
    read_soon(lv, s);
}

void live_over(struct live *lv, const char *name)
{
    struct source *s = name ? find_source(lv, name) : NULL;

    if (!s)
        return;
    s->over = true;
    read_soon(lv, s);
}

void live_status(struct live *lv, const char *text)
{
    free(lv->status);
    lv->status = text ? xstrdup(text) : NULL;
    if (text)
        draw_status(lv);
    else
        erase_status(lv);
}

void live_finish(struct live *lv)
{
    live_status(lv, NULL);
    for (size_t i = 0; i < lv->n; i++) {
        struct source *s = lv->sources[i];
        bool more = true;
        while (more) {
            more = read_some(lv, s);
            write_out(lv, true);
        }
        end_line(lv, s);
    }
    write_out(lv, true);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static bool stdout_never_blocks(void)
{
    struct stat st;

    if (fstat(STDOUT_FILENO, &st) < 0)
        return false;
    return S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)); /* null */
}

/* libuv would make stdout itself non-blocking, and with it the terminal of our caller's shell: it
 * gets an epoll descriptor that holds stdout instead. Regular files are refused; they never block. */
static void watch_stdout(struct live *lv, uv_loop_t *loop)
{
    struct epoll_event ev = {.events = EPOLLOUT};

    lv->stdout_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (lv->stdout_epoll < 0 ||
        epoll_ctl(lv->stdout_epoll, EPOLL_CTL_ADD, STDOUT_FILENO, &ev) < 0 ||
        uv_poll_init(loop, &lv->writable, lv->stdout_epoll) != 0)
        return;
    lv->writable.data = lv;
    lv->has_writable = true;
    lv->n_handles++;
}

struct live *live_new(uv_loop_t *loop, int logs_fd, const char *logs_path, bool colour,
                      void (*on_activity)(void *ctx, ns_t at), void *ctx)
{
    struct live *lv = xcalloc(1, sizeof(*lv));

    lv->logs_fd = logs_fd;
    lv->logs_path = xstrdup(logs_path);
    lv->inotify_fd = -1;
    lv->colour = colour;
    lv->on_activity = on_activity;
    lv->ctx = ctx;
    lv->draws_status = isatty(STDERR_FILENO);
    lv->never_blocks = stdout_never_blocks();
    lv->out = (struct strbuf)STRBUF_INIT;
    (void)uv_timer_init(loop, &lv->timer);
    lv->timer.data = lv;
    lv->n_handles = 1;
    watch_stdout(lv, loop);
    (void)uv_timer_start(&lv->timer, on_look, LOOK_MS, LOOK_MS);
    return lv;
}

static void keep_source(void *s)
{
    (void)s; /* freed through the array */
}

static void on_closed(uv_handle_t *handle)
{
    struct live *lv = handle->data;

    if (--lv->n_handles == 0)
        free(lv);
}

void live_free(struct live *lv)
{
    if (!lv)
        return;
    tdestroy(lv->by_name, keep_source);
    for (size_t i = 0; i < lv->n; i++) {
        struct source *s = lv->sources[i];
        if (s->fd >= 0)
            (void)close(s->fd);
        strbuf_release(&s->line);
        free(s->name);
        free(s->prefix);
        free(s);
    }
    free(lv->sources);
    free(lv->status);
    free(lv->logs_path);
    strbuf_release(&lv->out);
    uv_close((uv_handle_t *)&lv->timer, on_closed);
    if (lv->has_writable)
        uv_close((uv_handle_t *)&lv->writable, on_closed);
    if (lv->has_poll)
        uv_close((uv_handle_t *)&lv->poll, on_closed);
    if (lv->inotify_fd >= 0)
        (void)close(lv->inotify_fd);
    if (lv->stdout_epoll >= 0)
        (void)close(lv->stdout_epoll);
}
