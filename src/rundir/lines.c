/* lines.c - see lines.h. */
#include "rundir/lines.h"

#include <string.h>

#include "base/limits.h"

void lines_release(struct lines *l)
{
    strbuf_release(&l->text);
    strbuf_release(&l->bar);
}

/* A bar is erased by overwriting it with blanks: that is no state of it. */
static bool is_blank(const struct strbuf *sb)
{
    return strspn(sb->buf, " ") == sb->len;
}

/* Where the next '\n' or '\r' is, or NULL. Most output has no '\r' at all: memchr() is fast. */
static const char *find_end(const char *p, size_t n)
{
    const char *nl = memchr(p, '\n', n);
    const char *cr = memchr(p, '\r', nl ? (size_t)(nl - p) : n);

    return cr ? cr : nl;
}

static void forget(struct lines *l)
{
    strbuf_truncate(&l->text, 0);
    strbuf_truncate(&l->bar, 0);
    l->returned = l->redraws = false;
}

/* The newline has come. */
static void finish(struct lines *l, lines_fn *line, void *ctx)
{
    if (l->bar.len > 0 && is_blank(&l->text))
        line(ctx, l->bar.buf, l->bar.len, l->bar_at);
    else
        line(ctx, l->text.buf, l->text.len, l->at);
    forget(l);
}

/* The line that a "\r" ended is replaced by what comes now. */
static void keep_bar(struct lines *l)
{
    if (!is_blank(&l->text)) {
        struct strbuf old = l->bar;

        l->bar = l->text;
        l->bar_at = l->at;
        l->text = old;
    }
    strbuf_truncate(&l->text, 0);
    l->returned = false;
    l->redraws = true;
}

static void add(struct lines *l, const char *p, size_t n, uint64_t at)
{
    if (n == 0)
        return;
    if (l->text.len == 0)
        l->at = at;
    strbuf_add(&l->text, p, n);
}

void lines_feed(struct lines *l, const char *p, size_t n, uint64_t at, lines_fn *line, void *ctx)
{
    while (n > 0) {
        if (l->returned && *p != '\n' && *p != '\r')
            keep_bar(l);
        const char *end = find_end(p, n);
        size_t len = end ? (size_t)(end - p) : n, used = len + (end != NULL);
        bool newline = end && *end == '\n';

        if (newline && l->text.len == 0 && l->bar.len == 0) { /* most lines: without a copy */
            line(ctx, p, len, at);
            l->returned = l->redraws = false;
        } else {
            add(l, p, len, at);
            if (newline || (!end && l->text.len >= LIMIT_LINE_BYTES))
                finish(l, line, ctx);
            else if (end)
                l->returned = true;
        }
        p += used;
        at += used;
        n -= used;
    }
}

void lines_end(struct lines *l, lines_fn *line, void *ctx)
{
    if (l->text.len > 0 || l->bar.len > 0)
        finish(l, line, ctx);
    forget(l);
}

const struct strbuf *lines_progress(const struct lines *l)
{
    if ((l->returned || l->redraws) && !is_blank(&l->text))
        return &l->text;
    return l->bar.len > 0 ? &l->bar : NULL;
}
