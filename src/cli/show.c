/* show.c - `muster show`: one run: how it stands, its replicas, its time line.
 *
 * For a run that lives, the report so far comes from the run itself; for one that has ended, what it
 * left. A run whose muster was killed has only its journal.
 */
#include <string.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/timeline.h"
#include "doc/yaml_write.h"
#include "journal/journal.h"

#define ROWS 64        /* of replicas; of more of them, those that are not as the others matter */
#define LINES_FIRST 12 /* of a time line that is longer than both together */
#define LINES_LAST 20

struct options {
    const char *output;
};

static const char *text_of(const struct node *node)
{
    return node && node->type == NODE_STRING ? node->text : "";
}

/* --- in words --------------------------------------------------------------------------------- */

static void print_head(const struct run_ref *run, const struct node *report)
{
    auto_strbuf struct strbuf name = STRBUF_INIT, verdict = STRBUF_INIT;
    const char *said = text_of(node_get(report, "verdict"));
    char took[DURATION_TEXT];
    ns_t until = run->ended ? run->ended : clock_real();

    strbuf_add_escaped(&name, run->name, strlen(run->name));
    strbuf_add_escaped(&verdict, said, strlen(said));
    printf("%s (%s%s%s): %s\n", name.buf, run->id, *run->dialect ? ", " : "", run->dialect,
           verdict.len ? verdict.buf : "lost: its muster was killed, there is no report");
    if (run->started && (run->ended || run->alive))
        printf("  %s %s\n", run->alive ? "for" : "took",
               duration_text((until - run->started) / NS_PER_MS, took));
    if (run->exit_code >= 0)
        printf("  exit code %d\n", run->exit_code);
    printf("  run directory: %s\n", run->dir);
}

static const char *replica_state(const struct node *r)
{
    const char *outcome = text_of(node_get(r, "outcome"));
    bool started = *text_of(node_get(r, "started")), ended = *text_of(node_get(r, "ended"));

    if (started && !ended)
        return "running";
    return *outcome ? outcome : "pending";
}

static void print_replica(const struct node *r)
{
    const struct node *code = node_get(r, "exit_code"), *restarts = node_get(r, "restarts");
    const char *sig = text_of(node_get(r, "signal")),
               *because = text_of(node_get(r, "stopped_because_of"));

    printf("  %-20s %s", text_of(node_get(r, "name")), replica_state(r));
    if (*sig)
        printf(", %s", sig);
    else if (code && code->type == NODE_INT)
        printf(", exit code %lld", (long long)code->i);
    if (*because)
        printf(", because of %s", because);
    if (restarts && restarts->type == NODE_INT && restarts->i > 0)
        printf(restarts->i == 1 ? ", restarted once" : ", restarted %lld times",
               (long long)restarts->i);
    putchar('\n');
}

static void print_replicas(const struct node *report)
{
    const struct node *attempts = node_get(report, "attempts");

    if (!attempts || attempts->type != NODE_SEQ || attempts->n == 0)
        return;
    const struct node *rows = node_get(attempts->items[attempts->n - 1], "replicas");
    if (!rows || rows->type != NODE_SEQ)
        return;
    printf("\nreplicas%s:\n", attempts->n > 1 ? " of the last attempt" : "");
    for (size_t i = 0; i < rows->n && i < ROWS; i++)
        print_replica(rows->items[i]);
    if (rows->n > ROWS)
        printf("  … %zu more: -o json has them all\n", rows->n - ROWS);
}

static void print_cause(const struct node *report)
{
    const struct node *tail = node_find(report, "cause", "log_tail", NULL);

    if (!tail || tail->type != NODE_SEQ || tail->n == 0)
        return;
    printf("\nlast lines of %s:\n", text_of(node_find(report, "cause", "replica", NULL)));
    for (size_t i = 0; i < tail->n; i++)
        printf("  | %s\n", text_of(tail->items[i]));
}

static void print_timeline(const struct run_ref *run)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_strvec struct strvec lines = STRVEC_INIT;
    bool ended;
    auto_close int fd = runs_open(run, false, &ended, NULL);

    if (fd < 0 || io_read_file(fd, JOURNAL_NAME, LIMIT_REPORT_BYTES, &text, NULL) < 0)
        return;
    timeline_words(text.buf, text.len, true, &lines);
    printf("\ntime line:\n");
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.n > LINES_FIRST + LINES_LAST && i == LINES_FIRST) {
            printf("  … %zu more: muster events %s\n", lines.n - LINES_FIRST - LINES_LAST, run->id);
            i = lines.n - LINES_LAST;
        }
        printf("  %s\n", lines.v[i]);
    }
}

/* --- the verb --------------------------------------------------------------------------------- */

/* 0, or the exit code. A lost run has no report: that is said in words only. */
static int get_report(struct arena *a, struct run_ref *run, bool words, struct strbuf *ret)
{
    struct err e;

    if (!run->alive && run->exit_code < 0 && words)
        return 0;
    if (runs_report(run, ret, &e) < 0)
        return target_failed(run, &e);
    if (run->alive) /* it may have ended meanwhile */
        (void)runs_at(a, run->dir, run, NULL);
    return 0;
}

static int run_show(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT, yaml = STRBUF_INIT;
    struct options o = {.output = "human"};
    struct operands ops;
    struct run_ref run;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code == 0)
        code = get_report(a, &run, strcmp(o.output, "human") == 0, &text);
    if (code != 0)
        return code;
    if (strcmp(o.output, "json") == 0) {
        (void)fwrite(text.buf, 1, text.len, stdout);
        return finish_output();
    }
    const struct node *report = runs_json(a, text.buf, text.len);
    if (strcmp(o.output, "yaml") == 0) {
        const struct node *status = node_get(report, "status");
        if (status)
            yaml_write(&yaml, status);
        (void)fwrite(yaml.buf, 1, yaml.len, stdout);
        return finish_output();
    }
    print_head(&run, report);
    print_replicas(report);
    print_cause(report);
    print_timeline(&run);
    return finish_output();
}

static const char *const outputs[] = {"human", "json", "yaml", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "for people (default), the report so far as JSON, or the status as the platform "
             "would show it"},
    OPT_END,
};

const struct verb verb_show = {
    .name = "show",
    .synopsis = "[-o human|json|yaml] [ID]",
    .summary = "show how a job stands, or how it ended",
    .about = "In words: the verdict, each replica, the time line. -o json is the report of muster "
             "run --report, so far: without an outcome while the job runs. -o yaml is the job's "
             "status in the words of the platform that its file was written for.\n"
             "\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_show,
};
