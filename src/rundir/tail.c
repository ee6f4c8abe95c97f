/* tail.c - the end of a log, or its beginning, bounded. */
#include "rundir/tail.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "rundir/lines.h"

/* Where the last LIMIT_TAIL_LINES lines of the text begin, which does not end with a newline. */
static size_t last_lines(const char *text, size_t n)
{
    size_t lines = 0;

    while (n > 0) {
        if (text[n - 1] == '\n' && ++lines == LIMIT_TAIL_LINES)
            return n;
        n--;
    }
    return 0;
}

static void on_line(void *ctx, const char *text, size_t n, uint64_t at)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;

    (void)at;
    strbuf_add_escaped(&line, text, n);
    strvec_push(ctx, line.buf);
}

static void add_lines(const char *text, size_t n, struct strvec *ret)
{
    CLEANUP(lines_release) struct lines lines = LINES_INIT;

    lines_feed(&lines, text, n, 0, on_line, ret);
    lines_end(&lines, on_line, ret);
}

void log_head(int logs_fd, const char *name, struct strvec *ret)
{
    char buf[LIMIT_TAIL_BYTES];
    auto_close int fd = io_open_regular(logs_fd, name, O_RDONLY, 0);
    ssize_t got = fd >= 0 ? pread(fd, buf, sizeof(buf), 0) : 0;

    add_lines(buf, got > 0 ? (size_t)got : 0, ret);
}

bool log_tail(int logs_fd, const char *name, struct strvec *ret)
{
    char buf[LIMIT_TAIL_BYTES];
    struct stat st;
    auto_close int fd = io_open_regular(logs_fd, name, O_RDONLY, 0);

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    off_t from = st.st_size > (off_t)sizeof(buf) ? st.st_size - (off_t)sizeof(buf) : 0;
    ssize_t got = pread(fd, buf, sizeof(buf), from);
    size_t n = got > 0 ? (size_t)got : 0;
    while (n > 0 && buf[n - 1] == '\n')
        n--;
    size_t first = last_lines(buf, n);
    add_lines(buf + first, n - first, ret);
    return from > 0 && first == 0;
}
