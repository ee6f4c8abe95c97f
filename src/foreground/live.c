/* live.c - tails logs and shows whole lines. Where and how they are written is screen.c's business.
 *
 * Logs are not read while much is waiting to be written: they are files and can wait.
 */
#include "foreground/live.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "rundir/lines.h"
#include "rundir/marks.h"
#include "foreground/prefix.h"
#include "foreground/screen.h"

#define READ_CHUNK (64 * 1024)
#define PUMP_READS 64 /* in one turn of the loop */
#define BAR_MS                                                                                     \
    1000 /* how often a progress bar becomes a line where it cannot be drawn in place   \
                     */
#define OPEN_LOGS                                                                                  \
    256 /* that are kept open, and a quarter of what may be open; with more of them each is        \
         * opened when it is read */
/* Closing an inotify descriptor takes the kernel some ten milliseconds, more than a short run has
 * altogether: so a run begins with looking at its logs, and is watched once it has lasted a while.
 * Where inotify is not to be had, looking goes on. */
#define LOOK_MS 40
#define LOOKS 8

/* A piece of output that the log could not take. */
struct piece {
    struct piece *next;
    bool is_err;
    size_t n;
    char data[];
};

/* One of a log that was not added yet: that is done after the commit of its start. */
struct early {
    struct early *next;
    char *name;
    struct piece *piece;
};

struct source {
    char *name; /* the key; heap */
    struct live *live;
    struct prefix prefix;
    bool shown, ready; /* ready: may have grown since it was last read */
    bool over;         /* whoever wrote it has ended */
    int fd;            /* -1 until there is something to read */
    uint64_t at;       /* so far it was read */
    int64_t lost;      /* was read, and then truncated */
    struct marks_of *marks;
    struct stream {
        struct source *source;
        bool is_err;
        bool has_bar;
        struct lines lines;
        struct strbuf told; /* the state of a bar that became a line */
    } streams[2];
    struct piece *pieces, **pieces_end;
    struct source *next_ready;
};

struct live {
    char *logs_path;
    struct live_options opts;
    struct screen *screen;
    struct marks *marks;
    unsigned looks;
    bool finishing;
    void *by_name; /* tsearch tree of sources */
    struct source **sources;
    size_t n, cap, open_logs;
    int width;           /* of the longest prefix */
    size_t pieces_bytes; /* waiting in all sources, and early */
    struct early *early, **early_end;
    struct source *ready, **ready_end; /* in the order in which they are read */
    int inotify_fd;
    uv_poll_t poll;
    uv_timer_t timer, bar_timer;
    uv_idle_t again; /* there is more to read than one turn of the loop may take */
    bool has_poll;
    int n_handles;
    char chunk[READ_CHUNK]; /* too large for a small stack */
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

/* --- lines and bars --------------------------------------------------------------------------- */

static void add_prefix(const struct live *lv, const struct stream *st, struct strbuf *out)
{
    if (lv->opts.no_prefix)
        return;
    prefix_add(out, &st->source->prefix, lv->opts.colour[st->is_err],
               screen_is_terminal(lv->screen, st->is_err) ? lv->width : 0);
}

static void put_line(struct stream *st, const char *text, size_t n)
{
    struct live *lv = st->source->live;
    struct strbuf *out = screen_lines(lv->screen, st->is_err);

    if (!out)
        return;
    add_prefix(lv, st, out);
    strbuf_add(out, text, n);
    strbuf_addch(out, '\n');
}

static void on_line(void *ctx, const char *text, size_t n, uint64_t at)
{
    struct stream *st = ctx;
    bool told = st->told.len > 0 && st->told.len == n && memcmp(st->told.buf, text, n) == 0;

    (void)at;
    if (!told)
        put_line(st, text, n);
    strbuf_truncate(&st->told, 0);
}

static void on_bar_timer(uv_timer_t *timer);

/* Shows what has become of a bar after the stream's bytes were read. */
static void show_bar(struct stream *st)
{
    struct live *lv = st->source->live;
    const struct strbuf *bar = lines_progress(&st->lines);
    auto_strbuf struct strbuf row = STRBUF_INIT;

    if (!bar && !st->has_bar)
        return;
    st->has_bar = bar != NULL;
    if (!screen_has_bars(lv->screen, st->is_err)) {
        if (bar && !lv->finishing && !uv_is_active((uv_handle_t *)&lv->bar_timer))
            (void)uv_timer_start(&lv->bar_timer, on_bar_timer, BAR_MS, 0);
        return;
    }
    if (bar) {
        add_prefix(lv, st, &row);
        strbuf_add(&row, bar->buf, bar->len);
    }
    screen_bar(lv->screen, st, bar ? &row : NULL);
}

/* Where bars cannot be drawn in place: a line for each that has moved. */
static void on_bar_timer(uv_timer_t *timer)
{
    struct live *lv = timer->data;
    bool any = false;

    for (size_t i = 0; i < 2 * lv->n; i++) {
        struct stream *st = &lv->sources[i / 2]->streams[i % 2];
        const struct strbuf *bar = st->has_bar ? lines_progress(&st->lines) : NULL;

        if (!bar || screen_has_bars(lv->screen, st->is_err) ||
            (bar->len == st->told.len && memcmp(bar->buf, st->told.buf, bar->len) == 0))
            continue;
        put_line(st, bar->buf, bar->len);
        strbuf_truncate(&st->told, 0);
        strbuf_add(&st->told, bar->buf, bar->len);
        any = true;
    }
    if (any) /* else the next bytes of a bar begin it again */
        (void)uv_timer_start(&lv->bar_timer, on_bar_timer, BAR_MS, 0);
    screen_show(lv->screen);
}

static void end_lines(struct source *s)
{
    for (int i = 0; i < 2; i++) {
        lines_end(&s->streams[i].lines, on_line, &s->streams[i]);
        show_bar(&s->streams[i]);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Each part of what was read to the stream that it came from. */
static void take_text(struct live *lv, struct source *s, const char *p, size_t n)
{
    marks_read(lv->marks);
    while (n > 0) {
        struct mark mark = marks_at(lv->marks, s->marks, s->at);
        size_t len = n < mark.until - s->at ? n : (size_t)(mark.until - s->at);
        struct stream *st = &s->streams[mark.is_err];

        if (s->shown && screen_lines(lv->screen, mark.is_err)) /* else nobody reads it */
            lines_feed(&st->lines, p, len, s->at, on_line, st);
        p += len;
        n -= len;
        s->at += len;
    }
}

static bool take_piece(struct live *lv, struct source *s)
{
    struct piece *p = s->pieces;

    if (!p)
        return false;
    s->pieces = p->next;
    lv->pieces_bytes -= p->n;
    if (s->shown)
        lines_feed(&s->streams[p->is_err].lines, p->data, p->n, s->at, on_line,
                   &s->streams[p->is_err]);
    free(p);
    return s->pieces != NULL;
}

/* Somebody else has truncated it: `: >FILE`. */
static bool is_cut(struct source *s)
{
    struct stat st;

    if (fstat(s->fd, &st) < 0 || (uint64_t)st.st_size >= s->at)
        return false;
    s->lost += (int64_t)(s->at - (uint64_t)st.st_size);
    s->at = 0;
    return true;
}

static ssize_t read_log(struct live *lv, struct source *s, char *buf)
{
    int fd = s->fd >= 0 ? s->fd : lv->opts.open_log(lv->opts.ctx, s->name);
    if (fd < 0)
        return 0;
    s->fd = fd;
    ssize_t n = pread(s->fd, buf, READ_CHUNK, (off_t)s->at);
    if (n == 0 && s->at > 0 && is_cut(s)) /* what comes now is written at its beginning */
        n = pread(s->fd, buf, READ_CHUNK, 0);
    if (lv->n > lv->open_logs)
        close(TAKE_FD(s->fd));
    return n;
}

/* Reads one piece; true if there may be more. */
static bool read_some(struct live *lv, struct source *s)
{
    ssize_t n = read_log(lv, s, lv->chunk);
    bool more = n == READ_CHUNK;

    if (n > 0)
        take_text(lv, s, lv->chunk, (size_t)n);
    else if (s->pieces)
        more = take_piece(lv, s);
    else
        return false;
    lv->opts.on_activity(lv->opts.ctx, clock_run());
    show_bar(&s->streams[0]);
    show_bar(&s->streams[1]);
    return more || s->pieces;
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

static void on_again(uv_idle_t *idle);

/* Reads in turns; but a log that is over stays first until its end, since what comes after it may
 * be the next start of the same process. A process that writes faster than we read must not keep
 * the loop from signals and requests: after some pieces the loop turns. */
static void pump(struct live *lv)
{
    int n = 0;

    while (lv->ready && screen_has_room(lv->screen) && n++ < PUMP_READS) {
        struct source *s = lv->ready;
        bool more = read_some(lv, s);
        if (more && s->over)
            continue;
        lv->ready = s->next_ready;
        s->ready = false;
        if (more)
            mark_ready(lv, s);
        else if (s->over)
            end_lines(s);
    }
    screen_show(lv->screen);
    if (lv->ready && screen_has_room(lv->screen))
        (void)uv_idle_start(&lv->again, on_again);
    else
        (void)uv_idle_stop(&lv->again);
}

static void on_again(uv_idle_t *idle)
{
    pump(idle->data);
}

static void on_drained(void *ctx)
{
    pump(ctx);
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

/* --- output without a log --------------------------------------------------------------------- */

static void add_piece(struct live *lv, struct source *s, struct piece *p)
{
    *(s->pieces ? s->pieces_end : &s->pieces) = p;
    s->pieces_end = &p->next;
    read_soon(lv, s);
}

static void add_early(struct live *lv, const char *name, struct piece *p)
{
    struct early *e = xmalloc(sizeof(*e));

    *e = (struct early){.name = xstrdup(name), .piece = p};
    *(lv->early ? lv->early_end : &lv->early) = e;
    lv->early_end = &e->next;
}

static void early_free(struct early *e)
{
    free(e->piece);
    free(e->name);
    free(e);
}

static void take_early(struct live *lv, struct source *s)
{
    struct early **at = &lv->early;

    while (*at) {
        struct early *e = *at;

        if (strcmp(e->name, s->name) != 0) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        if (s->shown)
            add_piece(lv, s, TAKE_PTR(e->piece));
        else
            lv->pieces_bytes -= e->piece->n;
        early_free(e);
    }
    lv->early_end = at;
}

/* --- what the driver says --------------------------------------------------------------------- */

void live_add(struct live *lv, const char *name, const char *prefix, bool shown)
{
    if (find_source(lv, name))
        return;
    struct source *s = xcalloc(1, sizeof(*s));
    *s = (struct source){.name = xstrdup(name), .live = lv, .shown = shown, .fd = -1};
    for (int i = 0; i < 2; i++)
        s->streams[i] =
            (struct stream){.source = s, .is_err = i, .lines = LINES_INIT, .told = STRBUF_INIT};
    s->marks = marks_of(lv->marks, name);
    prefix_init(&s->prefix, prefix, lv->opts.by_rank);
    if (shown && s->prefix.columns > lv->width && s->prefix.columns <= LIMIT_PREFIX_COLUMNS)
        lv->width = s->prefix.columns;
    GROW(lv->sources, lv->n, lv->cap);
    lv->sources[lv->n++] = s;
    (void)tsearch(s, &lv->by_name, by_name);
    take_early(lv, s);
    /* It may have begun before we heard of it, and been silent since: then nothing else calls. */
    read_soon(lv, s);
}

static uint64_t end_of_lines(int fd)
{
    char chunk[4096];
    struct stat st;
    off_t at = fd >= 0 && fstat(fd, &st) == 0 ? st.st_size : 0;

    while (at > 0) {
        size_t n = at < (off_t)sizeof(chunk) ? (size_t)at : sizeof(chunk);
        const char *nl =
            pread(fd, chunk, n, at - (off_t)n) == (ssize_t)n ? memrchr(chunk, '\n', n) : NULL;

        at -= (off_t)n;
        if (nl)
            return (uint64_t)(at + (nl - chunk) + 1);
    }
    return 0;
}

void live_resume(struct live *lv)
{
    for (size_t i = 0; i < lv->n; i++) {
        auto_close int fd = lv->opts.open_log(lv->opts.ctx, lv->sources[i]->name);

        lv->sources[i]->at = end_of_lines(fd);
    }
}

void live_over(struct live *lv, const char *name)
{
    struct source *s = name ? find_source(lv, name) : NULL;

    if (!s)
        return;
    s->over = true;
    read_soon(lv, s);
}

void live_catch_up(struct live *lv)
{
    look(lv);
}

int64_t live_unlogged(struct live *lv, const struct unlogged *u)
{
    struct source *s = find_source(lv, u->log);

    if (s && !s->shown)
        return 0; /* it is shown elsewhere */
    /* there is no file where it could wait */
    if (u->n == 0 || lv->pieces_bytes + u->n > LIMIT_UNLOGGED_BYTES)
        return u->missing;
    struct piece *p = xmalloc(sizeof(*p) + u->n);
    *p = (struct piece){.is_err = u->is_err, .n = u->n};
    memcpy(p->data, u->data, u->n);
    lv->pieces_bytes += u->n;
    if (s)
        add_piece(lv, s, p);
    else
        add_early(lv, u->log, p);
    return u->missing - (int64_t)u->n;
}

void live_status(struct live *lv, const char *text)
{
    screen_status(lv->screen, text);
}

void live_make_way(struct live *lv)
{
    screen_hide(lv->screen);
}

bool live_takes_errors(const struct live *lv)
{
    return screen_takes_errors(lv->screen);
}

bool live_gave_up(const struct live *lv, bool is_err)
{
    return screen_gave_up(lv->screen, is_err);
}

void live_cut(struct live *lv, void (*found)(void *ctx, const char *log, int64_t bytes), void *ctx)
{
    for (size_t i = 0; i < lv->n; i++) {
        struct source *s = lv->sources[i];
        int fd = s->fd >= 0 ? s->fd : lv->opts.open_log(lv->opts.ctx, s->name);

        if (fd < 0)
            continue;
        s->fd = fd;
        (void)is_cut(s);
        if (lv->n > lv->open_logs)
            close(TAKE_FD(s->fd));
        if (s->lost > 0)
            found(ctx, s->name, s->lost);
    }
}

int live_error(const struct live *lv, bool is_err)
{
    return screen_error(lv->screen, is_err);
}

void live_finish(struct live *lv, bool (*hurried)(void))
{
    lv->finishing = true;
    live_status(lv, NULL);
    for (size_t i = 0; i < lv->n; i++) {
        struct source *s = lv->sources[i];
        bool more = true;
        while (more && !screen_is_off(lv->screen)) {
            more = read_some(lv, s);
            screen_drain(lv->screen, hurried);
        }
        end_lines(s);
    }
    screen_drain(lv->screen, hurried);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static size_t open_logs(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > OPEN_LOGS
               ? OPEN_LOGS
               : limit.rlim_cur / 4;
}

struct live *live_new(uv_loop_t *loop, const struct rundir *rd, const struct live_options *opts)
{
    struct live *lv = xcalloc(1, sizeof(*lv));

    lv->logs_path = xasprintf("%s/logs", rd->path);
    lv->inotify_fd = -1;
    lv->open_logs = open_logs();
    lv->opts = *opts;
    lv->marks = marks_new(rd->fd, false);
    lv->screen = screen_new(loop, !opts->no_status, on_drained, lv);
    (void)uv_timer_init(loop, &lv->timer);
    (void)uv_timer_init(loop, &lv->bar_timer);
    (void)uv_idle_init(loop, &lv->again);
    lv->timer.data = lv->bar_timer.data = lv->again.data = lv;
    lv->n_handles = 3;
    (void)uv_timer_start(&lv->timer, on_look, LOOK_MS, LOOK_MS);
    return lv;
}

static void keep_source(void *s)
{
    (void)s; /* freed through the array */
}

static void source_free(struct source *s)
{
    struct piece *next;

    if (s->fd >= 0)
        (void)close(s->fd);
    for (int i = 0; i < 2; i++) {
        lines_release(&s->streams[i].lines);
        strbuf_release(&s->streams[i].told);
    }
    for (struct piece *p = s->pieces; p; p = next) {
        next = p->next;
        free(p);
    }
    free(s->name);
    prefix_release(&s->prefix);
    free(s);
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
    screen_free(lv->screen);
    tdestroy(lv->by_name, keep_source);
    for (size_t i = 0; i < lv->n; i++)
        source_free(lv->sources[i]);
    free(lv->sources);
    for (struct early *e = lv->early, *next; e; e = next) {
        next = e->next;
        early_free(e);
    }
    free(lv->logs_path);
    marks_free(lv->marks);
    uv_close((uv_handle_t *)&lv->timer, on_closed);
    uv_close((uv_handle_t *)&lv->bar_timer, on_closed);
    uv_close((uv_handle_t *)&lv->again, on_closed);
    if (lv->has_poll)
        uv_close((uv_handle_t *)&lv->poll, on_closed);
    if (lv->inotify_fd >= 0)
        (void)close(lv->inotify_fd);
}
