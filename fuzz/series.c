/* series.c - fuzzes the reader of RUN_DIR/usage.jsonl, which a job may have written, and the charts
 * that are drawn of it.
 *
 * Whatever the bytes are: points of a rank follow each other in time, peaks are theirs, and a page
 * made of them has as many tags that open as tags that close. */
#include <string.h>

#include "base/limits.h"
#include "common.h"
#include "story/html.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static void check_row(const struct series *s, const struct series_row *row)
{
    for (size_t i = 0; i < row->n; i++) {
        MUST(row->v[i].ms >= 0 && row->v[i].ms <= s->last_ms);
        MUST(i == 0 || row->v[i].ms > row->v[i - 1].ms);
        MUST(row->v[i].memory <= row->peak_memory && row->v[i].cpu <= row->peak_cpu);
    }
    MUST(row->rank >= -1 && row->peak_cpu <= LIMIT_SERIES_CPU);
    MUST(series_of(s, row->replica, row->rank));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct strbuf out = STRBUF_INIT;
    const struct series *s = series_read(a, (const char *)data, size);
    const struct page p = {
        .name = "", .id = "", .dialect = "", .state = "", .version = "", .host = "", .usage = s};

    MUST(s->n <= LIMIT_SERIES_ROWS);
    for (size_t i = 0; i < s->n; i++)
        check_row(s, &s->rows[i]);
    page_write(&p, &out);
    MUST(count(out.buf, "<div") == count(out.buf, "</div>"));
    MUST(count(out.buf, "<svg") == count(out.buf, "</svg>"));
    MUST(!strstr(out.buf, "nan") && !strstr(out.buf, "inf"));
    strbuf_release(&out);
    arena_free(a);
    return 0;
}
