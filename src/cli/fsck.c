/* fsck.c - `muster fsck`: the daemon's database against what is on the disk.
 *
 * A verb of muster-serve, because it needs SQLite.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "daemon/daemon.h"

struct options {
    bool repair;
};

static void tell_problem(const char *text, bool mended)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, text, strlen(text));
    printf("%s%s\n", safe.buf, mended ? " (removed)" : "");
}

static void tell_checked(const struct fsck_result *r)
{
    if (r->no_database)
        printf("there is no database; no job has been submitted to a daemon\n");
    else
        printf("checked %zu job%s, %zu run director%s and %zu snapshot%s: %zu problem%s\n", r->jobs,
               r->jobs == 1 ? "" : "s", r->directories, r->directories == 1 ? "y" : "ies",
               r->snapshots, r->snapshots == 1 ? "" : "s", r->problems,
               r->problems == 1 ? "" : "s");
}

static int run_fsck(const struct verb *verb, int argc, char **argv)
{
    static char muster[] = "muster";
    auto_free char **words = xcalloc((size_t)argc + 2, sizeof(*words));
    struct options o = {0};
    struct operands ops;
    struct fsck_result found;
    struct err e;

    words[0] = muster;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    int code = target_operands(verb, &o, argc, argv, 0, &ops);
    if (code != 0)
        return code;
    if (!daemon_fsck) {
        (void)place_become("serve", words, &e);
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    const struct fsck_options how = {.repair = o.repair, .tell = tell_problem};
    if (daemon_fsck(&how, &found, &e) < 0) {
        tell_error("%s%s", e.text,
                   e.code == -EBUSY ? "; end it first (its jobs continue): SIGTERM" : "");
        return EXIT_FAILED;
    }
    tell_checked(&found);
    code = finish_output();
    return code ? code : found.problems > found.mended ? EXIT_FAILED : EXIT_FINE;
}

static const struct opt opts[] = {
    {"repair", 0, OPT_FLAG, offsetof(struct options, repair),
     .help = "remove rows and snapshots that belong to nothing any more"},
    OPT_END,
};

const struct verb verb_fsck = {
    .name = "fsck",
    .synopsis = "[--repair]",
    .summary = "check the daemon's database against the run directories",
    .about = "Checks the database, the run directory and report of each job, run directories that "
             "the database does not have, and copies of code that belong to no job. The daemon "
             "must not run; running jobs are not disturbed.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_fsck,
};
