/* draw.c - the screen as lines of text; see state.h. */
#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "top/state.h"
#include "top/table.h"

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
    (void)table_cut(&cut, text.buf, 0, d->st->columns);
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
        table_amount(&text, use->memory);
    }
    if (list->sort != TOP_BY_ORDER || list->reverse)
        strbuf_addf(&text, "  by %s%s", sort_words[list->sort], list->reverse ? ", reversed" : "");
    if (*list->filter && !d->st->typing)
        strbuf_addf(&text, "  filter \"%s\"", list->filter);
    put(d, LOOK_TITLE, "%s", text.buf);
}

static bool is_failed(const struct context *c, bool jobs)
{
    return jobs ? !((const struct top_job *)c->element)->alive &&
                      ((const struct top_job *)c->element)->exit_code > 0
                : ((const struct top_row *)c->element)->failed;
}

static void put_list(struct drawing *d)
{
    bool jobs = d->st->page == TOP_JOBS;
    const struct table *t = jobs ? &table_jobs : &table_rows;

    for (size_t i = 0; i < d->view->shown; i++) {
        size_t k = d->view->first + i, index = d->view->order[k];
        const void *element = jobs ? (const void *)&d->data->jobs[index] : &d->data->rows[index];
        const struct context c = {.data = d->data, .element = element};
        auto_strbuf struct strbuf line = STRBUF_INIT;

        table_line(&line, t, NULL, d->st->columns, &c);
        put(d,
            k == d->view->cursor                                  ? LOOK_SELECTED
            : is_failed(&c, jobs)                                 ? LOOK_FAILED
            : jobs && !((const struct top_job *)c.element)->alive ? LOOK_DIM
                                                                  : LOOK_PLAIN,
            "%s", line.buf);
    }
    if (d->view->n > 0)
        return;
    if (*d->st->list[d->st->page].filter)
        put(d, LOOK_DIM, "nothing matches \"%s\"", d->st->list[d->st->page].filter);
    else if (!jobs)
        put(d, LOOK_DIM, "%s", d->data->why_no_rows ? d->data->why_no_rows : "no replicas");
    else if (d->data->unlisted)
        put(d, LOOK_DIM, "no job is running; %s", d->data->unlisted);
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

        table_note(&text, c.element);
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

        (void)table_cut(&line, d->data->lines[i], st->log_shift, st->columns);
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
            table_line(&header, st->page == TOP_JOBS ? &table_jobs : &table_rows, NULL, st->columns,
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
