/* table.h - jobs and rows as lines of columns, for the screen (draw.c) and for --once. */
#ifndef TOP_TABLE_H
#define TOP_TABLE_H

#include "base/strbuf.h"
#include "top/data.h"

struct context {
    const struct top_data *data;
    const void *element; /* a job or a row */
};

struct table;
extern const struct table table_jobs, table_rows;

/* A line of at most so many columns; c NULL: the titles. widths: of each column, or NULL: those of
 * the table. Columns that have no room are left out. */
void table_line(struct strbuf *out, const struct table *t, const int *widths, int columns,
                const struct context *c);

/* Appends at most `width` columns of text, without the first `skip`; says how many it took. */
int table_cut(struct strbuf *out, const char *text, int skip, int width);

/* "512", "1.5K", "12M", "3.4G": five columns at most. */
void table_amount(struct strbuf *out, uint64_t bytes);

/* How a row ended, and its last line. */
void table_note(struct strbuf *out, const struct top_row *row);

#endif
