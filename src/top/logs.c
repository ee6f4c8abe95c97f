/* logs.c - see logs.h. */
#include "top/logs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"

#define LAST_BYTES 4096 /* in which the last line is looked for */

static int open_log(int logs_fd, const char *name, int64_t *ret_size)
{
    auto_close int fd = io_open_regular(logs_fd, name, O_RDONLY, 0);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    *ret_size = st.st_size;
    return TAKE_FD(fd);
}

/* Without its end, and of a progress bar the last state. */
static const char *line_text(struct arena *a, const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == '\r')
        n--;
    const char *cr = n ? memrchr(p, '\r', n) : NULL;
    if (cr) {
        n -= (size_t)(cr + 1 - p);
        p = cr + 1;
    }
    char *text = arena_strndup(a, p, n);
    for (size_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' '; /* a NUL would end it */
    return text;
}

int log_window(struct arena *a, int logs_fd, const char *name, int64_t end, size_t most,
               struct log_window *ret)
{
    int64_t size = 0;
    auto_close int fd = open_log(logs_fd, name, &size);

    if (fd < 0)
        return fd;
    end = end < 0 || end > size ? size : end;
    size_t want = end > LIMIT_TOP_CHUNK ? LIMIT_TOP_CHUNK : (size_t)end;
    auto_free char *buf = xmalloc(want + 1);
    const char **lines = ARENA_ARRAY(a, const char *, most + 1);
    int64_t *starts = ARENA_ARRAY(a, int64_t, most + 1), from = end - (int64_t)want;
    ssize_t got = pread(fd, buf, want, from);
    size_t left = got > 0 ? (size_t)got : 0, n = 0;

    if (left > 0 && buf[left - 1] == '\n')
        left--;
    else if (left == 0)
        most = 0;
    for (bool more = true; more && n < most; n++) {
        const char *nl = left ? memrchr(buf, '\n', left) : NULL;
        size_t start = nl ? (size_t)(nl + 1 - buf) : 0;

        lines[most - 1 - n] = line_text(a, buf + start, left - start);
        starts[most - 1 - n] = from + (int64_t)start;
        more = nl != NULL;
        left = nl ? (size_t)(nl - buf) : 0;
    }
    *ret = (struct log_window){
        .lines = lines + (most - n), .starts = starts + (most - n), .n = n, .size = size};
    return 0;
}

int64_t log_window_after(int logs_fd, const char *name, int64_t at, size_t lines)
{
    int64_t size = 0;
    auto_close int fd = open_log(logs_fd, name, &size);
    auto_free char *buf = xmalloc(LIMIT_TOP_CHUNK);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, LIMIT_TOP_CHUNK, at);
    const char *p = buf, *end = buf + (n > 0 ? n : 0);

    for (; p < end && lines > 0; lines--) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        p = nl ? nl + 1 : end;
    }
    at += p - buf;
    return n <= 0 || at >= size ? -1 : at;
}

const char *log_last_line(struct arena *a, int logs_fd, const char *name)
{
    char buf[LAST_BYTES];
    int64_t size = 0;
    auto_close int fd = open_log(logs_fd, name, &size);
    int64_t from = size > LAST_BYTES ? size - LAST_BYTES : 0;
    ssize_t got = fd < 0 ? -1 : pread(fd, buf, sizeof(buf), from);
    size_t n = got > 0 ? (size_t)got : 0;

    while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == '\r' || buf[n - 1] == ' '))
        n--;
    const char *nl = n ? memrchr(buf, '\n', n) : NULL;
    size_t start = nl ? (size_t)(nl + 1 - buf) : 0;
    return line_text(a, buf + start, n - start);
}
