/* collect.c - see collect.h. */
#include "top/collect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "inspect/usage.h"
#include "journal/journal.h"
#include "top/logs.h"

#define LIST_SHARE 100 /* ended jobs are read again after so many times of what that costs */
#define LIST_LEAST (5 * NS_PER_S)

struct detail { /* of a job, as its journal has it */
    char *id;   /* heap; NULL: free */
    struct arena *a;
    struct job *job; /* NULL: it cannot be read */
    struct err why;
    off_t size;
    struct timespec changed;
    uint64_t used; /* when, to find the one that has not been for the longest time */
    uint32_t ranks, running;
    const char *log; /* of the rank that failed first, else of the first one */
};

struct collector {
    struct usage *usage;
    struct arena *a; /* of the list */
    struct runs runs;
    const struct run_ref **by_id, **ended_by_id;
    struct arena *ended_arena;
    struct runs ended; /* all of them, of a moment ago */
    ns_t list_again;
    size_t alive;
    struct detail details[LIMIT_TOP_DETAILS];
    uint64_t clock;
};

struct collector *collector_new(void)
{
    struct collector *c = xcalloc(1, sizeof(*c));

    c->usage = usage_new(NULL);
    return c;
}

static void forget(struct detail *d)
{
    free(d->id);
    job_free(d->job);
    arena_free(d->a);
    *d = (struct detail){0};
}

void collector_free(struct collector *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < LIMIT_TOP_DETAILS; i++)
        if (c->details[i].id)
            forget(&c->details[i]);
    usage_free(c->usage);
    arena_free(c->a);
    arena_free(c->ended_arena);
    free(c);
}

/* --- runs ------------------------------------------------------------------------------------- */

static bool is_open(const struct run_ref *run)
{
    return run->alive || run->kept_until;
}

static int by_id(const void *x, const void *y)
{
    const struct run_ref *const *a = x, *const *b = y;

    return strcmp((*a)->id, (*b)->id);
}

/* Runs by their ids, in their arena. */
static const struct run_ref **index_of(struct arena *a, const struct runs *runs)
{
    const struct run_ref **v = ARENA_ARRAY(a, const struct run_ref *, runs->n + 1);

    for (size_t i = 0; i < runs->n; i++)
        v[i] = &runs->v[i];
    if (runs->n > 1)
        qsort(v, runs->n, sizeof(const struct run_ref *), by_id);
    return v;
}

static const struct run_ref *find(const struct run_ref **index, size_t n, const char *id)
{
    const struct run_ref key = {.id = id}, *wanted = &key;
    const struct run_ref **found =
        n ? bsearch(&wanted, index, n, sizeof(const struct run_ref *), by_id) : NULL;

    return found ? *found : NULL;
}

const struct run_ref *collector_run(const struct collector *c, const char *id)
{
    const struct run_ref *run = find(c->by_id, c->runs.n, id);

    return run ? run : find(c->ended_by_id, c->ended.n, id);
}

/* Those that have ended are read again if one more has, and now and then. */
static void list_runs(struct collector *c)
{
    ns_t now = clock_mono();
    size_t before = c->alive;

    arena_free(c->a);
    c->a = arena_new();
    runs_living(c->a, &c->runs);
    c->by_id = index_of(c->a, &c->runs);
    c->alive = c->runs.n;
    if (now < c->list_again && c->alive >= before)
        return;
    ns_t begun = clock_cpu();
    arena_free(c->ended_arena);
    c->ended_arena = arena_new();
    runs_list(c->ended_arena, &c->ended);
    c->ended_by_id = index_of(c->ended_arena, &c->ended);
    ns_t pause = (clock_cpu() - begun) * LIST_SHARE;
    c->list_again = now + (pause > LIST_LEAST ? pause : LIST_LEAST);
}

static struct top_use use_of(const struct collector *c, const char *run_id)
{
    const struct usage_row *v;
    size_t n = usage_rows_of(c->usage, run_id, &v);
    struct top_use sum = {0};

    for (size_t i = 0; i < n; i++)
        top_use_add(&sum, &(struct top_use){.known = true,
                                            .cpu = v[i].cpu_percent,
                                            .memory = v[i].memory,
                                            .read = v[i].read_rate,
                                            .written = v[i].write_rate});
    return sum;
}

static const char *note_of(const struct run_ref *run)
{
    if (run->waiting && *run->waiting)
        return run->waiting;
    if (*run->remark)
        return run->remark;
    return *run->verdict ? run->verdict : run->fault;
}

static void add_job(const struct collector *c, const struct run_ref *run, struct top_data *data)
{
    struct top_job *job = &data->jobs[data->n_jobs++];

    *job = (struct top_job){.id = run->id,
                            .name = run->name,
                            .dialect = run->dialect,
                            .state = run->state,
                            .dir = run->dir,
                            .note = note_of(run),
                            .alive = is_open(run),
                            .waits = run->waiting != NULL,
                            .exit_code = run->exit_code,
                            .since = run->started ? run->started : run->submitted,
                            .until = run->ended ? run->ended
                                     : run->now ? run->now
                                                : data->now,
                            .use = use_of(c, run->id)};
    if (job->waits)
        data->waiting++;
    else if (job->alive)
        data->running++;
    else
        data->ended++;
    top_use_add(&data->total, &job->use);
}

void collector_refresh(struct collector *c, struct arena *a, const struct top_state *st,
                       struct top_data *ret)
{
    list_runs(c);
    usage_look(c->usage);
    *ret = (struct top_data){.now = clock_real(),
                             .jobs = ARENA_ARRAY(a, struct top_job, c->runs.n + c->ended.n + 1),
                             .unlisted = c->runs.unlisted};
    for (size_t i = 0; i < c->ended.n; i++)
        if (!find(c->by_id, c->runs.n, c->ended.v[i].id) &&
            (!c->ended.v[i].alive || c->ended.v[i].kept_until))
            add_job(c, &c->ended.v[i], ret);
    for (size_t i = 0; i < c->runs.n; i++)
        add_job(c, &c->runs.v[i], ret);
    if (st->page == TOP_ROWS)
        ret->n_rows = collector_rows(c, a, st->job, &ret->rows, &ret->why_no_rows);
    if (st->page == TOP_LOG)
        collector_log(c, a, st, ret);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static struct detail *place_for(struct collector *c, const char *id)
{
    struct detail *oldest = &c->details[0];

    for (size_t i = 0; i < LIMIT_TOP_DETAILS; i++) {
        struct detail *d = &c->details[i];

        if (d->id && strcmp(d->id, id) == 0)
            return d;
        if (d->used < oldest->used)
            oldest = d;
    }
    if (oldest->id)
        forget(oldest);
    oldest->id = xstrdup(id);
    return oldest;
}

/* What is asked for often is counted once. */
static void count(struct detail *d)
{
    auto_arena struct arena *a = arena_new();
    struct cause cause = job_first_failure(d->job);
    struct top_row *v;
    size_t n = top_rows(a, d->job, NULL, &v);
    const char *log = NULL, *failed = NULL;

    for (size_t i = 0; i < n; i++) {
        bool replica_only = i + 1 < n && !v[i].below && v[i + 1].below;

        if (replica_only)
            continue;
        d->ranks++;
        d->running += strcmp(v[i].state, "running") == 0;
        if (!log && *v[i].log)
            log = v[i].log;
        if (cause.kind != CAUSE_NONE && cause.replica >= 0 && v[i].rank == cause.rank &&
            strcmp(v[i].replica, d->job->plan->replicas[cause.replica].name) == 0)
            failed = v[i].log;
    }
    d->log = arena_strdup(d->a, failed && *failed ? failed : log ? log : "");
}

static struct detail *detail_of(struct collector *c, const struct run_ref *run)
{
    auto_close int fd = *run->dir ? open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat st;

    if (fd < 0 || fstatat(fd, JOURNAL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    struct detail *d = place_for(c, run->id);
    d->used = ++c->clock;
    if (d->a && d->size == st.st_size && d->changed.tv_sec == st.st_mtim.tv_sec &&
        d->changed.tv_nsec == st.st_mtim.tv_nsec)
        return d;
    job_free(d->job);
    arena_free(d->a);
    *d = (struct detail){.id = d->id,
                         .a = arena_new(),
                         .size = st.st_size,
                         .changed = st.st_mtim,
                         .used = d->used,
                         .log = ""};
    if (journal_load(d->a, fd, &d->job, &d->why) < 0)
        d->job = NULL;
    else
        count(d);
    return d;
}

size_t collector_rows(struct collector *c, struct arena *a, const char *id, struct top_row **ret,
                      const char **ret_why)
{
    const struct run_ref *run = collector_run(c, id);
    const struct detail *d = run ? detail_of(c, run) : NULL;

    *ret = NULL;
    if (d && d->job)
        return top_rows(a, d->job, c->usage, ret);
    *ret_why = !run           ? "this job is gone"
               : run->waiting ? "not started yet"
               : d            ? arena_strdup(a, d->why.text)
                              : "it left no journal";
    return 0;
}

static int open_logs(const struct run_ref *run)
{
    auto_close int fd = run && *run->dir ? open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    return fd < 0 ? -1 : openat(fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void fill_job(struct collector *c, struct arena *a, struct top_job *job)
{
    const struct run_ref *run = collector_run(c, job->id);
    const struct detail *d = run ? detail_of(c, run) : NULL;
    auto_close int logs_fd = d && d->job ? open_logs(run) : -1;

    if (!d)
        return;
    job->ranks = d->ranks;
    job->running = job->alive ? d->running : 0;
    job->log = arena_strdup(a, d->log);
    if (logs_fd >= 0 && *d->log && !*job->note)
        job->last = log_last_line(a, logs_fd, d->log);
}

void collector_fill(struct collector *c, struct arena *a, const struct top_state *st,
                    const struct top_view *view, struct top_data *data)
{
    auto_close int logs_fd = st->page == TOP_ROWS ? open_logs(collector_run(c, st->job)) : -1;

    for (size_t i = view->first; i < view->first + view->shown; i++) {
        size_t k = view->order[i];

        if (st->page == TOP_JOBS)
            fill_job(c, a, &data->jobs[k]);
        else if (st->page == TOP_ROWS && logs_fd >= 0 && *data->rows[k].log)
            data->rows[k].last = log_last_line(a, logs_fd, data->rows[k].log);
    }
}

/* --- a log ------------------------------------------------------------------------------------ */

void collector_log(struct collector *c, struct arena *a, const struct top_state *st,
                   struct top_data *data)
{
    struct log_window w = {0};
    auto_close int logs_fd = open_logs(collector_run(c, st->log_job));
    int r = log_window(a, logs_fd, st->log, st->log_end, (size_t)top_list_rows(st), &w);

    data->lines = w.lines;
    data->n_lines = w.n;
    data->log_size = w.size;
    data->log_at_end = st->log_end >= w.size;
    if (r < 0)
        data->why_no_rows = r == -ENOENT ? "no output yet" : "this log cannot be read";
}

void collector_log_move(struct collector *c, struct top_state *st, int lines, bool begin)
{
    auto_arena struct arena *a = arena_new();
    auto_close int logs_fd = open_logs(collector_run(c, st->log_job));
    size_t rows = (size_t)top_list_rows(st);
    struct log_window w;

    if (begin) {
        st->log_end = log_window_after(logs_fd, st->log, 0, rows);
        return;
    }
    if (lines > 0 && st->log_end >= 0)
        st->log_end = log_window_after(logs_fd, st->log, st->log_end, (size_t)lines);
    if (lines >= 0 || log_window(a, logs_fd, st->log, st->log_end, 2 * rows, &w) < 0)
        return;
    size_t up = (size_t)-lines, hidden = w.n > rows ? w.n - rows : 0;
    if (up > hidden)
        up = hidden; /* the first line of the log stays at the top */
    if (up == 0 && w.n > 0 && w.starts[0] > 0)
        up = 1; /* lines so long that fewer than a screen of them were read */
    if (up > 0)
        st->log_end = w.starts[w.n - up];
}

int collector_cancel(struct collector *c, const char *id, struct err *e)
{
    const struct run_ref *run = collector_run(c, id);

    if (!run || !is_open(run))
        return err_set(e, -ENOENT, "%s has ended", id);
    if (run->kept_until)
        return err_set(e, -ENOTSUP, "it is detached; use muster cancel %s", id);
    auto_arena struct arena *a = arena_new();
    struct run_ref now = *run;
    int r = runs_request(a, &now, "cancel", e);
    return r == -ESRCH ? err_set(e, r, "%s has ended", id) : r;
}
