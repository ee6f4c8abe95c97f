/* tell.c - the sentences and layout of a foreground run. */
#include "cli/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/as_typed.h"
#include "cli/cli.h"
#include "job/early.h"
#include "job/hint.h"
#include "job/verdict.h"

static const struct {
    const char *red, *yellow, *green, *bold, *dim, *off;
} colours = {"\033[31m", "\033[33m", "\033[32m", "\033[1m", "\033[2m", "\033[0m"};

static bool is_quiet;

void tell_quietly(bool quiet)
{
    is_quiet = quiet;
}

static const char *col(const char *code)
{
    return want_colour(stderr) ? code : "";
}

void tell_error(const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, typed = STRBUF_INIT, safe = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    add_as_typed(&typed, text.buf);
    strbuf_add_escaped(&safe, typed.buf, typed.len);
    (void)fprintf(stderr, "muster: %serror:%s %s\n", col(colours.red), col(colours.off), safe.buf);
}

static void tell_line(const char *word, const char *colour, const char *text)
{
    auto_strbuf struct strbuf typed = STRBUF_INIT, safe = STRBUF_INIT;

    if (is_quiet)
        return;
    add_as_typed(&typed, text);
    strbuf_add_escaped(&safe, typed.buf, typed.len);
    (void)fprintf(stderr, "muster: %s%s:%s %s\n", col(colour), word, col(colours.off), safe.buf);
}

void tell_note(const char *text)
{
    tell_line("note", colours.dim, text);
}

void tell_table(const char *text)
{
    for (const char *line = text, *end; *line && !is_quiet; line = *end ? end + 1 : end) {
        auto_strbuf struct strbuf safe = STRBUF_INIT;

        end = strchrnul(line, '\n');
        strbuf_add_escaped(&safe, line, (size_t)(end - line));
        (void)fprintf(stderr, "%s%s\n", line == text ? "muster: " : "", safe.buf);
    }
}

void tell_warning(const char *text)
{
    tell_line("warning", colours.yellow, text);
}

void tell_changes(const struct changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        if (changes->v[i].severity == SEV_WARNING)
            tell_warning(changes->v[i].text);
        else
            tell_note(changes->v[i].text);
    }
}

/* The last lines of what failed first, unless they have just been read. */
/* Some role may fail, by the file's own count, and the others go on. */
static bool tolerates_failures(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].min_failed < 0 || spec->roles[i].min_failed > 1)
            return true;
    return false;
}

void tell_missing(struct arena *a, const struct plan *plan)
{
    bool goes_on = tolerates_failures(plan->spec);
    const char **texts;
    size_t n = plan_missing_texts(a, plan, &texts);

    for (size_t i = 0; i < n; i++) {
        if (goes_on)
            tell_warning(texts[i]);
        else
            tell_error("%s", texts[i]);
    }
}

void tell_not_started(const struct job *job)
{
    (void)fprintf(stderr, "muster: %s%s was not started%s; exit code %d\n", col(colours.red),
                  job->plan->spec->name, col(colours.off), job->exit_code);
}

static void tell_tail(const struct job *job, const struct verdict_context *ctx)
{
    const struct log_gap *gap = log_gaps_find(ctx->gaps, ctx->log);

    if (ctx->tail->n == 0 && gap)
        (void)fprintf(stderr, "  its output is missing from %s: %s\n", ctx->log,
                      log_gap_reason(gap));
    else if (ctx->log && *ctx->log && ctx->tail->n == 0 && job->cause.kind != CAUSE_EXEC &&
             !*ctx->missing)
        (void)fprintf(stderr, "  no output\n");
    if (ctx->seen || ctx->tail->n == 0)
        return;
    (void)fprintf(stderr, "  last lines of %s%s:\n", ctx->log, gap ? " (incomplete)" : "");
    for (size_t i = 0; i < ctx->tail->n; i++)
        (void)fprintf(stderr, "  %s|%s %s\n", col(colours.dim), col(colours.off), ctx->tail->v[i]);
}

static void tell_first_failure(const struct job *job, const struct verdict_context *ctx)
{
    const struct cause *c = &job->cause;
    auto_strbuf struct strbuf text = STRBUF_INIT, rule = STRBUF_INIT, hint = STRBUF_INIT,
                              alike = STRBUF_INIT, early = STRBUF_INIT, besides = STRBUF_INIT;
    const struct early left = early_find(job, (const char *const *)ctx->tail->v, ctx->other);
    char when[CLOCK_TEXT];

    early_before(job, &left, &early);
    if (early.len > 0)
        (void)fprintf(stderr, "  %s; then:\n", early.buf);
    verdict_cause(job, c, &text);
    verdict_rule(job, &rule);
    (void)fprintf(stderr, "  first failure: %s, at %s%s%s\n", text.buf, clock_hms(c->end.at, when),
                  verdict_aside(job), rule.buf);
    verdict_alike(job, &alike);
    if (alike.len > 0)
        (void)fprintf(stderr, "  %s\n", alike.buf);
    verdict_earlier(job, &besides);
    verdict_killed(job, &besides);
    if (besides.len > 0)
        (void)fprintf(stderr, "  %s\n", besides.buf + strlen("; "));
    tell_tail(job, ctx);
    hint_for(job, (const char *const *)ctx->tail->v, &hint);
    if (hint.len > 0)
        (void)fprintf(stderr, "  hint: %s\n", hint.buf);
    if (*ctx->other)
        (void)fprintf(stderr, "  %s\n", ctx->other);
    strbuf_truncate(&early, 0);
    early_aside(job, &left, &early);
    if (early.len > 0)
        (void)fprintf(stderr, "  %s\n", early.buf);
}

static void tell_stopped(const struct job *job)
{
    auto_strbuf struct strbuf who = STRBUF_INIT;

    verdict_stopped(job, &who);
    if (who.len > 0)
        (void)fprintf(stderr, "  stopped%s: %s\n",
                      job->cause.kind == CAUSE_CANCELLED || job->cause.kind == CAUSE_NONE
                          ? ""
                          : " because of it",
                      who.buf);
}

/* What a rank has said of a success that is none. */
static void add_warning(const struct job *job, const struct strvec *tail, struct strbuf *out)
{
    auto_strbuf struct strbuf hint = STRBUF_INIT;

    hint_for(job, (const char *const *)tail->v, &hint);
    if (hint.len > 0)
        strbuf_addf(out, "; %s", hint.buf);
}

/* A job that hangs has too much to say for one line: what is missing, then who is where, one line
 * each. */
static void tell_hang(const struct job *job, struct strbuf *text)
{
    char *table = strchr(job->hung, '\n');
    const char *until = strstr(text->buf, "(--hang-timeout)");

    if (!table || !until)
        return;
    until += strlen("(--hang-timeout)");
    if (strstr(until, " stopped")) /* that is why, and the table may not have it */
        until = strstr(until, "; see ") ? strstr(until, "; see ") : until;
    strbuf_truncate(text, (size_t)(until - text->buf));
}

static void tell_path(const char *before, const char *path, const char *after)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, path, strlen(path));
    (void)fprintf(stderr, "%s%s%s", before, safe.buf, after);
}

static void tell_hang_table(const struct job *job, const char *run_dir)
{
    const char *line = strchr(job->hung, '\n');
    auto_free char *report = xasprintf("%s/hang.txt", run_dir);

    while (line) {
        size_t n = strcspn(line + 1, "\n");

        (void)fprintf(stderr, "  %.*s\n", (int)n, line + 1);
        line = strchr(line + 1, '\n');
    }
    if (access(report, F_OK) == 0)
        tell_path("  stacks and sockets: ", run_dir, "/hang.txt\n");
}

/* Success is one sentence; a failure has its first line and then the particulars. */
void tell_verdict(const struct job *job, const struct verdict_context *ctx)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, missing = STRBUF_INIT, name = STRBUF_INIT;
    char took[DURATION_TEXT];
    bool particulars = job->cause.kind != CAUSE_NONE && job->cause.replica >= 0;
    const char *colour = job->outcome == OUTCOME_SUCCEEDED   ? colours.green
                         : job->outcome == OUTCOME_CANCELLED ? colours.yellow
                                                             : colours.red;

    if (is_quiet && job->outcome == OUTCOME_SUCCEEDED)
        return;
    if (particulars)
        strbuf_addstr(&text, outcome_name(job->outcome));
    if (particulars && job->retries > 0)
        strbuf_addf(&text, " after %u attempts", job->retries + 1);
    if (particulars)
        verdict_restarts(job, &text);
    else
        verdict_sentence(job, &text);
    if (job->outcome == OUTCOME_SUCCEEDED)
        add_warning(job, ctx->tail, &text);
    if (job->cause.kind == CAUSE_HANG && job->hung)
        tell_hang(job, &text);
    strbuf_add_escaped(&name, job->plan->spec->name, strlen(job->plan->spec->name));
    (void)fprintf(stderr, "muster: %s%s %s%s\n", col(colour), name.buf, text.buf, col(colours.off));
    if (job->cause.kind == CAUSE_HANG && job->hung)
        tell_hang_table(job, ctx->run_dir);
    if (particulars)
        tell_first_failure(job, ctx);
    if (job->cause.kind != CAUSE_NONE || job->stop == STOP_COMPLETED)
        tell_stopped(job);
    log_gaps_sentence(ctx->gaps, &missing);
    if (missing.len > 0)
        (void)fprintf(stderr, "  %s\n", missing.buf);
    (void)fprintf(stderr, "  exit code %d; took %s", job->exit_code,
                  duration_text((job->ended - job->created) / NS_PER_MS, took));
    if (*ctx->missing)
        (void)fprintf(stderr, "; %s", ctx->missing);
    tell_path(*ctx->missing ? ": " : "; logs: ", ctx->run_dir, *ctx->missing ? "\n" : "/logs\n");
}

void tell_detached_note(const char *id, const char *until)
{
    static const struct {
        const char *verb, *what;
    } ways[] = {{"muster attach", "continue with it, to its verdict"},
                {"muster logs", "show the output fetched so far"},
                {"muster cancel", "stop it and remove it from the cluster"}};

    if (is_quiet)
        return;
    (void)fprintf(stderr, "muster: detached: the job continues; the cluster keeps it until %s\n",
                  until);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        auto_strbuf struct strbuf line = STRBUF_INIT;

        add_as_typed(&line, ways[i].verb);
        (void)fprintf(stderr, "  %s %s   %s\n", line.buf, id, ways[i].what);
    }
}

void tell_outputs(const struct strvec *outputs)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < outputs->n; i++) {
        strbuf_addstr(&text, i ? ", " : "");
        strbuf_add_escaped(&text, outputs->v[i], strlen(outputs->v[i]));
    }
    if (text.len > 0)
        (void)fprintf(stderr, "  outputs: %s\n", text.buf);
}

void tell_discarded(const struct plan *plan)
{
    auto_strbuf struct strbuf dir = STRBUF_INIT;

    if (is_quiet || !plan->facts->site.overlay || plan->facts->site.keep_overlay)
        return;
    strbuf_add_escaped(&dir, plan->workdirs[0], strlen(plan->workdirs[0]));
    if (plan->facts->site.private_workdir)
        (void)fputs("  changes to files were discarded (use --keep-overlay DIR to keep them)\n",
                    stderr);
    else
        (void)fprintf(stderr,
                      "  changes outside %s were discarded (use --keep-overlay DIR to keep them)\n",
                      dir.buf);
}
