/* top.c - `muster top`: jobs, replicas and ranks with what they use, live or once.
 *
 * The live screen is in a program of its own, muster-top, because it needs ncurses.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cli/as_typed.h"
#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "doc/json.h"
#include "top/collect.h"
#include "top/terminal.h"

#define BETWEEN_LOOKS_MS 500 /* of --once: rates are those of this time */

struct options {
    const char *output;
    bool once, all;
    int64_t interval_ms;
};

/* --- once ------------------------------------------------------------------------------------- */

static void json_use(struct json *j, const struct top_use *use)
{
    static const char *const keys[] = {"cpu_percent", "memory", "read_per_s", "written_per_s"};
    const uint64_t values[] = {use->cpu, use->memory, use->read, use->written};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (use->known)
            json_kv_int(j, keys[i], (int64_t)values[i]);
        else
            json_kv_null(j, keys[i]);
    }
}

static void kv_known(struct json *j, const char *key, const char *text)
{
    json_kv_str(j, key, text && *text ? text : NULL);
}

static void json_row(struct json *j, const struct top_row *row)
{
    json_object(j);
    json_kv_str(j, "replica", row->replica);
    json_key(j, "rank");
    if (row->rank >= 0)
        json_int(j, row->rank);
    else
        json_null(j);
    json_kv_str(j, "state", row->state);
    kv_known(j, "end", row->end);
    json_kv_int(j, "restarts", row->restarts);
    json_use(j, &row->use);
    kv_known(j, "log", row->log);
    kv_known(j, "last_line", row->last);
    json_end(j);
}

static void json_job(struct json *j, const struct top_job *job, const struct top_data *data)
{
    char text[CLOCK_TEXT];

    json_object(j);
    json_kv_str(j, "id", job->id);
    kv_known(j, "name", job->name);
    kv_known(j, "dialect", job->dialect);
    json_kv_str(j, "state", job->state);
    json_kv_bool(j, "running", job->alive && !job->waits);
    kv_known(j, "note", job->note);
    json_kv_str(j, "since", job->since ? clock_rfc3339(job->since, text) : NULL);
    json_use(j, &job->use);
    json_key(j, "rows");
    json_array(j);
    for (size_t i = 0; i < data->n_rows; i++)
        json_row(j, &data->rows[i]);
    json_end(j);
    json_end(j);
}

/* The rows of a job with the last line of each. */
static void fill_rows(struct collector *c, struct arena *a, struct top_state *st,
                      struct top_data *data, const char *id)
{
    auto_free size_t *order = NULL;

    st->page = TOP_ROWS;
    (void)snprintf(st->job, sizeof(st->job), "%s", id);
    data->n_rows = collector_rows(c, a, id, &data->rows, &data->why_no_rows);
    order = xcalloc(data->n_rows + 1, sizeof(*order));
    for (size_t i = 0; i < data->n_rows; i++)
        order[i] = i;
    collector_fill(c, a, st,
                   &(struct top_view){.order = order, .n = data->n_rows, .shown = data->n_rows},
                   data);
}

static void print_json(struct collector *c, struct arena *a, struct top_state *st,
                       struct top_data *data, const char *only)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_kv_int(&j, "version", 1);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < data->n_jobs; i++) {
        if (only ? strcmp(data->jobs[i].id, only) != 0 : !data->jobs[i].alive && !st->all)
            continue;
        fill_rows(c, a, st, data, data->jobs[i].id);
        json_job(&j, &data->jobs[i], data);
    }
    json_end(&j);
    json_end(&j);
    printf("%s\n", sb.buf);
}

/* On a terminal lines fit it; in a file or a pipe they are whole. */
static int columns_of_stdout(void)
{
    struct winsize size = {0};

    if (!isatty(STDOUT_FILENO))
        return LIMIT_TOP_COLUMNS;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void print_jobs(struct collector *c, struct arena *a, struct top_state *st,
                       struct top_data *data)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct top_view view;
    size_t kept = 0;

    st->rows = (int)data->n_jobs + 8;
    view = top_arrange(a, st, data);
    collector_fill(c, a, st, &view, data);
    struct top_job *jobs = ARENA_ARRAY(a, struct top_job, view.n + 1);
    for (; kept < view.n; kept++)
        jobs[kept] = data->jobs[view.order[kept]];
    data->jobs = jobs;
    data->n_jobs = kept;
    if (kept > 0)
        top_print_jobs(&out, data, columns_of_stdout());
    (void)fwrite(out.buf, 1, out.len, stdout);
    if (data->unlisted)
        tell_note(data->unlisted);
    if (kept == 0)
        (void)fprintf(stderr, st->all ? "there are no runs\n" : "no job is running\n");
}

static int once(const struct options *o, const char *only)
{
    static const struct timespec moment = {.tv_nsec = BETWEEN_LOOKS_MS * NS_PER_MS};
    auto_arena struct arena *a = arena_new(), *first = arena_new();
    struct collector *c = collector_new();
    struct top_state st;
    struct top_data data;

    top_state_init(&st);
    st.all = o->all;
    collector_refresh(c, first, &st, &data);
    (void)nanosleep(&moment, NULL);
    collector_refresh(c, a, &st, &data);
    if (strcmp(o->output, "json") == 0)
        print_json(c, a, &st, &data, only);
    else if (only) {
        auto_strbuf struct strbuf out = STRBUF_INIT;

        fill_rows(c, a, &st, &data, only);
        top_print_rows(&out, &data, columns_of_stdout());
        (void)fwrite(out.buf, 1, out.len, stdout);
        if (data.n_rows == 0)
            (void)fprintf(stderr, "%s: %s\n", only, data.why_no_rows);
    } else
        print_jobs(c, a, &st, &data);
    collector_free(c);
    return finish_output();
}

/* --- live ------------------------------------------------------------------------------------- */

static int refuse(const char *why)
{
    tell_error("%s", why);
    print_try("muster top --once");
    return EXIT_USAGE;
}

static int live(const struct verb *verb, const struct options *o, const char *job, char **words)
{
    const char *term = getenv("TERM");
    struct err e;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return refuse("top needs a terminal");
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return refuse("top needs a terminal with a cursor, and TERM is \"dumb\" or not set");
    if (!top_show)
        (void)place_become(verb->name, words, &e);
    else if (top_show(
                 &(struct top_options){.interval_ms = o->interval_ms, .all = o->all, .job = job},
                 &e) == 0)
        return EXIT_FINE;
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

static int run_top(const struct verb *verb, int argc, char **argv)
{
    static char muster[] = "muster";
    auto_arena struct arena *a = arena_new();
    auto_free char **words = xcalloc((size_t)argc + 2, sizeof(*words));
    struct options o = {.output = "human", .interval_ms = 1000};
    struct operands ops;
    struct run_ref run;

    words[0] = muster;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    int code = target_operands(verb, &o, argc, argv, 1, &ops);
    if (code == 0 && o.interval_ms < LIMIT_TOP_INTERVAL_MS)
        return usage_error(verb, "--interval must be at least %d ms", LIMIT_TOP_INTERVAL_MS);
    if (code == 0 && strcmp(o.output, "json") == 0)
        o.once = true;
    if (code == 0 && ops.n)
        code = target_find(verb, a, ops.v[0], &run);
    if (code != 0)
        return code;
    const char *job = ops.n ? run.id : NULL;
    return o.once ? once(&o, job) : live(verb, &o, job, words);
}

static const char *const outputs[] = {"human", "json", NULL};

static const struct opt opts[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct options, all), .help = "show jobs that have ended, too"},
    {"interval", 'd', OPT_DURATION, offsetof(struct options, interval_ms), "D",
     .help = "time between two refreshes (default: 1s)"},
    {"once", 0, OPT_FLAG, offsetof(struct options, once),
     .help = "print the table once and exit; for scripts"},
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default) or json: once, with every rank"},
    OPT_END,
};

const struct verb verb_top = {
    .name = "top",
    .synopsis = "[OPTION…] [ID]",
    .summary = "watch jobs, replicas and ranks live",
    .about =
        "Shows running and waiting jobs with CPU, memory, I/O and their last lines; Enter opens a "
        "job with its replicas and ranks, and there the log of one. Press ? for the keys. Works "
        "at any size of the terminal. CPU is in percent of one core, memory is the sum of "
        "resident pages. Ranks in a cluster have no such numbers.\n\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_top,
};
