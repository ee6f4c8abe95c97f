/* Marks: which stream, from when, up to where; and files that hold something else. */
#include "rundir/marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"

static char top[] = "/tmp/muster-marks.XXXXXX";
static int dir_fd;

static void append(const char *text)
{
    auto_close int fd = openat(dir_fd, MARKS_NAME, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    ok(io_write_all(fd, text, strlen(text)) == 0, "written");
}

static const char *at(struct marks *m, const char *log, uint64_t offset)
{
    static char text[64];
    struct mark mark = marks_at(m, marks_of(m, log), offset);

    (void)snprintf(text, sizeof(text), "%s %lld to %lld", mark.is_err ? "err" : "out",
                   (long long)mark.ms, (long long)mark.until);
    return text;
}

int main(void)
{
    if (!mkdtemp(top) || (dir_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        tap_skip_all("no directory below /tmp");

    struct marks *m = marks_new(dir_fd, true);
    marks_read(m);
    is_str(at(m, "a.log", 0), "out 0 to -1", "no file: all is stdout, the time unknown");
    append("100 0 o a.log\n101 0 e b.log\n105 7 e a.log\nnonsense\n1 2 x a.log\n\n106 9 o a.lo");
    marks_read(m);
    is_str(at(m, "a.log", 0), "out 100 to 7", "stdout first");
    is_str(at(m, "a.log", 6), "out 100 to 7", "up to the next mark");
    is_str(at(m, "a.log", 7), "err 105 to -1", "then stderr; half a line does not count");
    is_str(at(m, "b.log", 3), "err 101 to -1", "another log has its own");
    append("g\n300 9 o a.log\n");
    marks_read(m);
    is_str(at(m, "a.log", 8), "err 105 to 9", "what was added later counts");
    is_str(at(m, "a.log", 1000), "out 300 to -1", "the last one holds to the end");
    is_str(at(m, "a.log", 1001), "out 300 to -1", "and is kept");
    marks_free(m);

    m = marks_new(dir_fd, false);
    append("400 20 o a.log\n500 30 o a.log\n");
    marks_read(m);
    is_str(at(m, "a.log", 9), "out 106 to -1",
           "without times, only changes of the stream are kept");
    marks_free(m);

    (void)unlinkat(dir_fd, MARKS_NAME, 0);
    (void)close(dir_fd);
    (void)rmdir(top);
    return tap_done();
}
