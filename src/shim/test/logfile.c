/* A log and its marks, and a log that cannot be written. */
#include "shim/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"

static int open_temporary(void)
{
    char path[] = "/tmp/muster-logfile.XXXXXX";
    int fd = mkostemp(path, O_APPEND | O_CLOEXEC);

    (void)unlink(path);
    return fd;
}

/* The marks without their times. */
static const char *marks_of(int fd)
{
    static char text[256];
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    (void)lseek(fd, 0, SEEK_SET);
    (void)io_read_fd(fd, "marks", 4096, &sb, NULL);
    auto_strbuf struct strbuf out = STRBUF_INIT;
    for (const char *p = sb.buf, *nl; (nl = strchr(p, '\n')); p = nl + 1)
        strbuf_add(&out, strchr(p, ' '), (size_t)(nl - strchr(p, ' ')));
    (void)snprintf(text, sizeof(text), "%s", out.buf);
    return text;
}

int main(void)
{
    auto_close int fd = open_temporary(), marks_fd = open_temporary();
    auto_close int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct logfile l = {.name = "a.log", .fd = -1, .marks_fd = -1};

    is_int(logfile_write(&l, false, "x", 1), 0, "a log that is not open takes nothing");
    logfile_begin(&l, fd, marks_fd);
    is_int(logfile_write(&l, false, "one\n", 4), 4, "written");
    is_int(logfile_write(&l, true, "two\n", 4), 4, "written");
    is_int(logfile_write(&l, true, "three\n", 6), 6, "written");
    l.mark_ms -= LOGFILE_MARK_MS;
    is_int(logfile_write(&l, true, "four\n", 5), 5, "written");
    is_str(marks_of(marks_fd), " 0 o a.log 4 e a.log 14 e a.log",
           "a mark when the stream changes, and after a while");

    l = (struct logfile){.name = "b.log", .fd = -1, .marks_fd = -1};
    logfile_begin(&l, fd, -1);
    is_int(l.size, 19, "it goes on where the file ends");
    is_int(logfile_write(&l, true, "five\n", 5), 5, "without marks it is written too");

    if (full < 0)
        return tap_done();
    l = (struct logfile){.name = "c.log", .fd = -1, .marks_fd = -1};
    logfile_begin(&l, full, full);
    is_int(logfile_write(&l, false, "x", 1), 0, "a full disk takes nothing");
    is_int(l.error, -ENOSPC, "and says why");
    l.fd = fd;
    is_int(logfile_write(&l, false, "x", 1), 0, "nor does it later: a gap is at the end");
    return tap_done();
}
