/* keys.c - what each key does to the state; see state.h. */
#include <stdio.h>
#include <string.h>

#include "top/state.h"

static struct top_list *list_of(struct top_state *st)
{
    return &st->list[st->page == TOP_JOBS ? TOP_JOBS : TOP_ROWS];
}

static void keep(char out[TOP_TEXT], const char *text)
{
    (void)snprintf(out, TOP_TEXT, "%s", text);
}

/* --- the selection ---------------------------------------------------------------------------- */

static void move(struct top_state *st, const struct top_data *data, const struct top_view *view,
                 int64_t to)
{
    struct top_list *list = list_of(st);

    if (view->n == 0)
        return;
    list->cursor = to < 0 ? 0 : (size_t)to >= view->n ? view->n - 1 : (size_t)to;
    size_t i = view->order[list->cursor];
    if (st->page == TOP_JOBS)
        keep(list->key, data->jobs[i].id);
    else
        (void)snprintf(list->key, TOP_TEXT, "%s %d", data->rows[i].replica,
                       (int)data->rows[i].rank);
}

static enum top_action open_log(struct top_state *st, const struct top_data *data,
                                const struct top_view *view)
{
    const struct top_job *job =
        st->page == TOP_JOBS ? top_selected_job(data, view) : top_job_of(data, st->job);
    const struct top_row *row =
        st->page == TOP_ROWS && view->n ? &data->rows[view->order[view->cursor]] : NULL;
    const char *log = row ? row->log : job ? job->log : NULL;

    if (!job || !log || !*log) {
        keep(st->message, "no log yet");
        return TOP_NOTHING;
    }
    st->log_from = st->page;
    st->page = TOP_LOG;
    st->log_end = -1;
    st->log_shift = 0;
    keep(st->log_job, job->id);
    (void)snprintf(st->log, sizeof(st->log), "%s", log);
    if (row && row->rank >= 0)
        (void)snprintf(st->log_of, TOP_TEXT, "%s/%d", row->replica, (int)row->rank);
    else
        keep(st->log_of, row ? row->replica : job->name);
    return TOP_REFRESH;
}

static enum top_action enter(struct top_state *st, const struct top_data *data,
                             const struct top_view *view)
{
    const struct top_job *job;

    if (st->page == TOP_ROWS)
        return open_log(st, data, view);
    job = top_selected_job(data, view);
    if (!job)
        return TOP_NOTHING;
    keep(st->job, job->id);
    keep(st->list[TOP_JOBS].key, job->id);
    st->page = TOP_ROWS;
    st->list[TOP_ROWS] =
        (struct top_list){.sort = st->list[TOP_ROWS].sort, .reverse = st->list[TOP_ROWS].reverse};
    return TOP_REFRESH;
}

static enum top_action leave(struct top_state *st)
{
    if (st->page == TOP_JOBS) {
        *st->list[TOP_JOBS].filter = '\0';
        return TOP_NOTHING;
    }
    if (st->page == TOP_ROWS && *st->list[TOP_ROWS].filter) {
        *st->list[TOP_ROWS].filter = '\0';
        return TOP_NOTHING;
    }
    st->page = st->page == TOP_LOG ? st->log_from : TOP_JOBS;
    return TOP_REFRESH;
}

static void ask_to_cancel(struct top_state *st, const struct top_data *data,
                          const struct top_view *view)
{
    const struct top_job *job = st->page == TOP_JOBS   ? top_selected_job(data, view)
                                : st->page == TOP_ROWS ? top_job_of(data, st->job)
                                                       : top_job_of(data, st->log_job);

    if (!job)
        return;
    if (!job->alive) {
        (void)snprintf(st->message, sizeof(st->message), "%.60s has ended", job->id);
        return;
    }
    keep(st->asked, job->id);
    keep(st->asked_name, job->name);
}

/* --- modes ------------------------------------------------------------------------------------ */

static enum top_action type(struct top_state *st, int key)
{
    struct top_list *list = list_of(st);
    size_t n = strlen(list->filter);

    if (key == TOP_KEY_ENTER)
        st->typing = false;
    else if (key == TOP_KEY_ESCAPE) {
        st->typing = false;
        *list->filter = '\0';
    } else if (key == TOP_KEY_BACKSPACE && n > 0)
        list->filter[n - 1] = '\0';
    else if (key >= ' ' && key < 0x7f && n + 1 < TOP_TEXT)
        list->filter[n] = (char)key, list->filter[n + 1] = '\0';
    return TOP_NOTHING;
}

static enum top_action answer(struct top_state *st, int key)
{
    if (key == 'y' || key == 'Y')
        return TOP_CANCEL;
    *st->asked = '\0';
    keep(st->message, "not cancelled");
    return TOP_NOTHING;
}

static enum top_action press_in_log(struct top_state *st, int key, int *ret_lines)
{
    int page = top_list_rows(st) - 1;

    *ret_lines = 1;
    switch (key) {
    case TOP_KEY_PAGE_UP:
    case 'b':
        *ret_lines = page > 1 ? page : 1;
        return TOP_LOG_UP;
    case TOP_KEY_UP:
    case 'k':
        return TOP_LOG_UP;
    case TOP_KEY_PAGE_DOWN:
    case ' ':
        *ret_lines = page > 1 ? page : 1;
        return TOP_LOG_DOWN;
    case TOP_KEY_DOWN:
    case 'j':
        return TOP_LOG_DOWN;
    case TOP_KEY_HOME:
    case 'g':
        return TOP_LOG_BEGIN;
    case TOP_KEY_END:
    case 'G':
    case 'f':
        st->log_end = -1;
        return TOP_REFRESH;
    case TOP_KEY_RIGHT:
        st->log_shift += st->columns / 2;
        return TOP_NOTHING;
    case TOP_KEY_LEFT:
        if (st->log_shift == 0)
            return leave(st);
        st->log_shift -= st->log_shift < st->columns / 2 ? st->log_shift : st->columns / 2;
        return TOP_NOTHING;
    default:
        return TOP_NOTHING;
    }
}

static enum top_action press_in_list(struct top_state *st, const struct top_data *data,
                                     const struct top_view *view, int key)
{
    struct top_list *list = list_of(st);
    int64_t at = (int64_t)view->cursor, page = top_list_rows(st);

    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        move(st, data, view, at - 1);
        break;
    case TOP_KEY_DOWN:
    case 'j':
        move(st, data, view, at + 1);
        break;
    case TOP_KEY_PAGE_UP:
        move(st, data, view, at - page);
        break;
    case TOP_KEY_PAGE_DOWN:
    case ' ':
        move(st, data, view, at + page);
        break;
    case TOP_KEY_HOME:
    case 'g':
        move(st, data, view, 0);
        break;
    case TOP_KEY_END:
    case 'G':
        move(st, data, view, (int64_t)view->n - 1);
        break;
    case TOP_KEY_ENTER:
    case TOP_KEY_RIGHT:
        return enter(st, data, view);
    case TOP_KEY_LEFT:
        return leave(st);
    case 'l':
        return open_log(st, data, view);
    case 's':
        list->sort = (list->sort + 1) % TOP_SORTS;
        break;
    case 'r':
        list->reverse = !list->reverse;
        break;
    case '/':
        st->typing = true;
        break;
    case 'a':
        st->all = !st->all;
        return TOP_REFRESH;
    case 't':
        st->replicas_only = !st->replicas_only;
        break;
    default:
        break;
    }
    return TOP_NOTHING;
}

enum top_action top_press(struct top_state *st, const struct top_data *data,
                          const struct top_view *view, int key, int *ret_lines)
{
    if (*st->asked)
        return answer(st, key);
    if (st->typing)
        return type(st, key);
    *st->message = '\0';
    if (st->help) { /* whatever is pressed ends it */
        st->help = false;
        return TOP_NOTHING;
    }
    switch (key) {
    case 'q':
        return TOP_QUIT;
    case '?':
        st->help = true;
        return TOP_NOTHING;
    case 'c':
        ask_to_cancel(st, data, view);
        return TOP_NOTHING;
    case TOP_KEY_ESCAPE:
    case TOP_KEY_BACKSPACE:
        return leave(st);
    default:
        return st->page == TOP_LOG ? press_in_log(st, key, ret_lines)
                                   : press_in_list(st, data, view, key);
    }
}
