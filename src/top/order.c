/* order.c - which rows a list has, in which order, and which of them are on the screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/state.h"

void top_state_init(struct top_state *st)
{
    *st = (struct top_state){.log_end = -1, .rows = 24, .columns = 80};
}

/* Above a list stand a title and a header, below it the selected row in full and the keys. */
int top_list_rows(const struct top_state *st)
{
    int around = st->page == TOP_LOG ? 2 : 4;

    return st->rows > around + 1 ? st->rows - around : st->rows > 1 ? st->rows - 1 : 1;
}

const struct top_job *top_job_of(const struct top_data *data, const char *id)
{
    for (size_t i = 0; i < data->n_jobs; i++)
        if (strcmp(data->jobs[i].id, id) == 0)
            return &data->jobs[i];
    return NULL;
}

const struct top_job *top_selected_job(const struct top_data *data, const struct top_view *view)
{
    return view->n ? &data->jobs[view->order[view->cursor]] : NULL;
}

/* --- one element, of either kind -------------------------------------------------------------- */

struct element {
    size_t index;
    const char *name, *state;
    const struct top_use *use;
    int group; /* running, waiting, ended */
};

static int group_of(const struct top_job *job)
{
    return job->waits ? 1 : job->alive ? 0 : 2;
}

static struct element element_of(const struct top_state *st, const struct top_data *data, size_t i)
{
    if (st->page == TOP_JOBS)
        return (struct element){.index = i,
                                .name = data->jobs[i].name,
                                .state = data->jobs[i].state,
                                .use = &data->jobs[i].use,
                                .group = group_of(&data->jobs[i])};
    return (struct element){.index = i,
                            .name = data->rows[i].replica,
                            .state = data->rows[i].state,
                            .use = &data->rows[i].use};
}

static void key_of(const struct top_state *st, const struct top_data *data, size_t i,
                   char out[TOP_TEXT])
{
    if (st->page == TOP_JOBS)
        (void)snprintf(out, TOP_TEXT, "%s", data->jobs[i].id);
    else
        (void)snprintf(out, TOP_TEXT, "%s %d", data->rows[i].replica, (int)data->rows[i].rank);
}

/* --- order ------------------------------------------------------------------------------------ */

static int by_number(uint64_t x, uint64_t y)
{
    return x == y ? 0 : x > y ? -1 : 1; /* the largest first */
}

static int by_use(const struct element *x, const struct element *y, enum top_sort sort)
{
    switch (sort) {
    case TOP_BY_CPU:
        return by_number(x->use->cpu, y->use->cpu);
    case TOP_BY_MEMORY:
        return by_number(x->use->memory, y->use->memory);
    case TOP_BY_IO:
        return by_number(x->use->read + x->use->written, y->use->read + y->use->written);
    case TOP_BY_NAME:
        return strverscmp(x->name, y->name);
    case TOP_BY_STATE:
        return strcmp(x->state, y->state);
    case TOP_BY_ORDER:
        break;
    }
    return 0;
}

static int compare(const void *v, const void *w, void *ctx)
{
    const struct element *x = v, *y = w;
    const struct top_list *list = ctx;
    int c = by_use(x, y, list->sort);

    if (list->sort == TOP_BY_ORDER && x->group != y->group)
        return x->group - y->group;
    if (c == 0) /* jobs are in the order of their start: of those that have ended, the newest */
        c = (x->group == 2 && y->group == 2) == (x->index > y->index) ? -1 : 1;
    return list->reverse ? -c : c;
}

static bool holds(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static bool is_listed(const struct top_state *st, const struct top_data *data, size_t i)
{
    const struct top_list *list = &st->list[st->page];
    char rank[32];

    if (st->page == TOP_JOBS) {
        const struct top_job *job = &data->jobs[i];

        if (!job->alive && !st->all)
            return false;
        return !*list->filter || holds(job->name, list->filter) || holds(job->id, list->filter) ||
               holds(job->state, list->filter) || holds(job->note, list->filter);
    }
    const struct top_row *row = &data->rows[i];
    (void)snprintf(rank, sizeof(rank), "%s/%d", row->replica, (int)row->rank);
    if (row->below && st->replicas_only)
        return false;
    return !*list->filter || holds(rank, list->filter) || holds(row->state, list->filter) ||
           holds(row->end, list->filter);
}

/* A sorted list has ranks, not the sums that their replicas are. */
static bool is_a_sum(const struct top_state *st, const struct top_data *data, size_t i)
{
    enum top_sort sort = st->list[st->page].sort;

    return st->page == TOP_ROWS && !st->replicas_only && sort >= TOP_BY_CPU && sort <= TOP_BY_IO &&
           i + 1 < data->n_rows && !data->rows[i].below && data->rows[i + 1].below;
}

/* --- the screen ------------------------------------------------------------------------------- */

/* What was selected stays so wherever it has gone; the cursor stays if it is gone altogether. */
static size_t find_cursor(const struct top_state *st, const struct top_data *data,
                          const size_t *order, size_t n)
{
    const struct top_list *list = &st->list[st->page];
    char key[TOP_TEXT];

    for (size_t i = 0; *list->key && i < n; i++) {
        key_of(st, data, order[i], key);
        if (strcmp(key, list->key) == 0)
            return i;
    }
    return !*list->key || n == 0 ? 0 : list->cursor < n ? list->cursor : n - 1;
}

struct top_view top_arrange(struct arena *a, struct top_state *st, const struct top_data *data)
{
    if (st->page == TOP_LOG)
        return (struct top_view){0};
    struct top_list *list = &st->list[st->page];
    size_t all = st->page == TOP_JOBS ? data->n_jobs : data->n_rows, n = 0,
           rows = (size_t)top_list_rows(st);
    struct element *v = ARENA_ARRAY(a, struct element, all + 1);
    size_t *order = ARENA_ARRAY(a, size_t, all + 1);

    for (size_t i = 0; i < all; i++)
        if (is_listed(st, data, i) && !is_a_sum(st, data, i))
            v[n++] = element_of(st, data, i);
    if (n > 1 && (st->page == TOP_JOBS || list->sort != TOP_BY_ORDER || list->reverse))
        qsort_r(v, n, sizeof(*v), compare, list);
    for (size_t i = 0; i < n; i++)
        order[i] = v[i].index;
    list->cursor = find_cursor(st, data, order, n);
    if (n > 0 && *list->key)
        key_of(st, data, order[list->cursor], list->key);
    if (list->first > list->cursor)
        list->first = list->cursor;
    if (list->cursor >= list->first + rows)
        list->first = list->cursor - rows + 1;
    if (list->first + rows > n)
        list->first = n > rows ? n - rows : 0;
    return (struct top_view){.order = order,
                             .n = n,
                             .first = list->first,
                             .shown = n - list->first < rows ? n - list->first : rows,
                             .cursor = list->cursor};
}
