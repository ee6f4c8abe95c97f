/* screen.c - see screen.h. */
#include "foreground/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

struct sink {
    struct screen *screen;
    int fd;
    bool off;          /* nobody reads it */
    bool gave_up;      /* somebody could, and did not */
    int error;         /* why it takes no more: a file without room; or 0 */
    bool is_own;       /* fd was opened by us */
    bool never_blocks; /* it is a file, and takes what it is given */
    bool is_terminal;
    struct strbuf out;
    int epoll_fd;
    uv_poll_t writable;
    bool has_writable;
};

struct bar {
    const void *key;
    struct strbuf text;
};

struct screen {
    void (*drained)(void *ctx);
    void *ctx;
    struct sink sinks[2];
    struct sink *to[2];  /* of stdout and stderr; the first for both if they are the same */
    struct sink *bottom; /* that has bars, or NULL */
    bool has_status;     /* at the bottom */
    bool stale;          /* what is drawn is not what should be */
    int n_drawn;         /* lines at the bottom */
    struct bar *bars;
    size_t n_bars, cap_bars;
    char *status; /* or NULL */
    uv_signal_t winch;
    bool has_winch;
    int n_handles;
};

#define DRAIN_LOOK_MS 100 /* how soon a signal is heard while somebody is waited for */

static void on_writable(uv_poll_t *poll, int status, int events);

/* --- lines ------------------------------------------------------------------------------------ */

static bool writable_now(int fd, int timeout_ms)
{
    struct pollfd pfd = {.fd = fd, .events = POLLOUT};

    return poll(&pfd, 1, timeout_ms) > 0;
}

static void sink_ends(struct sink *k)
{
    k->off = true;
    strbuf_release(&k->out);
}

/* PIPE_BUF bytes after poll() says so do not block, except on a terminal that is not our own. */
static void write_sink(struct sink *k)
{
    size_t done = 0;

    while (done < k->out.len && (k->never_blocks || writable_now(k->fd, 0))) {
        size_t n = k->out.len - done;
        if (!k->never_blocks && n > PIPE_BUF)
            n = PIPE_BUF;
        ssize_t w = write(k->fd, k->out.buf + done, n);
        if (w < 0 && errno != EINTR && errno != EAGAIN) {
            k->error = errno == EPIPE ? 0 : errno; /* `| head` has seen enough */
            sink_ends(k);
            break;
        }
        done += w > 0 ? (size_t)w : 0;
    }
    strbuf_consume(&k->out, k->off ? 0 : done);
    if (!k->has_writable)
        return;
    if (k->out.len > 0)
        (void)uv_poll_start(&k->writable, UV_READABLE, on_writable);
    else
        (void)uv_poll_stop(&k->writable);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct sink *k = poll->data;

    (void)events;
    if (status < 0)
        sink_ends(k);
    screen_show(k->screen);
    k->screen->drained(k->screen->ctx);
}

/* In front of what waits, some of which may be half written: only if nothing does. */
static bool write_at_once(struct sink *k, const struct strbuf *text)
{
    if (k->off || k->out.len > 0 || (!k->never_blocks && !writable_now(k->fd, 0)))
        return false;
    strbuf_add(&k->out, text->buf, text->len);
    write_sink(k);
    return true;
}

bool screen_has_room(const struct screen *sc)
{
    return sc->to[0]->out.len < LIMIT_LIVE_BYTES && sc->to[1]->out.len < LIMIT_LIVE_BYTES;
}

struct strbuf *screen_lines(struct screen *sc, bool is_err)
{
    return sc->to[is_err]->off ? NULL : &sc->to[is_err]->out;
}

bool screen_is_terminal(const struct screen *sc, bool is_err)
{
    return sc->to[is_err]->is_terminal;
}

/* --- the bottom ------------------------------------------------------------------------------- */

static void add_erase(struct screen *sc, struct strbuf *out)
{
    if (sc->n_drawn > 1)
        strbuf_addf(out, "\r\033[%dA\033[J", sc->n_drawn - 1);
    else if (sc->n_drawn == 1)
        strbuf_addstr(out, "\r\033[K");
    sc->n_drawn = 0;
}

static void add_row(struct screen *sc, struct strbuf *out, const char *text, size_t n, int columns)
{
    if (sc->n_drawn++ > 0)
        strbuf_addstr(out, "\r\n");
    screen_cut(out, text, n, columns);
}

static void add_rows(struct screen *sc, struct strbuf *out)
{
    struct winsize ws = {0};
    size_t most = LIMIT_LIVE_ROWS;

    (void)ioctl(sc->bottom->fd, TIOCGWINSZ, &ws);
    /* the last column is left free: many terminals wrap there */
    int columns = ws.ws_col ? ws.ws_col - 1 : 79;
    if (ws.ws_row && most + 2 > ws.ws_row)
        most = ws.ws_row > 3 ? ws.ws_row - 2 : 1;
    for (size_t i = 0; i < sc->n_bars && i < most; i++)
        add_row(sc, out, sc->bars[i].text.buf, sc->bars[i].text.len, columns);
    if (sc->has_status && sc->status)
        add_row(sc, out, sc->status, strlen(sc->status), columns);
}

/* In the background the bottom of the terminal is the shell's. */
static bool is_in_background(int fd)
{
    pid_t group = tcgetpgrp(fd);

    return group > 0 && group != getpgrp();
}

/* Draws only below what is complete, and only if the terminal takes it (Ctrl-S). */
static void draw(struct screen *sc)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!sc->stale || !sc->bottom || sc->bottom->off || sc->bottom->out.len > 0 ||
        !writable_now(sc->bottom->fd, 0) || is_in_background(sc->bottom->fd))
        return;
    add_erase(sc, &text);
    add_rows(sc, &text);
    (void)write_at_once(sc->bottom, &text);
    sc->stale = false;
}

/* What waits was added after the bottom was drawn, and goes over it. */
void screen_hide(struct screen *sc)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (sc->n_drawn == 0)
        return;
    add_erase(sc, &text);
    strbuf_add(&text, sc->bottom->out.buf, sc->bottom->out.len);
    strbuf_truncate(&sc->bottom->out, 0);
    strbuf_add(&sc->bottom->out, text.buf, text.len);
    write_sink(sc->bottom);
    sc->stale = true;
}

void screen_show(struct screen *sc)
{
    if (sc->bottom && sc->bottom->out.len > 0 && writable_now(sc->bottom->fd, 0))
        screen_hide(sc);
    write_sink(sc->to[0]);
    if (sc->to[1] != sc->to[0])
        write_sink(sc->to[1]);
    draw(sc);
}

static void drain(struct sink *k, bool (*hurried)(void))
{
    ns_t deadline = clock_mono() + LIMIT_DRAIN_MS * NS_PER_MS;

    while (!k->off && k->out.len > 0) {
        size_t before = k->out.len;

        (void)writable_now(k->fd,
                           DRAIN_LOOK_MS); /* a signal does not end the wait: it is blocked */
        write_sink(k);
        if (k->out.len < before) {
            deadline = clock_mono() + LIMIT_DRAIN_MS * NS_PER_MS;
        } else if (hurried() || clock_mono() > deadline) {
            k->gave_up = true;
            sink_ends(k);
        }
    }
}

void screen_drain(struct screen *sc, bool (*hurried)(void))
{
    screen_show(sc);
    drain(sc->to[0], hurried);
    if (sc->to[1] != sc->to[0])
        drain(sc->to[1], hurried);
}

bool screen_gave_up(const struct screen *sc, bool is_err)
{
    return sc->to[is_err]->gave_up;
}

int screen_error(const struct screen *sc, bool is_err)
{
    return sc->to[is_err]->error;
}

bool screen_is_off(const struct screen *sc)
{
    return sc->to[0]->off && sc->to[1]->off;
}

bool screen_takes_errors(const struct screen *sc)
{
    return writable_now(sc->to[1]->fd, 0);
}

bool screen_has_bars(const struct screen *sc, bool is_err)
{
    return sc->bottom && sc->to[is_err] == sc->bottom;
}

void screen_bar(struct screen *sc, const void *key, const struct strbuf *text)
{
    size_t i = 0;

    while (i < sc->n_bars && sc->bars[i].key != key)
        i++;
    if (!text && i == sc->n_bars)
        return;
    sc->stale = true;
    if (!text) {
        strbuf_release(&sc->bars[i].text);
        memmove(&sc->bars[i], &sc->bars[i + 1], (--sc->n_bars - i) * sizeof(*sc->bars));
        return;
    }
    if (i == sc->n_bars) {
        GROW(sc->bars, sc->n_bars, sc->cap_bars);
        sc->bars[sc->n_bars++] = (struct bar){.key = key, .text = STRBUF_INIT};
    }
    strbuf_truncate(&sc->bars[i].text, 0);
    strbuf_add(&sc->bars[i].text, text->buf, text->len);
}

void screen_status(struct screen *sc, const char *text)
{
    if (!sc->has_status)
        return;
    free(sc->status);
    sc->status = text ? xstrdup(text) : NULL;
    sc->stale = true;
    draw(sc);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static bool is_dumb(void)
{
    const char *term = getenv("TERM");

    return term && strcmp(term, "dumb") == 0;
}

static bool never_blocks(const struct stat *st)
{
    return S_ISREG(st->st_mode) ||
           (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3)); /* null */
}

/* libuv would make the descriptor itself non-blocking, and with it the terminal of our caller's
 * shell: it gets an epoll descriptor that holds it instead. Regular files are refused; they never
 * block. */
static void watch_sink(struct sink *k, uv_loop_t *loop)
{
    struct epoll_event ev = {.events = EPOLLOUT};

    k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (k->epoll_fd < 0 || epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, k->fd, &ev) < 0 ||
        uv_poll_init(loop, &k->writable, k->epoll_fd) != 0)
        return;
    k->writable.data = k;
    k->has_writable = true;
    k->screen->n_handles++;
}

/* A terminal takes less than it says when it is written to with blocking. A socket cannot be
 * opened, nor another user's pipe; they are written to as they are. */
static void own_descriptor(struct sink *k, const struct stat *st)
{
    char path[32];
    int fd;

    if (!S_ISCHR(st->st_mode) && !S_ISFIFO(st->st_mode))
        return;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k->fd);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    k->fd = fd;
    k->is_own = true;
}

static bool are_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_rdev == b->st_rdev;
}

static void open_sinks(struct screen *sc, uv_loop_t *loop)
{
    struct stat st[2] = {0};

    for (int i = 0; i < 2; i++) {
        struct sink *k = &sc->sinks[i];

        *k = (struct sink){
            .screen = sc, .fd = STDOUT_FILENO + i, .out = STRBUF_INIT, .epoll_fd = -1};
        if (fstat(k->fd, &st[i]) < 0)
            k->off = true;
        k->never_blocks = never_blocks(&st[i]);
        k->is_terminal = isatty(k->fd);
        if (!k->off && !k->never_blocks)
            own_descriptor(k, &st[i]);
        sc->to[i] = k;
    }
    if (!sc->sinks[0].off && are_same(&st[0], &st[1]))
        sc->to[1] = sc->to[0]; /* one queue keeps the order of lines */
    else
        watch_sink(sc->to[1], loop);
    watch_sink(sc->to[0], loop);
}

static void on_winch(uv_signal_t *handle, int sig)
{
    struct screen *sc = handle->data;

    (void)sig;
    sc->stale = true;
    draw(sc);
}

static void find_bottom(struct screen *sc, uv_loop_t *loop, bool status)
{
    const struct sink *out = &sc->sinks[0], *err = &sc->sinks[1];

    if (is_dumb())
        return;
    if (err->is_terminal && (sc->to[1] == sc->to[0] || out->never_blocks)) {
        sc->bottom = sc->to[1];
        sc->has_status = status;
    } else if (out->is_terminal) {
        sc->bottom = sc->to[0];
    }
    if (!sc->bottom || uv_signal_init(loop, &sc->winch) != 0)
        return;
    sc->winch.data = sc;
    sc->has_winch = true;
    sc->n_handles++;
    (void)uv_signal_start(&sc->winch, on_winch, SIGWINCH);
}

struct screen *screen_new(uv_loop_t *loop, bool status, void (*drained)(void *ctx), void *ctx)
{
    struct screen *sc = xcalloc(1, sizeof(*sc));

    sc->drained = drained;
    sc->ctx = ctx;
    open_sinks(sc, loop);
    find_bottom(sc, loop, status);
    return sc;
}

static void free_last(struct screen *sc)
{
    if (sc->n_handles == 0)
        free(sc);
}

static void on_sink_closed(uv_handle_t *handle)
{
    struct sink *k = handle->data;

    k->screen->n_handles--;
    free_last(k->screen);
}

static void on_winch_closed(uv_handle_t *handle)
{
    struct screen *sc = handle->data;

    sc->n_handles--;
    free_last(sc);
}

void screen_free(struct screen *sc)
{
    for (int i = 0; i < 2; i++) {
        struct sink *k = &sc->sinks[i];

        strbuf_release(&k->out);
        if (k->has_writable)
            uv_close((uv_handle_t *)&k->writable, on_sink_closed);
        if (k->epoll_fd >= 0)
            (void)close(k->epoll_fd);
        if (k->is_own)
            (void)close(k->fd);
    }
    for (size_t i = 0; i < sc->n_bars; i++)
        strbuf_release(&sc->bars[i].text);
    free(sc->bars);
    free(sc->status);
    if (sc->has_winch)
        uv_close((uv_handle_t *)&sc->winch, on_winch_closed);
    else
        free_last(sc);
}
