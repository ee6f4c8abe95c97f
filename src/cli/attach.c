/* attach.c - `muster attach`: back to a job that goes on without its muster. */
#include "cli/attach.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "cli/target.h"
#include "cli/tell.h"

struct options {
    const char *report;
    bool quiet;
};

/* What the run directory has of it; the caller releases how->command. */
static int read_run(struct arena *a, const struct run_ref *run, struct attach *how, struct err *e)
{
    auto_close int fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(e, -errno, "%s", run->dir);
    if (st.st_uid != geteuid())
        return err_set(e, -EPERM, "the run belongs to another user");
    r = away_read(a, fd, &how->away, e);
    if (r == -ENOENT)
        return err_set(e, r,
                       "it is not detached; only runs in a cluster and jobs of the daemon "
                       "can be attached to");
    return r < 0 ? r : command_line_read(fd, &how->command, e);
}

int attach_to(const struct run_ref *run, struct attach *how)
{
    auto_arena struct arena *a = arena_new();
    struct err e;

    how->run = run;
    how->command = (struct command_line)COMMAND_INIT;
    int r = read_run(a, run, how, &e);
    if (r == 0)
        r = place_engine("kubernetes", &how->engine, &e);
    if (r == 0 && chdir(how->command.cwd) < 0)
        r = err_sys(&e, -errno, "cannot change to %s, the working directory of the run",
                    how->command.cwd);
    if (r < 0)
        (void)target_failed(run, &e);
    int code = r < 0 ? EXIT_MUSTER : run_attached(how);
    command_line_release(&how->command);
    return code;
}

/* A run that has ended, or that somebody else has. 0: neither. */
static int check(const struct run_ref *run)
{
    if (run->served && run->exit_code < 0 && !run->alive) {
        (void)target_is_living(run);
        return EXIT_MUSTER;
    }
    if (run->served && run->alive) {
        tell_error("%s is a job of the daemon; --report is not supported: use muster show -o json "
                   "%s after its end",
                   run->id, run->id);
        return EXIT_MUSTER;
    }
    if (run->alive) {
        auto_strbuf struct strbuf who = STRBUF_INIT;

        if (run->muster)
            strbuf_addf(&who, " (pid %d)", (int)run->muster);
        tell_error("%s: another muster process%s is attached; use muster logs -f %s to follow it",
                   run->id, who.buf, run->id);
        return EXIT_MUSTER;
    }
    if (run->exit_code < 0 || run->no_report) /* its end may not have reached the cluster */
        return 0;
    tell_error("%s has ended: %s, exit code %d", run->id, run->state, run->exit_code);
    return EXIT_MUSTER;
}

/* --- a job of the daemon ---------------------------------------------------------------------- */

static char followed[64];

/* Only what may be called here: the job is left alone. */
static void on_interrupt(int sig)
{
    static const char text[] = "\nmuster: note: detached; the job continues: muster attach ";
    struct iovec v[] = {{(void *)(uintptr_t)text, sizeof(text) - 1},
                        {followed, strlen(followed)},
                        {(void *)(uintptr_t) "\n", 1}};

    (void)sig;
    (void)!writev(STDERR_FILENO, v, ARRAY_SIZE(v));
    _exit(EXIT_FINE);
}

/* Its output from the beginning, then its verdict and its code. Nothing is held: the job runs
 * without us, and any number of terminals may look. */
static int follow_served(struct arena *a, const struct run_ref *run, bool quiet)
{
    static const struct timespec moment = {.tv_nsec = 200 * NS_PER_MS};
    const struct sigaction act = {.sa_handler = on_interrupt};
    char *logs[] = {arena_strdup(a, "logs"), arena_strdup(a, "-f"), arena_strdup(a, run->id), NULL};
    char *wait[] = {arena_strdup(a, "wait"), arena_strdup(a, run->id), NULL};
    struct run_ref after;
    struct err e;

    (void)snprintf(followed, sizeof(followed), "%s", run->id);
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGQUIT, &act, NULL);
    if (!quiet)
        (void)fprintf(stderr, "muster: note: %s (%s) is %s; Ctrl-C detaches, the job continues\n",
                      run->id, run->name, run->state);
    after = *run;
    while (!*after.dir && after.alive) { /* it waits in the queue */
        (void)nanosleep(&moment, NULL);
        if (runs_find(a, run->id, RUNS_NEWEST, &after, &e) < 0) {
            tell_error("%s", e.text);
            return EXIT_MUSTER;
        }
    }
    (void)verb_logs.run(&verb_logs, 3, logs);
    int code = verb_wait.run(&verb_wait, 2, wait);
    if (!quiet && runs_find(a, run->id, RUNS_NEWEST, &after, NULL) == 0 && *after.verdict) {
        auto_strbuf struct strbuf safe = STRBUF_INIT;

        strbuf_add_escaped(&safe, after.verdict, strlen(after.verdict));
        (void)fprintf(stderr, "muster: %s\n", safe.buf);
    }
    return code;
}

static int run_attach(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {0};
    struct operands ops;
    struct run_ref run;
    char cwd[PATH_MAX];
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0 && ops.n == 0)
        code = usage_error(verb, "ID is required");
    if (code == 0)
        code = target_pick(verb, a, ops.v[0], RUNS_ONLY, &run);
    if (code == 0 && run.served && run.alive && !o.report)
        return follow_served(a, &run, o.quiet);
    if (code == 0)
        code = check(&run);
    if (code != 0)
        return code;
    if (o.report && *o.report != '/' && strcmp(o.report, "-") != 0 && getcwd(cwd, sizeof(cwd)))
        o.report = arena_printf(a, "%s/%s", cwd, o.report);
    return attach_to(&run, &(struct attach){.report = o.report, .quiet = o.quiet});
}

static const struct opt opts[] = {
    {"report", 0, OPT_STRING, offsetof(struct options, report), "FILE",
     .help = "write the report as JSON; - is stdout"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct options, quiet),
     .help = "show only the job's output and, if it fails, the verdict"},
    OPT_END,
};

const struct verb verb_attach = {
    .name = "attach",
    .synopsis = "[--report FILE] [--quiet] ID",
    .summary = "continue with a detached job",
    .about =
        "Continues a run of muster run --detach, or one whose muster process was killed less than "
        "a minute ago, as if it had stayed in the foreground: fetches what the job wrote and what "
        "became of its processes meanwhile, shows new output, ends with the verdict, removes the "
        "run from the cluster, and exits with the job's own code.\n"
        "\n"
        "Ctrl-C stops the job. Ctrl-\\ (SIGQUIT) detaches again.\n"
        "\n"
        "Of a job of the daemon (muster submit), shows the output from its beginning, then the "
        "verdict. Ctrl-C detaches, and the job continues.\n"
        "\n" TARGET_ID "One muster at a time can be attached to a run.",
    .opts = opts,
    .usage_exit = EXIT_MUSTER,
    .run = run_attach,
};
