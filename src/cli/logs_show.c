/* logs_show.c - see logs_show.h. */
#include "cli/logs_show.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"

#define CHUNK (64 * 1024)

void shown_log_init(struct shown_log *log, const char *name, const char *prefix)
{
    *log = (struct shown_log){.name = xstrdup(name), .prefix = xstrdup(prefix)};
    for (int i = 0; i < 2; i++)
        log->streams[i] = (struct shown_stream){.lines = LINES_INIT, .told = STRBUF_INIT};
}

void shown_log_release(struct shown_log *log)
{
    free(log->name);
    free(log->prefix);
    for (int i = 0; i < 2; i++) {
        lines_release(&log->streams[i].lines);
        strbuf_release(&log->streams[i].told);
    }
}

/* Looks for newlines from the end; the one that ends the text begins no line. */
void shown_log_tail(struct shown_log *log, int logs_fd, int64_t lines)
{
    auto_close int fd = io_open_regular(logs_fd, log->name, O_RDONLY, 0);
    auto_free char *buf = xmalloc(CHUNK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    log->at = st.st_size;
    for (off_t at = st.st_size; at > 0 && lines > 0;) {
        size_t n = at < CHUNK ? (size_t)at : CHUNK;

        at -= (off_t)n;
        if (pread(fd, buf, n, at) != (ssize_t)n)
            return;
        while (n > 0 && lines > 0) {
            n--;
            if (buf[n] == '\n' && at + (off_t)n + 1 < st.st_size && --lines == 0)
                break;
            log->at = at + (off_t)n;
        }
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

struct showing {
    struct shown_log *log;
    struct shown_stream *stream;
    const struct show_how *how;
    int64_t ms; /* of the bytes being fed; 0: unknown */
};

static void put_line(const struct showing *sh, const char *text, size_t n)
{
    const struct show_how *how = sh->how;
    char time[CLOCK_TEXT];

    if (how->regex) {
        auto_free char *line = xstrndup(text, n);
        if (regexec(how->regex, line, 0, NULL, 0) != 0)
            return;
    }
    if (how->timestamps)
        (void)printf("%s ", sh->ms ? clock_rfc3339(sh->ms * NS_PER_MS, time) : "-");
    if (how->prefixed)
        (void)fputs(sh->log->prefix, stdout);
    (void)fwrite(text, 1, n, stdout);
    (void)putchar('\n');
}

static bool was_told(const struct shown_stream *st, const char *text, size_t n)
{
    return st->told.len > 0 && st->told.len == n && memcmp(st->told.buf, text, n) == 0;
}

static void on_line(void *ctx, const char *text, size_t n, uint64_t at)
{
    const struct showing *sh = ctx;

    (void)at;
    if (!was_told(sh->stream, text, n))
        put_line(sh, text, n);
    strbuf_truncate(&sh->stream->told, 0);
}

/* A line has the time of the bytes that completed it. */
static void feed(struct showing *sh, struct marks *marks, const char *p, size_t n)
{
    struct shown_log *log = sh->log;
    uint64_t at = (uint64_t)log->at;

    if (!log->marks)
        log->marks = marks_of(marks, log->name);
    marks_read(marks);
    while (n > 0) {
        struct mark mark = marks_at(marks, log->marks, at);
        size_t len = n < mark.until - at ? n : (size_t)(mark.until - at);

        sh->stream = &log->streams[mark.is_err];
        sh->ms = mark.ms;
        lines_feed(&sh->stream->lines, p, len, at, on_line, sh);
        p += len;
        n -= len;
        at += len;
    }
}

static bool is_plain(const struct show_how *how)
{
    return !how->prefixed && !how->regex && !how->timestamps;
}

bool shown_log_more(struct shown_log *log, int logs_fd, struct marks *marks,
                    const struct show_how *how)
{
    auto_close int fd = io_open_regular(logs_fd, log->name, O_RDONLY, 0);
    auto_free char *buf = xmalloc(CHUNK);
    struct showing sh = {.log = log, .how = how};
    ssize_t n;

    while (fd >= 0 && (n = pread(fd, buf, CHUNK, log->at)) > 0) {
        if (is_plain(how))
            (void)fwrite(buf, 1, (size_t)n, stdout);
        else
            feed(&sh, marks, buf, (size_t)n);
        log->at += n;
        if (ferror(stdout))
            return false;
    }
    return true;
}

int64_t shown_log_next(struct shown_log *log, struct marks *marks)
{
    if (!log->marks)
        log->marks = marks_of(marks, log->name);
    marks_read(marks);
    return marks_at(marks, log->marks, (uint64_t)log->at).ms;
}

bool shown_log_step(struct shown_log *log, int logs_fd, struct marks *marks,
                    const struct show_how *how)
{
    auto_close int fd = io_open_regular(logs_fd, log->name, O_RDONLY, 0);
    auto_free char *buf = xmalloc(CHUNK);
    struct showing sh = {.log = log, .how = how};
    int64_t ms = shown_log_next(log, marks);
    ssize_t n;

    do {
        struct mark mark = marks_at(marks, log->marks, (uint64_t)log->at);
        uint64_t most = mark.until - (uint64_t)log->at;

        n = fd < 0 ? 0 : pread(fd, buf, most < CHUNK ? (size_t)most : CHUNK, log->at);
        if (n <= 0 || ferror(stdout))
            return false;
        feed(&sh, marks, buf, (size_t)n);
        log->at += n;
    } while (ms && shown_log_next(log, marks) == ms);
    return true;
}

static void begin(struct showing *sh, struct shown_log *log, int stream, struct marks *marks)
{
    sh->stream = &log->streams[stream];
    if (log->marks)
        sh->ms = marks_at(marks, log->marks, (uint64_t)log->at).ms;
}

void shown_log_bars(struct shown_log *log, struct marks *marks, const struct show_how *how)
{
    struct showing sh = {.log = log, .how = how};

    for (int i = 0; i < 2; i++) {
        const struct strbuf *bar = lines_progress(&log->streams[i].lines);

        if (!bar || was_told(&log->streams[i], bar->buf, bar->len))
            continue;
        begin(&sh, log, i, marks);
        put_line(&sh, bar->buf, bar->len);
        strbuf_truncate(&sh.stream->told, 0);
        strbuf_add(&sh.stream->told, bar->buf, bar->len);
    }
}

void shown_log_end(struct shown_log *log, struct marks *marks, const struct show_how *how)
{
    struct showing sh = {.log = log, .how = how};

    for (int i = 0; i < 2; i++) {
        begin(&sh, log, i, marks);
        lines_end(&log->streams[i].lines, on_line, &sh);
    }
}
