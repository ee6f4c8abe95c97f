/* list.c - `muster list`: the runs there are, in the order in which they started.
 *
 * The table has the newest ones and those that run; what programs read (-q, -o json) is complete.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "cli/cluster_jobs.h"
#include "cli/diagnose.h"
#include "cli/list_users.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/yaml_write.h"

struct options {
    const char *output, *state, *queue;
    bool running, quiet, all, watch, users;
    struct operands ops; /* @ID, the beginning of an id, or a part of a name */
    struct cluster_options cluster;
};

#define WATCH_MS 1000

/* What `state` of struct run_ref may be: phases, outcomes, and words of client/runs.h. */
static const char *const states[] = {
    "waiting",    "starting",       "pending",   "running", "paused",    "held",
    "debugging",  "stopping",       "killing",   "ending",  "succeeded", "failed",
    "cancelled",  "lost",           "no daemon", "stopped", "detached",  "refused",
    "unreadable", "not responding", "invalid",   "unseen"}; /* the last two: in a cluster */

/* Also one that goes on without its muster or its daemon. */
static bool is_open(const struct run_ref *run)
{
    return run->alive || run->kept_until || strcmp(run->state, "no daemon") == 0;
}

/* Why the queue lets it wait, or NULL. */
static const char *reason_of(const struct run_ref *run)
{
    return run->waiting && *run->waiting ? run->waiting : run->held_up;
}

/* Is word one of "running,waiting"? */
static bool is_listed(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list;; at += strcspn(at, ",") + 1) {
        size_t n = strcspn(at, ",");

        if (n == len && strncmp(at, word, n) == 0)
            return true;
        if (!at[n])
            return false;
    }
}

/* words: the operands, arrays by their ids. */
static bool is_wanted(const struct run_ref *run, const struct options *o, const char *const *words)
{
    bool named = o->ops.n == 0;

    if ((o->running && !is_open(run)) || (o->state && !is_listed(o->state, run->state)) ||
        (o->queue && (!run->queue || strcmp(o->queue, run->queue) != 0)))
        return false;
    for (int i = 0; i < o->ops.n; i++) {
        const char *word = o->ops.v[i];

        named |= target_is_array(word) ? runs_in_array(run, words[i])
                                       : strstr(run->name, words[i]) != NULL ||
                                             strncmp(run->id, word, strlen(word)) == 0;
    }
    return named;
}

/* Leaves those that are wanted, in the same order. */
static void filter(struct runs *runs, const struct options *o, struct arena *a)
{
    struct runs wanted = *runs;
    const char **words = ARENA_ARRAY(a, const char *, (size_t)o->ops.n + 1);

    for (int i = 0; i < o->ops.n; i++)
        words[i] = target_is_array(o->ops.v[i]) ? runs_array(runs, o->ops.v[i]) : o->ops.v[i];
    wanted.v = ARENA_ARRAY(a, struct run_ref, runs->n + 1);
    wanted.n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (is_wanted(&runs->v[i], o, words))
            wanted.v[wanted.n++] = runs->v[i];
    *runs = wanted;
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
    if (run->array) {
        json_kv_str(j, "array", run->array);
        json_kv_str(j, "matrix", run->matrix);
    }
    json_end(j);
}

static void put_json(const struct runs *runs, struct strbuf *out)
{
    struct json j = JSON_PRETTY(out);

    json_object(&j);
    json_key(&j, "runs");
    json_array(&j);
    for (size_t i = 0; i < runs->n; i++)
        json_run(&j, &runs->v[i]);
    json_end(&j);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < runs->n; i++)
        json_job(&j, &runs->v[i]);
    json_end(&j);
    json_end(&j);
}

static void print_json(const struct runs *runs)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    put_json(runs, &sb);
    printf("%s\n", sb.buf);
}

static void print_yaml(struct arena *a, const struct runs *runs)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, yaml = STRBUF_INIT;

    put_json(runs, &sb);
    const struct node *jobs = node_get(json_node(a, sb.buf, sb.len), "jobs");
    if (jobs)
        yaml_write(&yaml, jobs);
    (void)fwrite(yaml.buf, 1, yaml.len, stdout);
}

/* Names come from job files, and the rest from files that anybody may have damaged. */
static const char *cell(struct arena *a, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    return safe.len ? arena_strdup(a, safe.buf) : "-";
}

static void print_heads(bool wide)
{
    printf("%-21s %-24s %-22s ", "ID", "NAME", "DIALECT");
    if (wide)
        printf("%-12s %-8s %-20s ", "QUEUE", "PRIORITY", "SUBMITTED");
    printf("%-10s %s\n", "STATE", "AGE");
}

static void print_wide(struct arena *a, const struct run_ref *run)
{
    char at[CLOCK_TEXT] = "-";
    ns_t submitted = run->submitted ? run->submitted : run->started;

    if (submitted) {
        (void)clock_rfc3339(submitted, at);
        memcpy(at + 19, "Z", 2); /* without milliseconds */
    }
    printf("%-12s %-8s %-20s ", cell(a, run->queue ? run->queue : ""),
           run->queue ? arena_printf(a, "%d", run->priority) : "-", at);
}

static void print_row(struct arena *a, const struct run_ref *run, ns_t now, bool wide)
{
    char age[DURATION_TEXT] = "-";
    const char *state =
        *run->remark ? arena_printf(a, "%s (%s)", run->state, run->remark) : run->state;

    ns_t since = run->started ? run->started : run->submitted;
    if (since)
        (void)age_text(((run->now ? run->now : now) - since) / NS_PER_MS, age);
    printf("%-21s %-24s %-22s ", cell(a, run->id), cell(a, run->name), cell(a, run->dialect));
    if (wide)
        print_wide(a, run);
    printf("%-10s %s", cell(a, state), age);
    if (reason_of(run))
        printf("  %s", cell(a, reason_of(run)));
    if (run->matrix)
        printf("  %s", cell(a, run->matrix));
    putchar('\n');
}

/* Of all ways to list them: a list that is not complete says so. */
static void tell_unlisted(const struct runs *runs)
{
    if (runs->unlisted)
        tell_note(runs->unlisted);
}

/* Those that have not ended, and the newest others. */
static void print_table(struct arena *a, const struct runs *runs, const struct options *o)
{
    bool wide = strcmp(o->output, "wide") == 0;
    ns_t now = clock_real();
    size_t shown = 0, left = 0;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_ref *run = &runs->v[i];

        if (!o->all && !is_open(run) && runs->n - i > LIMIT_RUNS_SHOWN) {
            left++;
            continue;
        }
        if (shown++ == 0)
            print_heads(wide);
        print_row(a, run, now, wide);
    }
    if (left > 0) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "%zu more; use --all to list them\n", left);
    }
    if (shown == 0 && runs->fault.code == 0)
        (void)fprintf(stderr, "%s\n",
                      o->running                             ? "no job is running"
                      : o->state || o->queue || o->ops.n > 0 ? "no job matches"
                                                             : "there are no runs");
}

static void print_ids(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        printf("%s\n", runs->v[i].id);
}

/* --- watching --------------------------------------------------------------------------------- */

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool was_seen(const struct strvec *sorted, char *word)
{
    return sorted->n && bsearch(&word, sorted->v, sorted->n, sizeof(*sorted->v), compare_words);
}

/* A row for each job that changes, until Ctrl-C. What is known of a run is its place in `seen`,
 * words "ID STATE REASON". */
static int watch(struct options *o)
{
    static const struct timespec moment = {.tv_nsec = (WATCH_MS % 1000) * NS_PER_MS,
                                           .tv_sec = WATCH_MS / 1000};
    auto_strvec struct strvec seen = STRVEC_INIT;

    for (bool first = true;; first = false) {
        auto_arena struct arena *a = arena_new();
        struct strvec now = STRVEC_INIT;
        struct runs runs;

        runs_list(a, &runs);
        filter(&runs, o, a);
        if (first) {
            tell_unlisted(&runs);
            print_table(a, &runs, o);
        }
        for (size_t i = 0; i < runs.n; i++) {
            const struct run_ref *run = &runs.v[i];

            strvec_pushf(&now, "%s %s %s", run->id, run->state,
                         reason_of(run) ? reason_of(run) : "");
            if (!first && !was_seen(&seen, now.v[i]))
                print_row(a, run, clock_real(), strcmp(o->output, "wide") == 0);
        }
        if (now.n)
            qsort(now.v, now.n, sizeof(*now.v), compare_words);
        strvec_release(&seen);
        seen = now;
        int code = finish_output();
        if (code != 0)
            return code;
        (void)nanosleep(&moment, NULL);
    }
}

/* An option whose subject is the daemon, or NULL. */
static const char *of_the_daemon(const struct options *o)
{
    if (o->watch)
        return "--watch";
    return o->queue ? "--queue" : NULL;
}

/* Each word of --state has to be one: a typing error would match nothing. */
static int check_states(const struct verb *verb, const char *list)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        auto_free char *word = xstrndup(at, strcspn(at, ","));
        auto_strbuf struct strbuf hint = STRBUF_INIT;
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
            known |= strcmp(states[i], word) == 0;
        if (known)
            continue;
        const char *near = nearest_word(word, states, ARRAY_SIZE(states));
        for (size_t i = 0; !near && i < ARRAY_SIZE(states); i++)
            strbuf_addf(&hint, "%s%s", i ? ", " : "; states are ", states[i]);
        if (near)
            strbuf_addf(&hint, "; did you mean %s?", near);
        return usage_error(verb, "unknown state \"%s\"%s", word, hint.buf);
    }
    return 0;
}

static int run_list(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.output = "human"};
    struct cluster cluster;
    struct runs runs;
    int code = target_operands(verb, &o, argc, argv, LIMIT_OPERANDS, &o.ops);
    bool table = strcmp(o.output, "human") == 0 || strcmp(o.output, "wide") == 0;

    if (code == 0)
        code = check_states(verb, o.state);
    if (code == 0)
        code = cluster_choose(verb, &o.cluster, of_the_daemon(&o), &cluster);
    if (code != 0)
        return code;
    if (o.watch && (!table || o.quiet))
        return usage_error(verb, "--watch prints a table and cannot be used with -o %s",
                           o.quiet ? "name" : o.output);
    if (o.users && (o.watch || o.running || o.state || o.queue || o.ops.n > 0))
        return usage_error(verb, "--all-users lists every job that has not ended; it can only be "
                                 "used with -o and -q");
    if (o.users)
        return list_users(a, o.quiet ? "name" : o.output);
    if (o.watch)
        return watch(&o);
    if (cluster.place)
        code = cluster_list(&cluster, a, &runs);
    else
        runs_list(a, &runs);
    if (code != 0)
        return code;
    filter(&runs, &o, a);
    tell_unlisted(&runs);
    if (strcmp(o.output, "json") == 0)
        print_json(&runs);
    else if (strcmp(o.output, "yaml") == 0)
        print_yaml(a, &runs);
    else if (o.quiet || strcmp(o.output, "name") == 0)
        print_ids(&runs);
    else
        print_table(a, &runs, &o);
    code = finish_output();
    if (runs.fault.code == 0)
        return code;
    tell_error("%s", runs.fault.text);
    return EXIT_FAILED;
}

static const char *const outputs[] = {"human", "wide", "json", "yaml", "name", NULL};

static const struct opt opts[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct options, all),
     .help = "list all runs, not only the newest 20"},
    {"all-users", 0, OPT_FLAG, offsetof(struct options, users),
     .help = "list the waiting and running jobs of all users of this machine's system daemon"},
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default), wide: with queue, priority and time, json, yaml, or name: ids only"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct options, quiet), .help = "ids only"},
    {"running", 'r', OPT_FLAG, offsetof(struct options, running),
     .help = "list only runs that have not ended"},
    {"state", 's', OPT_STRING, offsetof(struct options, state), "STATE,…",
     .help = "list only runs in one of these states, such as waiting,running"},
    {"queue", 0, OPT_STRING, offsetof(struct options, queue), "NAME",
     .help = "list only jobs of this queue"},
    {"watch", 'w', OPT_FLAG, offsetof(struct options, watch),
     .help = "then print a row for each job that changes, until Ctrl-C"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_list = {
    .name = "list",
    .synopsis = "[OPTION…] [NAME… | ID… | @ID…]",
    .summary = "list running and finished jobs",
    .about =
        "NAME is a part of a job's name, ID an id or the beginning of one, @ID means all jobs of "
        "an array. "
        "Shows the newest 20 runs and all that have not ended; -q and -o json list every run. The "
        "state of a run that has ended is its outcome, or `lost` if the muster process was killed; "
        "one that continues in a cluster is `detached`; a job that waits in the daemon's queue is "
        "`waiting`, with the reason; one whose daemon is not running is `no daemon`; "
        "a run "
        "whose muster is stopped (Ctrl-Z) is `stopped`.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_list,
};
