/* report.c - `muster report`: one run as a file to attach to a ticket.
 *
 * Everything is read from the run directory, where the job may have put something else: names are
 * checked, links and pipes are not followed, and nothing is read without a limit.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "doc/json_read.h"
#include "journal/journal.h"
#include "rundir/command_line.h"
#include "rundir/rundir.h"
#include "rundir/tail.h"
#include "story/html.h"

#define COLUMNS 80
#define ROWS_OF_USAGE 20

struct options {
    const char *format, *file;
};

/* What is known of a run. */
struct gathered {
    struct arena *a;
    struct run_ref *run;
    const struct node *report, *plan;
    const struct story *story;
    const struct series *usage;
    struct job *job; /* the story's */
    struct command_line command;
    struct strbuf command_text;
    struct page_log logs[LIMIT_PAGE_LOGS];
    struct strvec lines[LIMIT_PAGE_LOGS];
    size_t n_logs;
    bool withheld;
};

static void release(struct gathered *g)
{
    for (size_t i = 0; i < g->n_logs; i++)
        strvec_release(&g->lines[i]);
    job_free(g->job);
    command_line_release(&g->command);
    strbuf_release(&g->command_text);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_story(struct gathered *g, int dir_fd)
{
    auto_strbuf struct strbuf journal = STRBUF_INIT;

    if (journal_text(dir_fd, &journal, NULL) < 0 || journal_load(g->a, dir_fd, &g->job, NULL) < 0)
        return;
    g->story = story_make(g->a, g->job, journal.buf, journal.len);
}

static void read_usage(struct gathered *g, int dir_fd)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (io_read_regular(dir_fd, RUNDIR_USAGE, LIMIT_USAGE_BYTES, &text, NULL) == 0)
        g->usage = series_read(g->a, text.buf, text.len);
}

/* Secrets are *** in the plan. Without a plan, or with one that leaves variables out, nobody knows.
 */
static void read_plan(struct gathered *g, int dir_fd)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    g->withheld = true;
    if (io_read_regular(dir_fd, RUNDIR_PLAN, (size_t)2 * LIMIT_PLAN_BYTES, &text, NULL) < 0)
        return;
    if (g->job)
        rundir_plan_attempt(&text, g->job->attempt);
    const struct node *root = json_node(g->a, text.buf, text.len), *jobs = node_get(root, "jobs");
    if (!jobs || jobs->type != NODE_SEQ || jobs->n == 0)
        return;
    g->plan = jobs->items[0];
    g->withheld = strstr(text.buf, "***") != NULL || text.len >= LIMIT_PLAN_BYTES;
}

/* A name that a job may have put into the report. */
static bool is_log_name(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && n < PLAN_LOG_NAME && !strchr(name, '/') && strcmp(name + n - 4, ".log") == 0;
}

static void add_log(struct gathered *g, int logs_fd, const char *name)
{
    if (g->n_logs == LIMIT_PAGE_LOGS || !is_log_name(name))
        return;
    for (size_t i = 0; i < g->n_logs; i++)
        if (strcmp(g->logs[i].name, name) == 0)
            return;
    struct strvec *lines = &g->lines[g->n_logs];
    *lines = (struct strvec)STRVEC_INIT;
    (void)log_tail(logs_fd, name, lines);
    if (lines->n == 0) {
        strvec_release(lines);
        return;
    }
    g->logs[g->n_logs++] = (struct page_log){.name = name, .lines = lines};
}

/* Of the last attempt: its ranks, then what else its replicas wrote. */
static void read_logs(struct gathered *g, int dir_fd)
{
    auto_close int logs_fd =
        openat(dir_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const struct node *attempts = node_get(g->report, "attempts");

    if (logs_fd < 0 || g->withheld || !attempts || attempts->type != NODE_SEQ || attempts->n == 0)
        return;
    const struct node *last = attempts->items[attempts->n - 1], *ranks = node_get(last, "ranks"),
                      *replicas = node_get(last, "replicas");
    for (size_t i = 0; ranks && ranks->type == NODE_SEQ && i < ranks->n; i++)
        add_log(g, logs_fd, node_text(node_get(ranks->items[i], "log"), ""));
    for (size_t i = 0; replicas && replicas->type == NODE_SEQ && i < replicas->n; i++) {
        const struct node *logs = node_get(replicas->items[i], "logs");

        for (size_t k = 0; logs && logs->type == NODE_SEQ && k < logs->n; k++)
            add_log(g, logs_fd, node_text(logs->items[k], ""));
    }
}

/* 0, or the exit code. */
static int gather(struct gathered *g, struct strbuf *report)
{
    struct err e;
    bool ended;

    if (runs_report(g->run, report, &e) < 0)
        return target_failed(g->run, &e);
    if (g->run->alive && *g->run->dir) /* it may have ended meanwhile */
        (void)runs_at(g->a, g->run->dir, g->run, NULL);
    g->report = json_node(g->a, report->buf, report->len);
    auto_close int fd = runs_open(g->run, false, &ended, NULL);
    if (fd < 0)
        return 0;
    read_story(g, fd);
    read_usage(g, fd);
    read_plan(g, fd);
    read_logs(g, fd);
    if (command_line_read(fd, &g->command, NULL) == 0)
        command_line_text(&g->command, &g->command_text);
    return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_safe(struct strbuf *out, const char *before, const char *text)
{
    if (!*text)
        return;
    strbuf_addstr(out, before);
    strbuf_add_escaped(out, text, strlen(text));
    strbuf_addch(out, '\n');
}

static void add_usage(const struct gathered *g, struct strbuf *out)
{
    char cpu[DURATION_TEXT], memory[DURATION_TEXT];
    const struct series *u = g->usage;

    if (!u || u->n == 0)
        return;
    strbuf_addf(out, "\nusage:\n  %-24s %14s %6s %12s\n", "", "CPU time", "peak", "peak memory");
    for (size_t i = 0; i < u->n && i < ROWS_OF_USAGE; i++) {
        const struct series_row *r = &u->rows[i];
        auto_strbuf struct strbuf name = STRBUF_INIT;

        if (r->n == 0)
            continue;
        strbuf_add_escaped(&name, r->replica, strlen(r->replica));
        if (r->rank >= 0)
            strbuf_addf(&name, "/%d", (int)r->rank);
        strbuf_addf(out, "  %-24s %14s %5u%% %12s\n", name.buf,
                    duration_text((int64_t)r->v[r->n - 1].cpu_ms, cpu), r->peak_cpu,
                    bytes_text((int64_t)r->peak_memory, memory));
    }
    if (u->n > ROWS_OF_USAGE)
        strbuf_addf(out, "  … %zu more\n", u->n - ROWS_OF_USAGE);
}

static void write_text(const struct gathered *g, struct strbuf *out)
{
    const struct node *tail = node_find(g->report, "cause", "log_tail", NULL);
    const char *verdict = node_text(node_get(g->report, "verdict"), "");
    char took[DURATION_TEXT];

    strbuf_add_escaped(out, g->run->name, strlen(g->run->name));
    add_safe(out, *g->run->name ? " (" : "", g->run->id);
    if (out->len > 0 && *g->run->name) { /* "name (id)" */
        strbuf_truncate(out, out->len - 1);
        strbuf_addstr(out, ")\n");
    }
    add_safe(out, "  ", *verdict ? verdict : g->run->state);
    if (g->run->exit_code >= 0)
        strbuf_addf(out, "  exit code %d\n", g->run->exit_code);
    if (g->story && g->story->to > g->story->from)
        strbuf_addf(out, "  took %s\n",
                    duration_text((g->story->to - g->story->from) / NS_PER_MS, took));
    if (g->command_text.len > 0)
        strbuf_addf(out, "  %s: ", command_line_label(&g->command));
    add_safe(out, "", g->command_text.buf);
    add_safe(out, "  run directory: ", g->run->dir);
    if (g->story && g->story->n_rows > 0) {
        strbuf_addstr(out, "\ntime line:\n");
        story_text(g->story, COLUMNS, out);
    }
    add_usage(g, out);
    if (tail && tail->type == NODE_SEQ && tail->n > 0)
        strbuf_addstr(out, "\nlast lines of what failed first:\n");
    for (size_t i = 0; tail && tail->type == NODE_SEQ && i < tail->n; i++)
        add_safe(out, "  | ", node_text(tail->items[i], " "));
}

static void write_html(const struct gathered *g, struct strbuf *out)
{
    struct utsname host = {0};
    const struct page p = {.name = g->run->name,
                           .id = g->run->id,
                           .dialect = g->run->dialect,
                           .state = g->run->state,
                           .failed = g->run->exit_code > 0,
                           .command_label = command_line_label(&g->command),
                           .command = g->command_text.len ? g->command_text.buf : NULL,
                           .directory = g->command.cwd,
                           .made = clock_real(),
                           .version = MUSTER_VERSION,
                           .host = uname(&host) == 0 ? host.nodename : "",
                           .report = g->report,
                           .plan = g->plan,
                           .story = g->story,
                           .usage = g->usage,
                           .logs = g->logs,
                           .n_logs = g->n_logs,
                           .logs_withheld = g->withheld};

    page_write(&p, out);
}

/* --- the verb --------------------------------------------------------------------------------- */

/* A page is for a file; an id that was damaged must not say where that is. */
static const char *file_of(const struct gathered *g, const struct options *o)
{
    const char *id = g->run->id;

    if (o->file || strcmp(o->format, "html") != 0)
        return o->file ? o->file : "-";
    return strchr(id, '/') || *id == '.' || strlen(id) > LIMIT_NAME
               ? "muster-report.html"
               : arena_printf(g->a, "%s.html", id);
}

static int run_report(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf report = STRBUF_INIT, out = STRBUF_INIT;
    CLEANUP(release)
    struct gathered g = {.a = a, .command = COMMAND_INIT, .command_text = STRBUF_INIT};
    struct options o = {.format = "text"};
    struct operands ops;
    struct run_ref run;
    struct err e;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    g.run = &run;
    if (code == 0)
        code = gather(&g, &report);
    if (code != 0)
        return code;
    if (strcmp(o.format, "json") == 0)
        strbuf_addstr(&out, report.buf);
    else if (strcmp(o.format, "html") == 0)
        write_html(&g, &out);
    else
        write_text(&g, &out);
    const char *file = file_of(&g, &o);
    if (tell_check_file(file, &e) < 0 || tell_write_file(file, out.buf, out.len, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    if (!o.file && strcmp(file, "-") != 0)
        printf("%s\n", file);
    return finish_output();
}

static const char *const formats[] = {"text", "html", "json", NULL};

static const struct opt opts[] = {
    {"format", 'o', OPT_CHOICE, offsetof(struct options, format), .choices = formats,
     .help = "text (default), html: one page with charts, or json: as of show"},
    {"output", 0, OPT_STRING, offsetof(struct options, file), "FILE",
     .help = "write to FILE, - for stdout (html: default ID.html)"},
    OPT_END,
};

const struct verb verb_report = {
    .name = "report",
    .synopsis = "[OPTION…] [ID]",
    .summary = "write a report of a job to attach to a ticket",
    .about =
        "With -o html one self-contained page: the verdict, the time line, CPU and memory of "
        "each rank over time, the ends of logs, the plan. It has no script and no reference to "
        "anything else. Secrets are masked, and variables inherited from the caller are left "
        "out; read it before you publish it, since output and commands are the job's own. "
        "FILE gets mode 0600.\n\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_report,
};
