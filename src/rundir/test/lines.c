/* Lines and progress bars, whole and cut at every place. */
#include "rundir/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/tap.h"

static void take(void *ctx, const char *text, size_t n, uint64_t at)
{
    struct strbuf *out = ctx;

    strbuf_addf(out, "%llu:", (unsigned long long)at);
    strbuf_add(out, text, n);
    strbuf_addch(out, '|');
}

/* Fed in two pieces, cut anywhere, the lines are the same. */
static void splits(const char *text, const char *want)
{
    size_t len = strlen(text);
    bool same = true;

    for (size_t cut = 0; cut <= len; cut++) {
        auto_strbuf struct strbuf out = STRBUF_INIT;
        CLEANUP(lines_release) struct lines l = LINES_INIT;

        lines_feed(&l, text, cut, 0, take, &out);
        lines_feed(&l, text + cut, len - cut, cut, take, &out);
        lines_end(&l, take, &out);
        if (strcmp(out.buf, want) != 0) {
            tap_diag("cut at %zu: %s", cut, out.buf);
            same = false;
        }
    }
    ok(same, "%s", want);
}

static const char *progress_of(const char *text)
{
    static char bar[64];
    auto_strbuf struct strbuf out = STRBUF_INIT;
    CLEANUP(lines_release) struct lines l = LINES_INIT;

    lines_feed(&l, text, strlen(text), 0, take, &out);
    const struct strbuf *now = lines_progress(&l);
    (void)snprintf(bar, sizeof(bar), "%s", now ? now->buf : "none");
    return bar;
}

static void long_lines(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    CLEANUP(lines_release) struct lines l = LINES_INIT;

    strbuf_reserve(&text, LIMIT_LINE_BYTES);
    memset(text.buf, 'x', LIMIT_LINE_BYTES);
    lines_feed(&l, text.buf, LIMIT_LINE_BYTES, 0, take, &out);
    is_int(out.len, LIMIT_LINE_BYTES + 3, "a line without an end comes in pieces");
}

int main(void)
{
    splits("a\nbc\n\nd", "0:a|2:bc|5:|6:d|");
    splits("a\r\nb\r\n\r\nc", "0:a|3:b|7:|8:c|");
    splits("10%\r20%\r30%\n", "8:30%|");
    splits("\r10%\r20%\r30%\nnext\n", "9:30%|13:next|");
    splits("50%\r100%\r   \r\n", "4:100%|");
    splits("100%\r", "0:100%|");
    splits("100%\rdone\n", "5:done|");
    splits("a\r\r\nb", "0:a|4:b|");
    splits("\r", "");
    is_str(progress_of("loading"), "none", "a line that is not finished is no bar");
    is_str(progress_of("\r 5%"), " 5%", "text after a return is one");
    is_str(progress_of("5%\r"), "5%", "so is text before it");
    is_str(progress_of("5%\r6%\r"), "6%", "the last one counts");
    is_str(progress_of("5%\r  \r"), "5%", "blanks are none");
    is_str(progress_of("5%\r6%\n"), "none", "a newline ends it");
    long_lines();
    return tap_done();
}
