/* state.h - what a person has chosen in `muster top`, and what follows from it for the screen.
 *
 * Everything here is pure: keys change the state (keys.c), state and data give the rows in their
 * order (order.c), and these give lines of text (draw.c). Nothing knows a terminal or a file.
 */
#ifndef TOP_STATE_H
#define TOP_STATE_H

#include "base/strbuf.h"
#include "plan/plan.h"
#include "top/data.h"

#define TOP_TEXT 128 /* bytes of ids, names and filters */

enum top_page { TOP_JOBS, TOP_ROWS, TOP_LOG };
enum top_sort { TOP_BY_ORDER, TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_IO, TOP_BY_NAME, TOP_BY_STATE };
#define TOP_SORTS 6

struct top_list { /* of jobs, or of rows */
    enum top_sort sort;
    bool reverse;
    char filter[TOP_TEXT];
    char key[TOP_TEXT]; /* what is selected: a job's id, "REPLICA RANK"; "": the first */
    size_t cursor;      /* where that was; where it is gone the one that has come there */
    size_t first;       /* the first one on the screen */
};

struct top_state {
    enum top_page page, log_from;
    bool help, typing, replicas_only;
    bool all; /* also jobs that have ended */
    struct top_list list[2];
    char job[TOP_TEXT];                         /* that is open */
    char asked[TOP_TEXT], asked_name[TOP_TEXT]; /* cancel it? "": nothing is asked */
    char message[2 * TOP_TEXT];
    /* The log. */
    char log_job[TOP_TEXT], log[PLAN_LOG_NAME], log_of[TOP_TEXT];
    int64_t log_end; /* where the last line on the screen ends; -1: follow */
    int log_shift;   /* columns */
    int rows, columns;
};

/* The rows of a list in their order, and which of them are on the screen. */
struct top_view {
    const size_t *order; /* indices into jobs or rows */
    size_t n, first, shown, cursor;
};

void top_state_init(struct top_state *st);

/* order.c. Also keeps the selection on the screen. page: TOP_JOBS or TOP_ROWS. */
struct top_view top_arrange(struct arena *a, struct top_state *st, const struct top_data *data);
/* Lines of a list or a log on a screen of so many rows. */
int top_list_rows(const struct top_state *st);
const struct top_job *top_job_of(const struct top_data *data, const char *id); /* or NULL */
const struct top_job *top_selected_job(const struct top_data *data, const struct top_view *view);

/* --- keys.c ----------------------------------------------------------------------------------- */

enum top_key { /* characters are themselves */
               TOP_KEY_UP = 0x110000,
               TOP_KEY_DOWN,
               TOP_KEY_LEFT,
               TOP_KEY_RIGHT,
               TOP_KEY_PAGE_UP,
               TOP_KEY_PAGE_DOWN,
               TOP_KEY_HOME,
               TOP_KEY_END,
               TOP_KEY_ENTER,
               TOP_KEY_ESCAPE,
               TOP_KEY_BACKSPACE,
               TOP_KEY_OTHER
};

enum top_action {
    TOP_NOTHING,
    TOP_QUIT,
    TOP_REFRESH, /* another page, with data of its own */
    TOP_CANCEL,  /* the job st->asked, which the action clears */
    TOP_LOG_UP,  /* by *ret_lines */
    TOP_LOG_DOWN,
    TOP_LOG_BEGIN,
};

enum top_action top_press(struct top_state *st, const struct top_data *data,
                          const struct top_view *view, int key, int *ret_lines);

/* --- draw.c ----------------------------------------------------------------------------------- */

enum top_look { LOOK_PLAIN, LOOK_TITLE, LOOK_HEADER, LOOK_SELECTED, LOOK_FAILED, LOOK_DIM };

struct top_line {
    const char *text; /* printable, at most st->columns wide */
    enum top_look look;
};

/* st->rows lines, in the arena. */
struct top_line *top_draw(struct arena *a, const struct top_state *st, const struct top_data *data,
                          const struct top_view *view);

/* The same tables as text, for --once: every line, columns as wide as their contents need. */
void top_print_jobs(struct strbuf *out, const struct top_data *data, int columns);
void top_print_rows(struct strbuf *out, const struct top_data *data, int columns);

#endif
