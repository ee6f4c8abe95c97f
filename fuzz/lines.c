/* lines.c - fuzzes what splits output into lines for the live view.
 *
 * Whatever the bytes are and however they arrive: every newline ends one line, each line is a piece
 * of the log at the place that is told, and how the bytes were cut into reads makes no difference.
 */
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "common.h"
#include "rundir/lines.h"

struct seen {
    const char *log;
    size_t size, n;
    struct strbuf all; /* the lines one after the other, each with its place */
};

static void take(void *ctx, const char *text, size_t n, uint64_t at)
{
    struct seen *seen = ctx;

    MUST(at <= seen->size && n <= seen->size - at && memcmp(seen->log + at, text, n) == 0);
    MUST(!memchr(text, '\n', n) && !memchr(text, '\r', n));
    strbuf_addf(&seen->all, "%llu %zu ", (unsigned long long)(n ? at : 0), n);
    strbuf_add(&seen->all, text, n);
    seen->n++;
}

/* Reads of step bytes, 0: one read. */
static void feed(struct seen *seen, size_t step)
{
    struct lines l = LINES_INIT;

    for (size_t at = 0, n; at < seen->size; at += n) {
        n = step && seen->size - at > step ? step : seen->size - at;
        lines_feed(&l, seen->log + at, n, at, take, seen);
        const struct strbuf *bar = lines_progress(&l);
        MUST(!bar || (bar->len > 0 && !memchr(bar->buf, '\n', bar->len)));
    }
    lines_end(&l, take, seen);
    MUST(!lines_progress(&l));
    lines_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = {.log = (const char *)data, .size = size, .all = STRBUF_INIT};
    size_t newlines = 0;

    if (size >= LIMIT_LINE_BYTES) /* longer lines come in pieces, as they are read */
        return 0;
    for (size_t i = 0; i < size; i++)
        newlines += data[i] == '\n';
    feed(&whole, 0);
    MUST(whole.n >= newlines && whole.n <= newlines + 1);
    for (size_t step = 1; step < 8; step += 2) {
        struct seen cut = {.log = whole.log, .size = size, .all = STRBUF_INIT};

        feed(&cut, step);
        MUST(cut.n == whole.n && cut.all.len == whole.all.len &&
             memcmp(cut.all.buf, whole.all.buf, cut.all.len) == 0);
        strbuf_release(&cut.all);
    }
    strbuf_release(&whole.all);
    return 0;
}
