/* logs.c - parts of a log for the screen: its end, pages back and forth, and what is no log. */
#include "top/logs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"

static int dir = -1;

static void put(const char *name, const char *data, size_t n)
{
    auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)io_write_all(fd, data, n);
}

static void test_pages(void)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct log_window w;

    for (int i = 0; i < 100000; i++)
        strbuf_addf(&text, "line %d\n", i);
    put("big", text.buf, text.len);
    is_int(log_window(a, dir, "big", -1, 10, &w), 0, "the end of a log");
    is_int(w.n, 10, "has the lines that were asked for");
    is_str(w.lines[9], "line 99999", "the last one last");
    is_int(w.size, text.len, "and its size");
    is_int(log_window(a, dir, "big", w.starts[0], 10, &w), 0, "what comes before");
    is_str(w.lines[9], "line 99989", "ends where that began");
    is_int(log_window_after(dir, "big", w.starts[9], 1), w.starts[9] + 11, "a line down");
    is_int(log_window_after(dir, "big", (int64_t)text.len - 3, 5), -1, "and at the end no further");
    is_int(log_window(a, dir, "big", log_window_after(dir, "big", 0, 3), 10, &w), 0,
           "its beginning");
    is_int(w.n, 3, "has no more than there is");
    is_str(w.lines[0], "line 0", "from the first line on");
}

static void test_lines(void)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf huge = STRBUF_INIT;
    struct log_window w;
    static const char bars[] = "start\n 10%\r 20%\r 30%\r\nlast\r\nno end\0x";

    put("bars", bars, sizeof(bars) - 1);
    (void)log_window(a, dir, "bars", -1, 10, &w);
    is_int(w.n, 4, "lines");
    is_str(w.lines[1], " 30%", "of a progress bar the last state");
    is_str(w.lines[2], "last", "without a carriage return");
    is_str(w.lines[3], "no end x", "one without an end, and a NUL ends none");
    is_str(log_last_line(a, dir, "bars"), "no end x", "the last line");
    put("blank", "done\n\n\n", 7);
    is_str(log_last_line(a, dir, "blank"), "done", "that is not empty");
    put("empty", "", 0);
    is_str(log_last_line(a, dir, "empty"), "", "or none");
    (void)log_window(a, dir, "empty", -1, 10, &w);
    is_int(w.n, 0, "an empty log has no line");
    for (int i = 0; i < LIMIT_TOP_CHUNK; i++)
        strbuf_addstr(&huge, "xxxx");
    put("huge", huge.buf, huge.len);
    (void)log_window(a, dir, "huge", -1, 10, &w);
    is_int(w.n, 1, "of a very long line");
    is_int(strlen(w.lines[0]), LIMIT_TOP_CHUNK, "only the end is read");
}

static void test_others(void)
{
    auto_arena struct arena *a = arena_new();
    struct log_window w;

    (void)mkfifoat(dir, "pipe", 0600);
    (void)!symlinkat("big", dir, "link");
    ok(log_window(a, dir, "pipe", -1, 10, &w) < 0, "a pipe is no log, and is not waited for");
    ok(log_window(a, dir, "link", -1, 10, &w) < 0, "a link is not followed");
    is_str(log_last_line(a, dir, "missing"), "", "one that is missing has no line");
}

int main(void)
{
    char path[] = "/tmp/top-logs.XXXXXX";

    if (!mkdtemp(path))
        tap_skip_all("no directory in /tmp");
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    test_pages();
    test_lines();
    test_others();
    (void)io_remove_tree(AT_FDCWD, path, NULL);
    return tap_done();
}
