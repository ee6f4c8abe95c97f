/* wait.c - `muster wait`: until a run has ended, with the run's own exit code. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/io.h"
#include "cli/cluster_jobs.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "client/daemon.h"

struct options {
    bool all;
    struct cluster_options cluster;
};

#define POLL_MS 200 /* how often a daemon that is not there is looked for */

/* The daemon may be killed and started again meanwhile: the job goes on. */
static int wait_served(struct arena *a, const struct run_ref *run)
{
    static const struct timespec moment = {.tv_nsec = POLL_MS * NS_PER_MS};
    const struct node *job;
    bool told = false;
    struct err e;

    for (;;) {
        int r = daemon_ask_job(a, "wait", run->id, 0, &job, &e);
        const struct node *code = r == 0 ? node_get(job, "exit_code") : NULL;

        if (code && code->type == NODE_INT)
            return (int)code->i;
        if (r == -EPERM || r == 0) {
            (void)target_failed(run, &e);
            return EXIT_MUSTER;
        }
        if (!told && (r == -ENOENT || r == -ECONNREFUSED))
            tell_warning("the daemon is not running; its jobs continue, and their ends are seen "
                         "when it runs again (muster serve)");
        told |= r == -ENOENT || r == -ECONNREFUSED;
        (void)nanosleep(&moment, NULL);
    }
}

static int wait_one(struct arena *a, const struct run_ref *run)
{
    struct run_ref after;
    struct err e;
    bool ended;

    if (run->served && run->exit_code < 0)
        return wait_served(a, run);
    if (run->served && !*run->dir)
        return run->exit_code;
    if (run->kept_until) {
        tell_error("%s is detached, and only muster attach %s learns how it ends", run->id,
                   run->id);
        return EXIT_MUSTER;
    }
    if (runs_is_stuck(run, &e)) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text, "%s cannot end: %s", run->id, e.text);
        tell_warning(text.buf);
    }
    auto_close int fd = runs_open(run, true, &ended, &e);
    if (fd < 0 || runs_at(a, run->dir, &after, &e) < 0) {
        (void)target_failed(run, &e);
        return EXIT_MUSTER;
    }
    if (after.exit_code < 0 && *after.fault) {
        tell_error("%s has ended, but %s", run->id, after.fault);
        return EXIT_MUSTER;
    }
    if (after.exit_code < 0) {
        tell_error("%s ended without a report: the muster process was killed", run->id);
        return EXIT_MUSTER;
    }
    return after.exit_code;
}

/* A job of the daemon that has failed already counts as well: whether a short one is waited for or
 * found ended is a matter of milliseconds. */
static int wait_all(void)
{
    auto_arena struct arena *a = arena_new();
    struct runs runs;
    int code = 0;

    runs_list(a, &runs);
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_ref *run = &runs.v[i];

        if (!run->alive && !run->served)
            continue;
        int r = run->served && run->exit_code >= 0 ? run->exit_code : wait_one(a, run);
        if (r != 0 && code == 0) {
            auto_strbuf struct strbuf text = STRBUF_INIT;

            strbuf_addf(&text, "%s (%s) ended with exit code %d", run->id, run->name, r);
            tell_note(text.buf);
            code = r;
        }
    }
    if (runs.unlisted) { /* they have not ended, and nobody is there to wait with */
        tell_error("%s", runs.unlisted);
        code = code ? code : EXIT_MUSTER;
    }
    return code;
}

static int wait_array(const struct verb *verb, const char *word)
{
    auto_arena struct arena *a = arena_new();
    struct runs runs;
    int code = target_array(verb, a, word, &runs);

    for (size_t i = 0; i < runs.n; i++) {
        int r = wait_one(a, &runs.v[i]);

        code = code ? code : r;
    }
    return code;
}

static int run_wait(const struct verb *verb, int argc, char **argv)
{
    struct options o = {0};
    struct operands ops;
    struct cluster cluster;
    int result;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.rest)
        return usage_error(verb, "takes no command");
    result = cluster_choose(verb, &o.cluster, o.all ? "--all" : NULL, &cluster);
    if (result != 0 || cluster.place)
        return result ? result : cluster_wait(verb, &cluster, &ops);
    if (o.all)
        return ops.n ? usage_error(verb, "--all and an ID cannot be used together") : wait_all();
    for (int i = 0; i < (ops.n ? ops.n : 1); i++) {
        auto_arena struct arena *a = arena_new();
        struct run_ref run;

        if (ops.n && target_is_array(ops.v[i])) {
            int r = wait_array(verb, ops.v[i]);
            result = result ? result : r;
            continue;
        }
        int code = target_pick(verb, a, ops.n ? ops.v[i] : NULL, RUNS_LIVING_FIRST, &run);

        if (code == 0)
            code = wait_one(a, &run);
        result = result ? result : code;
    }
    return result;
}

static const struct opt opts[] = {
    {"all", 0, OPT_FLAG, offsetof(struct options, all),
     .help = "wait for all jobs; exit with 0 only if all of them succeeded"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_wait = {
    .name = "wait",
    .synopsis = "[ID… | --all]",
    .summary = "wait until a job has ended, and exit with its code",
    .about =
        "Exits as muster run does: with the job's own code, 125 if the run was lost or there "
        "is no such run. A job that has ended gives its code at once. A detached job is not waited "
        "for: "
        "use muster attach. With several jobs, exits with the first code that is not 0.\n"
        "\n" TARGET_ID TARGET_ARRAY
        "Defaults to the only running job, or to the newest run if none is running.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_MUSTER,
    .run = run_wait,
};
