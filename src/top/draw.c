/* draw.c - the screen as lines of text; see state.h.
 *
 * Whatever comes from a file or a log is escaped here and cut to its columns, so that it cannot act
 * on the terminal or move what stands beside it.
 */
#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "top/state.h"

#define MOST_COLUMNS 12
#define ROOM_FOR_LAST 10 /* the last column needs so much; else it is left out */

/* --- cells ------------------------------------------------------------------------------------ */

/* Appends at most `width` columns of text, without the first `skip`; says how many it took. */
static int add_cut(struct strbuf *out, const char *text, int skip, int width)
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
    int taken = add_cut(&cell, text, 0, width);

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
static void add_amount(struct strbuf *out, uint64_t bytes)
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

struct context {
    const struct top_data *data;
    const void *element; /* a job or a row */
};

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
        add_amount(out, value);
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
    {"AGE", 9, true, 66, job_age},     {"RANKS", 7, true, 56, job_ranks},
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
static const struct table job_table = {job_columns, ARRAY_SIZE(job_columns)};
static const struct table row_table = {row_columns, ARRAY_SIZE(row_columns)};

/* The widths on a screen of so many columns; 0: not shown. widths may be NULL: those of the table.
 */
static void add_line(struct strbuf *out, const struct table *t, const int *widths, int columns,
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

/* --- the screen ------------------------------------------------------------------------------- */

struct drawing {
    struct arena *a;
    const struct top_state *st;
    const struct top_data *data;
    const struct top_view *view;
    struct top_line *v;
    int n;
};

static void put(struct drawing *d, enum top_look look, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put(struct drawing *d, enum top_look look, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, cut = STRBUF_INIT;
    va_list ap;

    if (d->n == d->st->rows)
        return;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    (void)add_cut(&cut, text.buf, 0, d->st->columns);
    d->v[d->n++] = (struct top_line){.text = arena_strdup(d->a, cut.buf), .look = look};
}

static void put_rest(struct drawing *d, int until)
{
    while (d->n < until)
        put(d, LOOK_PLAIN, "%s", "");
}

static const char *const sort_words[] = {"order", "CPU", "memory", "I/O", "name", "state"};

static void put_title(struct drawing *d)
{
    const struct top_data *data = d->data;
    const struct top_list *list = &d->st->list[d->st->page];
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char at[CLOCK_TEXT], took[DURATION_TEXT];

    if (d->st->page == TOP_JOBS) {
        strbuf_addf(&text, "muster %.8s  %zu running, %zu waiting", clock_hms(data->now, at),
                    data->running, data->waiting);
        if (data->ended)
            strbuf_addf(&text, ", %zu ended", data->ended);
    } else {
        const struct top_job *job = top_job_of(data, d->st->job);

        if (!job)
            strbuf_addf(&text, "%s is gone", d->st->job);
        else
            strbuf_addf(&text, "%s: %s, %s", job->name, job->state,
                        duration_text((job->until - job->since) / NS_PER_MS, took));
    }
    const struct top_job *job = d->st->page == TOP_ROWS ? top_job_of(data, d->st->job) : NULL;
    const struct top_use *use = d->st->page == TOP_JOBS ? &data->total : job ? &job->use : NULL;
    if (use && use->known) {
        strbuf_addf(&text, "  CPU %llu%%  memory ", (unsigned long long)use->cpu);
        add_amount(&text, use->memory);
    }
    if (list->sort != TOP_BY_ORDER || list->reverse)
        strbuf_addf(&text, "  by %s%s", sort_words[list->sort], list->reverse ? ", reversed" : "");
    if (*list->filter && !d->st->typing)
        strbuf_addf(&text, "  filter \"%s\"", list->filter);
    put(d, LOOK_TITLE, "%s", text.buf);
}

static bool is_failed(const struct context *c, bool jobs)
{
    return jobs ? !job_of(c)->alive && job_of(c)->exit_code > 0 : row_of(c)->failed;
}

static void put_list(struct drawing *d)
{
    bool jobs = d->st->page == TOP_JOBS;
    const struct table *t = jobs ? &job_table : &row_table;

    for (size_t i = 0; i < d->view->shown; i++) {
        size_t k = d->view->first + i, index = d->view->order[k];
        const void *element = jobs ? (const void *)&d->data->jobs[index] : &d->data->rows[index];
        const struct context c = {.data = d->data, .element = element};
        auto_strbuf struct strbuf line = STRBUF_INIT;

        add_line(&line, t, NULL, d->st->columns, &c);
        put(d,
            k == d->view->cursor         ? LOOK_SELECTED
            : is_failed(&c, jobs)        ? LOOK_FAILED
            : jobs && !job_of(&c)->alive ? LOOK_DIM
                                         : LOOK_PLAIN,
            "%s", line.buf);
    }
    if (d->view->n > 0)
        return;
    if (*d->st->list[d->st->page].filter)
        put(d, LOOK_DIM, "nothing matches \"%s\"", d->st->list[d->st->page].filter);
    else if (!jobs)
        put(d, LOOK_DIM, "%s", d->data->why_no_rows ? d->data->why_no_rows : "no replicas");
    else if (d->data->ended && !d->st->all)
        put(d, LOOK_DIM, "no job is running; press a to show %zu that %s ended", d->data->ended,
            d->data->ended == 1 ? "has" : "have");
    else
        put(d, LOOK_DIM, "no jobs; start one with `muster run` or `muster submit`");
}

/* The selected row in full. */
static void put_detail(struct drawing *d)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (d->view->n == 0) {
        put(d, LOOK_DIM, "%s", "");
        return;
    }
    size_t index = d->view->order[d->view->cursor];
    if (d->st->page == TOP_JOBS) {
        const struct top_job *job = &d->data->jobs[index];
        const char *more = *job->note ? job->note : job->last ? job->last : "";

        strbuf_addf(&text, "%s%s%s", job->id, *more ? ": " : "", more);
    } else {
        const struct context c = {.data = d->data, .element = &d->data->rows[index]};

        row_note(&text, &c);
        if (text.len == 0)
            strbuf_addstr(&text, d->data->rows[index].log);
    }
    put(d, LOOK_DIM, "%s", text.buf);
}

static void put_keys(struct drawing *d)
{
    const struct top_state *st = d->st;

    if (*st->asked)
        put(d, LOOK_HEADER, "cancel %s (%s)? y/n", st->asked_name, st->asked);
    else if (st->typing)
        put(d, LOOK_HEADER, "filter: %s_", st->list[st->page].filter);
    else if (*st->message)
        put(d, LOOK_HEADER, "%s", st->message);
    else if (st->page == TOP_JOBS)
        put(d, LOOK_DIM, "q quit  ? help  Enter open  l log  c cancel  / filter  s sort  a all");
    else if (st->page == TOP_ROWS)
        put(d, LOOK_DIM, "q quit  ? help  Esc back  Enter log  c cancel  / filter  s sort");
    else
        put(d, LOOK_DIM, "q quit  ? help  Esc back  arrows scroll  g begin  G follow");
}

static void put_log(struct drawing *d)
{
    const struct top_state *st = d->st;
    char size[DURATION_TEXT];

    put(d, LOOK_TITLE, "%s of %s  %s%s", st->log_of, st->log_job,
        bytes_text(d->data->log_size, size),
        st->log_end < 0       ? ", following"
        : d->data->log_at_end ? ", at the end"
                              : "");
    for (size_t i = 0; i < d->data->n_lines && d->n < st->rows - 1; i++) {
        auto_strbuf struct strbuf line = STRBUF_INIT;

        (void)add_cut(&line, d->data->lines[i], st->log_shift, st->columns);
        put(d, LOOK_PLAIN, "%s", line.buf);
    }
    if (d->data->n_lines == 0)
        put(d, LOOK_DIM, "%s", d->data->why_no_rows ? d->data->why_no_rows : "no output yet");
}

static const char *const help[] = {
    "Up Down PgUp PgDn Home End   move (also j k, Space, g G)",
    "Enter   open a job; of a replica or rank, its log",
    "Esc     back; clears a filter",
    "l       log of the selected row",
    "c       cancel the job (asks first)",
    "/       filter by name, id or state",
    "s       sort: order, CPU, memory, I/O, name, state",
    "r       reverse the order",
    "a       show jobs that have ended, or hide them",
    "t       show ranks, or only replicas",
    "G       in a log: go to its end and follow",
    "Left Right   in a log: scroll sideways",
    "q       quit",
    "CPU%    of one core; MEM: resident, shared pages count for each process",
};

static void put_help(struct drawing *d)
{
    put(d, LOOK_TITLE, "muster top: keys");
    for (size_t i = 0; i < ARRAY_SIZE(help) && d->n < d->st->rows - 1; i++)
        put(d, LOOK_PLAIN, "%s", help[i]);
    put_rest(d, d->st->rows - 1);
    put(d, LOOK_DIM, "press any key");
}

struct top_line *top_draw(struct arena *a, const struct top_state *st, const struct top_data *data,
                          const struct top_view *view)
{
    struct drawing d = {.a = a,
                        .st = st,
                        .data = data,
                        .view = view,
                        .v = ARENA_ARRAY(a, struct top_line, (size_t)st->rows + 1)};
    bool tall = st->rows > (st->page == TOP_LOG ? 3 : 5);
    auto_strbuf struct strbuf header = STRBUF_INIT;

    if (st->help)
        put_help(&d);
    else if (st->page == TOP_LOG)
        put_log(&d);
    else {
        if (tall) {
            put_title(&d);
            add_line(&header, st->page == TOP_JOBS ? &job_table : &row_table, NULL, st->columns,
                     NULL);
            put(&d, LOOK_HEADER, "%s", header.buf);
        }
        put_list(&d);
        put_rest(&d, tall ? st->rows - 2 : st->rows - 1);
        if (tall)
            put_detail(&d);
    }
    put_rest(&d, st->rows - 1);
    put_keys(&d);
    put_rest(&d, st->rows);
    return d.v;
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
        int w = add_cut(&cut, text.buf, 0, LIMIT_TOP_COLUMNS);
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
    add_line(out, t, widths, columns, NULL);
    strbuf_addch(out, '\n');
    for (size_t k = 0; k < n; k++) {
        const struct context one = {.element = (const char *)c->element + k * size,
                                    .data = c->data};

        add_line(out, t, widths, columns, &one);
        strbuf_addch(out, '\n');
    }
}

void top_print_jobs(struct strbuf *out, const struct top_data *data, int columns)
{
    const struct context c = {.data = data, .element = data->jobs};

    print_table(out, &job_table, &c, data->n_jobs, sizeof(*data->jobs), columns);
}

void top_print_rows(struct strbuf *out, const struct top_data *data, int columns)
{
    const struct context c = {.data = data, .element = data->rows};

    print_table(out, &row_table, &c, data->n_rows, sizeof(*data->rows), columns);
}
