/* marks.c - fuzzes the reader of RUN_DIR/marks, which a full disk may have cut and others may have
 * written.
 *
 * Whatever the bytes are: marks follow each other in the log, and a file that is read while it
 * grows gives the same as one that is read at its end. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "common.h"
#include "rundir/marks.h"

static char dir[] = "/dev/shm/muster-fuzz-marks-XXXXXX";
static int dir_fd = -1;

static void remove_dir(void)
{
    (void)unlinkat(dir_fd, MARKS_NAME, 0);
    (void)rmdir(dir);
}

static void begin(void)
{
    MUST(mkdtemp(dir));
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(dir_fd >= 0 && atexit(remove_dir) == 0);
}

static void add_to_file(const char *data, size_t n, int flags)
{
    int fd = openat(dir_fd, MARKS_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

    MUST(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    MUST(close(fd) == 0);
}

/* What holds all along a log: "UNTIL MS STREAM;" for each mark. */
static void add_log(struct strbuf *out, struct marks *m, const char *name)
{
    struct marks_of *of = marks_of(m, name);
    uint64_t at = 0;

    for (;;) {
        struct mark mark = marks_at(m, of, at), again = marks_at(m, of, at);

        MUST(mark.until > at && mark.until == again.until && mark.ms == again.ms &&
             mark.is_err == again.is_err);
        strbuf_addf(out, "%llu %lld %d;", (unsigned long long)mark.until, (long long)mark.ms,
                    mark.is_err);
        if (mark.until == UINT64_MAX)
            return;
        at = mark.until;
    }
}

static void add_logs(struct strbuf *out, struct marks *m, const char *data, size_t size)
{
    add_log(out, m, "of-no-mark.log");
    for (size_t i = 0; i + 3 < size; i++) {
        size_t n = 0;

        if (data[i] != ' ' || (data[i + 1] != 'o' && data[i + 1] != 'e') || data[i + 2] != ' ')
            continue;
        while (i + 3 + n < size && data[i + 3 + n] != '\n')
            n++;
        char *name = strndup(data + i + 3, n);
        MUST(name);
        add_log(out, m, name);
        free(name);
    }
}

/* In two parts, the second added after the first was read; cut 0: in one. */
static void read_all(struct strbuf *out, const char *data, size_t size, size_t cut, bool times)
{
    struct marks *m = marks_new(dir_fd, times);

    add_to_file(data, cut, O_TRUNC);
    if (cut > 0)
        marks_read(m);
    add_to_file(data + cut, size - cut, O_APPEND);
    marks_read(m);
    add_logs(out, m, data, size);
    marks_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    if (dir_fd < 0)
        begin();
    if (size >= LIMIT_ERR_TEXT) /* a line beyond that is dropped where a read ends */
        return 0;
    for (int times = 0; times < 2; times++) {
        struct strbuf whole = STRBUF_INIT, cut = STRBUF_INIT;

        read_all(&whole, text, size, 0, times);
        read_all(&cut, text, size, size / 3, times);
        MUST(whole.len == cut.len && memcmp(whole.buf, cut.buf, whole.len) == 0);
        strbuf_release(&whole);
        strbuf_release(&cut);
    }
    return 0;
}
