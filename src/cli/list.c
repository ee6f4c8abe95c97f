/* list.c - `muster list`: the runs there are, in the order in which they started.
 *
 * The table has the newest ones and those that run; what programs read (-q, -o json) is complete.
 */
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "doc/json.h"

struct options {
    const char *output;
    bool running, quiet, all;
};

/* Also one that goes on without its muster. */
static bool is_open(const struct run_ref *run)
{
    return run->alive || run->kept_until;
}

/* Why the queue lets it wait, or NULL. */
static const char *reason_of(const struct run_ref *run)
{
    return run->waiting && *run->waiting ? run->waiting : run->held_up;
}

static void kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    json_kv_str(j, key, at ? clock_rfc3339(at, text) : NULL);
}

static void kv_known(struct json *j, const char *key, const char *text)
{
    json_kv_str(j, key, *text ? text : NULL);
}

static void json_run(struct json *j, const struct run_ref *run)
{
    json_object(j);
    json_kv_str(j, "id", run->id);
    kv_known(j, "name", run->name);
    kv_known(j, "dialect", run->dialect);
    json_kv_str(j, "state", run->state);
    kv_known(j, "remark", run->remark);
    json_kv_bool(j, "running", run->alive);
    json_key(j, "exit_code");
    if (run->exit_code >= 0)
        json_int(j, run->exit_code);
    else
        json_null(j);
    kv_time(j, "started", run->started);
    kv_time(j, "ended", run->ended);
    kv_known(j, "run_dir", run->dir);
    json_end(j);
}

/* CONTRACTS §11: the same for whoever looks at jobs, of the daemon or not. */
static void json_job(struct json *j, const struct run_ref *run)
{
    bool ended = !is_open(run) && run->exit_code >= 0;

    json_object(j);
    json_kv_str(j, "id", run->id);
    kv_known(j, "name", run->name);
    kv_known(j, "dialect", run->dialect);
    json_kv_str(j, "phase", ended ? "ended" : run->state);
    json_kv_str(j, "outcome", ended ? run->state : NULL);
    json_key(j, "exit_code");
    if (run->exit_code >= 0)
        json_int(j, run->exit_code);
    else
        json_null(j);
    json_kv_str(j, "queue", run->queue);
    json_key(j, "priority");
    if (run->queue)
        json_int(j, run->priority);
    else
        json_null(j);
    kv_time(j, "submitted", run->submitted ? run->submitted : run->started);
    kv_time(j, "started", run->started);
    kv_time(j, "ended", run->ended);
    json_kv_str(j, "waiting", reason_of(run));
    json_end(j);
}

static void print_json(const struct runs *runs, bool running)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_key(&j, "runs");
    json_array(&j);
    for (size_t i = 0; i < runs->n; i++)
        if (is_open(&runs->v[i]) || !running)
            json_run(&j, &runs->v[i]);
    json_end(&j);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < runs->n; i++)
        if (is_open(&runs->v[i]) || !running)
            json_job(&j, &runs->v[i]);
    json_end(&j);
    json_end(&j);
    printf("%s\n", sb.buf);
}

/* Names come from job files, and the rest from files that anybody may have damaged. */
static const char *cell(struct arena *a, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    return safe.len ? arena_strdup(a, safe.buf) : "-";
}

static void print_row(struct arena *a, const struct run_ref *run, ns_t now)
{
    char age[DURATION_TEXT] = "-";
    const char *state =
        *run->remark ? arena_printf(a, "%s (%s)", run->state, run->remark) : run->state;

    ns_t since = run->started ? run->started : run->submitted;
    if (since)
        (void)age_text(((run->now ? run->now : now) - since) / NS_PER_MS, age);
    printf("%-21s %-24s %-22s %-10s %s", cell(a, run->id), cell(a, run->name),
           cell(a, run->dialect), cell(a, state), age);
    if (reason_of(run))
        printf("  %s", cell(a, reason_of(run)));
    putchar('\n');
}

static void print_table(struct arena *a, const struct runs *runs, const struct options *o)
{
    ns_t now = clock_real();
    size_t shown = 0, left = 0;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_ref *run = &runs->v[i];
        if (o->running && !is_open(run))
            continue;
        if (!o->all && !is_open(run) && runs->n - i > LIMIT_RUNS_SHOWN) {
            left++;
            continue;
        }
        if (shown++ == 0)
            printf("%-21s %-24s %-22s %-10s %s\n", "ID", "NAME", "DIALECT", "STATE", "AGE");
        print_row(a, run, now);
    }
    if (left > 0) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "%zu more; use --all to list them\n", left);
    }
    if (shown == 0 && runs->fault.code == 0)
        (void)fprintf(stderr, o->running ? "no job is running\n" : "there are no runs\n");
}

static void print_ids(const struct runs *runs, bool running)
{
    for (size_t i = 0; i < runs->n; i++)
        if (is_open(&runs->v[i]) || !running)
            printf("%s\n", runs->v[i].id);
}

static int run_list(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.output = "human"};
    struct operands ops;
    struct runs runs;
    int code = target_operands(verb, &o, argc, argv, 0, &ops);

    if (code != 0)
        return code;
    runs_list(a, &runs);
    if (strcmp(o.output, "json") == 0)
        print_json(&runs, o.running);
    else if (o.quiet)
        print_ids(&runs, o.running);
    else
        print_table(a, &runs, &o);
    code = finish_output();
    if (runs.fault.code == 0)
        return code;
    tell_error("%s", runs.fault.text);
    return EXIT_FAILED;
}

static const char *const outputs[] = {"human", "json", NULL};

static const struct opt opts[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct options, all),
     .help = "list all runs, not only the newest 20"},
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default) or json"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct options, quiet), .help = "ids only"},
    {"running", 'r', OPT_FLAG, offsetof(struct options, running),
     .help = "list only runs that have not ended"},
    OPT_END,
};

const struct verb verb_list = {
    .name = "list",
    .synopsis = "[OPTION…]",
    .summary = "list running and finished jobs",
    .about =
        "Shows the newest 20 runs and all that have not ended; -q and -o json list every run. The "
        "state of a run that has ended is its outcome, or `lost` if the muster process was killed; "
        "one that continues in a cluster is `detached`; a job that waits in the daemon's queue is "
        "`waiting`, with the reason; one whose daemon is not running is `no daemon`; "
        "a run "
        "whose muster is stopped (Ctrl-Z) is `stopped`.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_list,
};
