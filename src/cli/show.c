/* show.c - `muster show`: one run: how it stands, its replicas, its time line and
 * events.
 *
 * For a run that lives, the report so far comes from the run itself; for one that has ended, what
 * it left. A run whose muster was killed is told from its journal.
 */
#include <string.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/as_typed.h"
#include "cli/cluster_jobs.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "client/timeline.h"
#include "doc/json_read.h"
#include "doc/yaml_write.h"
#include "journal/journal.h"
#include "rundir/command_line.h"
#include "story/story.h"

#define STORY_COLUMNS 80
#define ROWS 64        /* of replicas; of more of them, those that are not as the others matter */
#define LINES_FIRST 12 /* of a time line that is longer than both together */
#define LINES_LAST 20

struct options {
    const char *output;
    struct cluster_options cluster;
};

/* --- in words --------------------------------------------------------------------------------- */

/* What comes from files or logs cannot act on the terminal. */
static void print_safe(const char *before, const char *text, const char *after)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    printf("%s%s%s", before, safe.buf, after);
}

static void print_safe_after(const char *before, const char *text)
{
    if (*text)
        print_safe(before, text, "");
}

static void print_verdict(const struct run_ref *run, const struct node *report)
{
    const char *said = node_text(node_get(report, "verdict"), "");
    struct err e;

    if (*said && run->kept_until)
        print_safe("detached; last known state: ", said, "\n");
    else if (*said && run->no_report) {
        print_safe("", said, "; ");
        print_safe("", run->fault, "; this is from its journal\n");
    } else if (*said)
        print_safe("", said, "\n");
    else if (run->alive && runs_is_stuck(run, &e))
        printf("%s: %s\n", run->state, e.text);
    else if (run->alive)
        print_safe("", run->state, "\n");
    else
        print_safe("", *run->fault ? run->fault : "its report cannot be read", "\n");
}

static void print_command(const struct run_ref *run)
{
    auto_command struct command_line c = COMMAND_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    bool ended;
    auto_close int fd = runs_open(run, false, &ended, NULL);

    if (fd < 0 || command_line_read(fd, &c, NULL) < 0)
        return;
    command_line_text(&c, &text);
    printf("  %s: ", command_line_label(&c));
    print_safe("", text.buf, "\n");
    print_safe("  in: ", c.cwd, "\n");
}

static void print_kept(const struct run_ref *run)
{
    auto_strbuf struct strbuf attach = STRBUF_INIT;
    char until[CLOCK_TEXT];

    add_as_typed(&attach, "muster attach");
    printf("  to continue with it: %s %s\n  the cluster keeps it until %s\n", attach.buf, run->id,
           clock_rfc3339(run->kept_until, until));
}

static void print_head(const struct run_ref *run, const struct node *report, const char *held_up)
{
    const struct node *outputs = node_get(report, "outputs");
    char took[DURATION_TEXT];
    ns_t until = run->ended ? run->ended : run->now ? run->now : clock_real();

    if (*run->name)
        print_safe("", run->name, " (");
    print_safe("", run->id, *run->name && *run->dialect ? ", " : "");
    if (*run->name)
        print_safe("", run->dialect, ")");
    printf(": ");
    print_verdict(run, report);
    if (run->started && (run->ended || run->alive))
        printf("  %s %s\n", run->alive ? "for" : "took",
               duration_text((until - run->started) / NS_PER_MS, took));
    if (held_up && run->alive)
        print_safe("  waiting: ", held_up, "\n");
    if (run->exit_code >= 0)
        printf("  exit code %d\n", run->exit_code);
    if (run->kept_until)
        print_kept(run);
    print_command(run);
    if (*run->dir)
        print_safe("  run directory: ", run->dir, "\n");
    for (size_t i = 0; outputs && outputs->type == NODE_SEQ && i < outputs->n; i++)
        print_safe("  outputs: ", node_text(outputs->items[i], ""), "\n");
}

/* lost: the muster process was killed, and its shim ended with it what was still running. */
static const char *replica_state(const struct node *r, bool lost)
{
    const char *outcome = node_text(node_get(r, "outcome"), "");
    bool started = *node_text(node_get(r, "started"), ""),
         ended = *node_text(node_get(r, "ended"), "");

    if (*node_text(node_get(r, "unseen_since"), ""))
        return "out of sight";
    if (started && !ended)
        return lost ? "was running" : "running";
    if (ended && !*outcome)
        return "restarting";
    return *outcome ? outcome : "pending";
}

static void print_replica(const struct node *r, bool lost)
{
    const struct node *code = node_get(r, "exit_code"), *restarts = node_get(r, "restarts");
    const char *sig = node_text(node_get(r, "signal"), ""),
               *because = node_text(node_get(r, "stopped_because_of"), "");

    auto_strbuf struct strbuf name = STRBUF_INIT;

    strbuf_add_escaped(&name, node_text(node_get(r, "name"), ""),
                       strlen(node_text(node_get(r, "name"), "")));
    printf("  %-20s", name.buf);
    print_safe(" ", replica_state(r, lost), "");
    if (*sig)
        print_safe(", ", sig, "");
    else if (code && code->type == NODE_INT)
        printf(", exit code %lld", (long long)code->i);
    print_safe_after(", waiting: ", node_text(node_get(r, "waiting"), ""));
    if (*because)
        print_safe(", because of ", because, "");
    if (restarts && restarts->type == NODE_INT && restarts->i > 0)
        printf(restarts->i == 1 ? ", restarted once" : ", restarted %lld times",
               (long long)restarts->i);
    putchar('\n');
}

static void print_replicas(const struct node *report, bool lost)
{
    const struct node *attempts = node_get(report, "attempts");

    if (!attempts || attempts->type != NODE_SEQ || attempts->n == 0)
        return;
    const struct node *rows = node_get(attempts->items[attempts->n - 1], "replicas");
    if (!rows || rows->type != NODE_SEQ)
        return;
    printf("\nreplicas%s:\n", attempts->n > 1 ? " of the last attempt" : "");
    for (size_t i = 0; i < rows->n && i < ROWS; i++)
        print_replica(rows->items[i], lost);
    if (rows->n > ROWS)
        printf("  … %zu more; use -o json to list all\n", rows->n - ROWS);
}

static void print_cause(const struct node *report)
{
    const struct node *tail = node_find(report, "cause", "log_tail", NULL);

    if (!tail || tail->type != NODE_SEQ || tail->n == 0)
        return;
    print_safe("\nlast lines of ", node_text(node_find(report, "cause", "replica", NULL), ""),
               ":\n");
    for (size_t i = 0; i < tail->n; i++)
        print_safe("  | ", node_text(tail->items[i], ""), "\n");
}

/* Who ran when. A run that lives is shown as far as it has come; its events say the rest. */
static void print_story(int fd, const struct strbuf *journal)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct job *job = NULL;

    if (journal_load(a, fd, &job, NULL) < 0)
        return;
    story_text(story_make(a, job, journal->buf, journal->len), STORY_COLUMNS, &out);
    if (out.len > 0)
        printf("\ntime line:\n%s", out.buf);
    job_free(job);
}

static void print_timeline(const struct run_ref *run)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_strvec struct strvec lines = STRVEC_INIT;
    bool ended;
    auto_close int fd = runs_open(run, false, &ended, NULL);

    if (fd < 0 || journal_text(fd, &text, NULL) < 0)
        return;
    if (!run->alive)
        print_story(fd, &text);
    timeline_words(text.buf, text.len, true, &lines);
    printf("\nevents:\n");
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.n > LINES_FIRST + LINES_LAST && i == LINES_FIRST) {
            auto_strbuf struct strbuf more = STRBUF_INIT;

            add_as_typed(&more, "muster events");
            printf("  … %zu more: %s %s\n", lines.n - LINES_FIRST - LINES_LAST, more.buf, run->id);
            i = lines.n - LINES_LAST;
        }
        printf("  %s\n", lines.v[i]);
    }
}

/* JSON has its control characters escaped: what holds one was not written by muster. */
static bool is_json_text(const struct strbuf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->buf[i];

        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
            return false;
    }
    return true;
}

/* --- the verb --------------------------------------------------------------------------------- */

/* 0, or the exit code. Of a run that is stopped, or whose records cannot be read, words are all
 * there is. */
static int get_report(struct arena *a, struct run_ref *run, bool words, struct strbuf *ret)
{
    struct err e;

    if (words && run->pid)
        return 0;
    if (runs_report(run, ret, &e) < 0)
        return words && !run->alive ? 0 : target_failed(run, &e);
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
    struct cluster cluster;
    struct run_ref run;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = cluster_choose(verb, &o.cluster, NULL, &cluster);
    if (code == 0 && cluster.place)
        return cluster_show(verb, &cluster, &ops, o.output);
    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    const char *held_up = code == 0 ? run.held_up : NULL;
    if (code == 0)
        code = get_report(a, &run, strcmp(o.output, "human") == 0, &text);
    if (code != 0)
        return code;
    if (strcmp(o.output, "json") == 0 && !is_json_text(&text)) {
        tell_error("%s: its report cannot be read", run.id);
        return EXIT_FAILED;
    }
    if (strcmp(o.output, "json") == 0) {
        (void)fwrite(text.buf, 1, text.len, stdout);
        return finish_output();
    }
    const struct node *report = json_node(a, text.buf, text.len);
    if (strcmp(o.output, "yaml") == 0) {
        const struct node *status = node_get(report, "status");
        if (status)
            yaml_write(&yaml, status);
        (void)fwrite(yaml.buf, 1, yaml.len, stdout);
        return finish_output();
    }
    print_head(&run, report, held_up);
    print_replicas(report, strcmp(run.state, "lost") == 0);
    print_cause(report);
    print_timeline(&run);
    return finish_output();
}

static const char *const outputs[] = {"human", "json", "yaml", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help =
         "human (default), json: the report so far, or yaml: the status in the platform's words"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_show = {
    .name = "show",
    .synopsis = "[-o human|json|yaml] [ID]",
    .summary = "show the state of a job",
    .about = "In words: the verdict, each replica, the events, and of a job that has ended the "
             "time line. -o json is the report of muster "
             "run --report, so far: without an outcome while the job runs. -o yaml is the job's "
             "status in the words of the platform that its file was written for.\n"
             "\n"
             "A run that is detached, or whose muster process was killed, is shown as its journal "
             "has it.\n"
             "\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_show,
};
