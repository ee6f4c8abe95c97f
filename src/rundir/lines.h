/* lines.h - splits the bytes of one stream into lines, with progress bars as people see them.
 *
 * A newline ends a line, and so does "\r\n". A "\r" alone ends a line that the next one replaces:
 * of such a chain (tqdm, pip, Keras) the last is what remains when the newline comes. Until then
 * lines_progress() is the state of the bar.
 */
#ifndef RUNDIR_LINES_H
#define RUNDIR_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct lines {
    struct strbuf text; /* the line that is not finished */
    struct strbuf bar;  /* the one before it, ended by "\r"; empty: there is none */
    uint64_t at;        /* where text begins in its log */
    uint64_t bar_at;
    bool returned; /* the last byte was "\r", and what follows decides what it means */
    bool redraws;  /* text stands after a "\r" */
};
#define LINES_INIT                                                                                 \
    {                                                                                              \
        .text = STRBUF_INIT, .bar = STRBUF_INIT                                                    \
    }

void lines_release(struct lines *l);

/* A whole line without its end; at is where it begins. */
typedef void lines_fn(void *ctx, const char *text, size_t n, uint64_t at);

/* Takes n bytes that stand at `at` in the log. Lines beyond LIMIT_LINE_BYTES come in pieces. */
void lines_feed(struct lines *l, const char *p, size_t n, uint64_t at, lines_fn *line, void *ctx);

/* There will be no more: what is left is a line too. */
void lines_end(struct lines *l, lines_fn *line, void *ctx);

/* The bar as it stands, or NULL if no bar is being drawn. */
const struct strbuf *lines_progress(const struct lines *l);

#endif
