/* cancel.c - `muster cancel`: stops a job that runs, as SIGTERM to its muster would. */
#include "cli/attach.h"
#include "cli/cluster_jobs.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "client/ask.h"

struct options {
    bool now;
    struct cluster_options cluster;
};

/* Nobody is there to be asked: we attach, and see it through. */
static int cancel_detached(const struct run_ref *run, bool now)
{
    enum { CANCELLED = 143 };
    int code = attach_to(run, &(struct attach){.cancel = now ? 2 : 1});

    return code == CANCELLED ? EXIT_FINE : code;
}

static int run_cancel(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {0};
    struct operands ops;
    struct cluster cluster;
    struct run_ref run;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = cluster_choose(verb, &o.cluster, o.now ? "--now" : NULL, &cluster);
    if (code == 0 && cluster.place)
        return cluster_ask(verb, &cluster, JOBS_CANCEL, &ops, "being stopped and removed");
    if (code == 0 && ops.n && target_is_array(ops.v[0]))
        return target_ask_array(verb, ops.v[0], o.now ? "kill" : "cancel", "being stopped");
    if (code == 0 && ops.n &&
        target_others(a, ops.v[0], o.now ? "kill" : "cancel", "being stopped", &code))
        return code;
    if (code == 0)
        code = target_pick(verb, a, ops.n ? ops.v[0] : NULL, RUNS_LIVING, &run);
    if (code == 0 && run.kept_until)
        return cancel_detached(&run, o.now);
    if (code == 0)
        code = target_is_living(&run);
    if (code != 0)
        return code;
    code = target_request(a, &run, o.now ? "kill" : "cancel");
    if (code != 0)
        return code;
    printf("%s: being stopped%s\n", run.id, o.now ? " at once" : "");
    return finish_output();
}

static const struct opt opts[] = {
    {"now", 0, OPT_FLAG, offsetof(struct options, now), .help = "skip the grace period"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_cancel = {
    .name = "cancel",
    .synopsis = "[--now] [ID]",
    .summary = "stop a running job",
    .about =
        "Sends SIGTERM to every process and, after the grace period, SIGKILL; a second cancel "
        "sends SIGKILL at once. Returns as soon as the run has the request; use muster wait "
        "to wait for its end. The exit code of the run is 143. A detached job is cancelled in the "
        "cluster, and its end is waited for.\n\n" TARGET_ARRAY "Of more than 10 jobs only the "
        "number is printed. " TARGET_ABOUT,
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_cancel,
};
