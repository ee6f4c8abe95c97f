/* tell.c - the sentences and layout of a foreground run. */
#include "cli/tell.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli.h"
#include "job/hint.h"
#include "job/verdict.h"

static const struct {
    const char *red, *yellow, *green, *bold, *dim, *off;
} colours = {"\033[31m", "\033[33m", "\033[32m", "\033[1m", "\033[2m", "\033[0m"};

static const char *col(const char *code)
{
    return want_colour(stderr) ? code : "";
}

void tell_error(const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, safe = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    strbuf_add_escaped(&safe, text.buf, text.len);
    (void)fprintf(stderr, "muster: %serror:%s %s\n", col(colours.red), col(colours.off), safe.buf);
}

static void tell_line(const char *word, const char *colour, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    (void)fprintf(stderr, "muster: %s%s:%s %s\n", col(colour), word, col(colours.off), safe.buf);
}

void tell_note(const char *text)
{
    tell_line("note", colours.dim, text);
}

void tell_changes(const struct changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        if (changes->v[i].severity == SEV_WARNING)
            tell_line("warning", colours.yellow, changes->v[i].text);
        else
            tell_note(changes->v[i].text);
    }
}

void tell_plan_notes(const struct plan *plan)
{
    size_t rest = 0;

    for (size_t i = 0; i < plan->n_notes; i++) {
        if (plan->notes[i].severity == SEV_WARNING)
            tell_line("warning", colours.yellow, plan->notes[i].message);
        else
            rest++;
    }
    if (rest > 0 && plan->spec->file) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        strbuf_addf(&text, "%zu more on what is different here: muster explain ", rest);
        strbuf_add_shell_word(&text, plan->spec->file);
        tell_note(text.buf);
    }
}

static void tell_first_failure(const struct job *job, const char *log, const struct strvec *tail,
                               const char *other)
{
    const struct cause *c = &job->cause;
    auto_strbuf struct strbuf text = STRBUF_INIT, rule = STRBUF_INIT, hint = STRBUF_INIT;
    char when[CLOCK_TEXT];

    verdict_cause(job, c, &text);
    verdict_rule(job, &rule);
    (void)fprintf(stderr, "  first failure: %s, at %s%s%s\n", text.buf, clock_hms(c->end.at, when),
                  verdict_aside(job), rule.buf);
    if (log && *log && tail->n == 0)
        (void)fprintf(stderr, "  it wrote nothing\n");
    else if (tail->n > 0)
        (void)fprintf(stderr, "  last lines of %s:\n", log);
    for (size_t i = 0; i < tail->n; i++)
        (void)fprintf(stderr, "  %s|%s %s\n", col(colours.dim), col(colours.off), tail->v[i]);
    hint_for(job, (const char *const *)tail->v, &hint);
    if (hint.len > 0)
        (void)fprintf(stderr, "  hint: %s\n", hint.buf);
    if (*other)
        (void)fprintf(stderr, "  %s\n", other);
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

/* Success is one sentence; a failure has its first line and then the particulars. */
void tell_verdict(const struct job *job, const char *run_dir, const char *log,
                  const struct strvec *tail, const char *other)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char took[DURATION_TEXT];
    bool particulars = job->cause.kind != CAUSE_NONE && job->cause.replica >= 0;
    const char *colour = job->outcome == OUTCOME_SUCCEEDED   ? colours.green
                         : job->outcome == OUTCOME_CANCELLED ? colours.yellow
                                                             : colours.red;

    if (particulars)
        strbuf_addstr(&text, outcome_name(job->outcome));
    if (particulars && job->retries > 0)
        strbuf_addf(&text, " after %u attempts", job->retries + 1);
    if (particulars)
        verdict_restarts(job, &text);
    else
        verdict_sentence(job, &text);
    if (job->outcome == OUTCOME_SUCCEEDED)
        add_warning(job, tail, &text);
    (void)fprintf(stderr, "muster: %s%s %s%s\n", col(colour), job->plan->spec->name, text.buf,
                  col(colours.off));
    if (particulars)
        tell_first_failure(job, log, tail, other);
    if (job->cause.kind != CAUSE_NONE || job->stop == STOP_COMPLETED)
        tell_stopped(job);
    (void)fprintf(stderr, "  exit code %d; took %s; logs: %s/logs\n", job->exit_code,
                  duration_text((job->ended - job->created) / NS_PER_MS, took), run_dir);
}

/* Below /dev are the descriptors of others (/dev/stderr): what they hold already stays. */
static int write_in_place(const char *path, const char *data, size_t n, struct err *e)
{
    int how = strncmp(path, "/dev/", 5) == 0 ? O_APPEND : O_TRUNC;
    auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | how);
    int r = fd < 0 ? -errno : io_write_all(fd, data, n);

    return r < 0 ? err_sys(e, r, "%s", path) : 0;
}

int tell_write_file(const char *path, const char *data, size_t n, struct err *e)
{
    struct stat st;

    if (strcmp(path, "-") == 0) {
        int r = io_write_all(STDOUT_FILENO, data, n);
        return r < 0 ? err_sys(e, r, "stdout") : 0;
    }
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_in_place(path, data, n, e);

    const char *slash = strrchr(path, '/');
    auto_free char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, -errno, "%s", dir);
    return io_write_atomic(fd, slash ? slash + 1 : path, data, n, e);
}
