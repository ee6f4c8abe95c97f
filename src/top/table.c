/* table.c - see table.h.
 *
 * Whatever comes from a file or a log is escaped here and cut to its columns, so that it cannot act
 * on the terminal or move what stands beside it.
 */
#include "top/table.h"

#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "top/state.h"

#define MOST_COLUMNS 12
#define ROOM_FOR_LAST 10 /* the last column needs so much; else it is left out */

/* --- cells ------------------------------------------------------------------------------------ */

/* Appends at most `width` columns of text, without the first `skip`; says how many it took. */
int table_cut(struct strbuf *out, const char *text, int skip, int width)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;
    int at = 0, taken = 0;
    size_t most = ((size_t)skip + (size_t)width) * 4 + 16, len = strnlen(text, most), fits = 0;

    strbuf_add_escaped(&safe, text, len);
    for (size_t i = 0; i < safe.len;) {
        uint32_t c;
        size_t n = utf8_decode(safe.buf + i, safe.len - i, &c);
        int w = n ? utf8_width(c) : 1;

        n = n ? n : 1;
        if (at >= skip && taken + w > width) { /* what was cut is marked */
            if (width > 1 && taken == width) {
                strbuf_truncate(out, fits);
                taken = width - 1;
            }
            if (taken < width) {
                strbuf_addstr(out, "…");
                taken++;
            }
            return taken;
        }
        if (at >= skip) {
            if (w > 0)
                fits = out->len; /* before the last character that takes room */
            strbuf_add(out, safe.buf + i, n);
            taken += w;
        }
        at += w;
        i += n;
    }
    return taken;
}

static void add_blanks(struct strbuf *out, int n)
{
    for (; n > 0; n--)
        strbuf_addch(out, ' ');
}

static void add_cell(struct strbuf *out, const char *text, int width, bool right)
{
    auto_strbuf struct strbuf cell = STRBUF_INIT;
    int taken = table_cut(&cell, text, 0, width);

    if (right)
        add_blanks(out, width - taken);
    strbuf_addstr(out, cell.buf);
    if (!right)
        add_blanks(out, width - taken);
}

static void drop_blanks(struct strbuf *sb)
{
    while (sb->len > 0 && sb->buf[sb->len - 1] == ' ')
        strbuf_truncate(sb, sb->len - 1);
}

/* "512", "1.5K", "12M", "3.4G": five columns at most. */
void table_amount(struct strbuf *out, uint64_t bytes)
{
    static const char units[] = "BKMGTPE";
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 999.5 && u + 2 < sizeof(units)) {
        v /= 1024;
        u++;
    }
    if (u == 0)
        strbuf_addf(out, "%d", (int)v);
    else
        strbuf_addf(out, v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
}

/* --- columns ---------------------------------------------------------------------------------- */

struct column {
    const char *title;
    int width; /* 0: the rest of the line */
    bool right;
    int least; /* columns of the screen from which on it is shown */
    void (*text)(struct strbuf *out, const struct context *c);
};

static void add_use(struct strbuf *out, const struct top_use *use, uint64_t value)
{
    if (use->known)
        table_amount(out, value);
    else
        strbuf_addch(out, '-');
}

static const struct top_job *job_of(const struct context *c)
{
    return c->element;
}

static const struct top_row *row_of(const struct context *c)
{
    return c->element;
}

static void job_name(struct strbuf *out, const struct context *c)
{
    strbuf_addstr(out, *job_of(c)->name ? job_of(c)->name : job_of(c)->id);
}

static void job_id(struct strbuf *out, const struct context *c)
{
    strbuf_addstr(out, job_of(c)->id);
}

static void job_state(struct strbuf *out, const struct context *c)
{
    strbuf_addstr(out, job_of(c)->state);
}

static void job_age(struct strbuf *out, const struct context *c)
{
    const struct top_job *job = job_of(c);
    char text[DURATION_TEXT];

    strbuf_addstr(out, job->since ? age_text((job->until - job->since) / NS_PER_MS, text) : "-");
}

static void job_ranks(struct strbuf *out, const struct context *c)
{
    const struct top_job *job = job_of(c);

    if (job->ranks == 0)
        strbuf_addch(out, '-');
    else if (job->running == job->ranks)
        strbuf_addf(out, "%u", job->ranks);
    else
        strbuf_addf(out, "%u/%u", job->running, job->ranks);
}

static void add_cpu(struct strbuf *out, const struct top_use *use)
{
    if (use->known)
        strbuf_addf(out, "%llu", (unsigned long long)use->cpu);
    else
        strbuf_addch(out, '-');
}

static void job_cpu(struct strbuf *out, const struct context *c)
{
    add_cpu(out, &job_of(c)->use);
}

static void job_memory(struct strbuf *out, const struct context *c)
{
    add_use(out, &job_of(c)->use, job_of(c)->use.memory);
}

static void job_read(struct strbuf *out, const struct context *c)
{
    add_use(out, &job_of(c)->use, job_of(c)->use.read);
}

static void job_written(struct strbuf *out, const struct context *c)
{
    add_use(out, &job_of(c)->use, job_of(c)->use.written);
}

static void job_note(struct strbuf *out, const struct context *c)
{
    const struct top_job *job = job_of(c);

    strbuf_addstr(out, *job->note ? job->note : job->last ? job->last : "");
}

static const struct column job_columns[] = {
    {"NAME", 16, false, 0, job_name},  {"STATE", 10, false, 28, job_state},
    {"AGE", 11, true, 66, job_age},    {"RANKS", 7, true, 56, job_ranks},
    {"CPU%", 6, true, 36, job_cpu},    {"MEM", 5, true, 44, job_memory},
    {"READ/s", 6, true, 90, job_read}, {"WRITE/s", 7, true, 90, job_written},
    {"ID", 20, false, 130, job_id},    {"LAST LINE", 0, false, 0, job_note},
};

static void row_name(struct strbuf *out, const struct context *c)
{
    const struct top_row *row = row_of(c);

    if (row->below)
        strbuf_addf(out, "  %s/%d", row->replica, (int)row->rank);
    else if (row->rank >= 0)
        strbuf_addf(out, "%s/%d", row->replica, (int)row->rank);
    else
        strbuf_addstr(out, row->replica);
}

static void row_state(struct strbuf *out, const struct context *c)
{
    strbuf_addstr(out, row_of(c)->state);
}

static void row_restarts(struct strbuf *out, const struct context *c)
{
    if (row_of(c)->restarts)
        strbuf_addf(out, "%u", row_of(c)->restarts);
}

static void row_cpu(struct strbuf *out, const struct context *c)
{
    add_cpu(out, &row_of(c)->use);
}

static void row_memory(struct strbuf *out, const struct context *c)
{
    add_use(out, &row_of(c)->use, row_of(c)->use.memory);
}

static void row_read(struct strbuf *out, const struct context *c)
{
    add_use(out, &row_of(c)->use, row_of(c)->use.read);
}

static void row_written(struct strbuf *out, const struct context *c)
{
    add_use(out, &row_of(c)->use, row_of(c)->use.written);
}

static void row_note(struct strbuf *out, const struct context *c)
{
    const struct top_row *row = row_of(c);

    strbuf_addf(out, "%s%s%s", row->end, *row->end && row->last && *row->last ? ": " : "",
                row->last ? row->last : "");
}

static const struct column row_columns[] = {
    {"REPLICA/RANK", 17, false, 0, row_name}, {"STATE", 10, false, 28, row_state},
    {"CPU%", 6, true, 36, row_cpu},           {"MEM", 5, true, 44, row_memory},
    {"READ/s", 6, true, 56, row_read},        {"WRITE/s", 7, true, 66, row_written},
    {"RESTARTS", 8, true, 100, row_restarts}, {"LAST LINE", 0, false, 0, row_note},
};

struct table {
    const struct column *v;
    size_t n;
};
const struct table table_jobs = {job_columns, ARRAY_SIZE(job_columns)};
const struct table table_rows = {row_columns, ARRAY_SIZE(row_columns)};

void table_line(struct strbuf *out, const struct table *t, const int *widths, int columns,
                const struct context *c)
{
    int at = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct column *col = &t->v[i];
        int width = widths ? widths[i] : col->width, left = columns - at - (at ? 1 : 0);
        auto_strbuf struct strbuf text = STRBUF_INIT;

        if (col->least > columns || left < 1 || (col->width == 0 && at && left < ROOM_FOR_LAST))
            continue;
        if (at) {
            strbuf_addch(out, ' ');
            at++;
        }
        width = width == 0 || width > left ? left : width;
        if (c)
            col->text(&text, c);
        add_cell(out, c ? text.buf : col->title, width, col->right);
        at += width;
    }
    drop_blanks(out);
}

void table_note(struct strbuf *out, const struct top_row *row)
{
    row_note(out, &(struct context){.element = row});
}

/* --- --once ----------------------------------------------------------------------------------- */

/* As wide as what is in it: nothing is cut where a script reads it. */
static int needed_width(const struct table *t, size_t i, const struct context *c, size_t n,
                        size_t size)
{
    int width = (int)strlen(t->v[i].title);

    for (size_t k = 0; k < n; k++) {
        auto_strbuf struct strbuf text = STRBUF_INIT, cut = STRBUF_INIT;
        const struct context one = {.element = (const char *)c->element + k * size,
                                    .data = c->data};

        t->v[i].text(&text, &one);
        int w = table_cut(&cut, text.buf, 0, LIMIT_TOP_COLUMNS);
        width = w > width ? w : width;
    }
    return width;
}

static void print_table(struct strbuf *out, const struct table *t, const struct context *c,
                        size_t n, size_t size, int columns)
{
    int widths[MOST_COLUMNS] = {0};

    for (size_t i = 0; i + 1 < t->n; i++)
        widths[i] = needed_width(t, i, c, n, size);
    table_line(out, t, widths, columns, NULL);
    strbuf_addch(out, '\n');
    for (size_t k = 0; k < n; k++) {
        const struct context one = {.element = (const char *)c->element + k * size,
                                    .data = c->data};

        table_line(out, t, widths, columns, &one);
        strbuf_addch(out, '\n');
    }
}

void top_print_jobs(struct strbuf *out, const struct top_data *data, int columns)
{
    const struct context c = {.data = data, .element = data->jobs};

    print_table(out, &table_jobs, &c, data->n_jobs, sizeof(*data->jobs), columns);
}

void top_print_rows(struct strbuf *out, const struct top_data *data, int columns)
{
    const struct context c = {.data = data, .element = data->rows};

    print_table(out, &table_rows, &c, data->n_rows, sizeof(*data->rows), columns);
}
