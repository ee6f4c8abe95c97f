/* wait.c - `muster wait`: until a run has ended, with the run's own exit code. */
#include "base/io.h"
#include "cli/target.h"
#include "cli/tell.h"

static int run_wait(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct operands ops;
    struct run_ref run, after;
    struct err e;
    bool ended;
    int code = target_operands(verb, NULL, argc, argv, 1, &ops);

    if (code == 0)
        code = target_pick(verb, a, ops.n ? ops.v[0] : NULL, RUNS_LIVING_FIRST, &run);
    if (code != 0)
        return code;
    if (run.kept_until) {
        tell_error("%s is detached, and only muster attach %s learns how it ends", run.id, run.id);
        return EXIT_MUSTER;
    }
    if (runs_is_stuck(&run, &e)) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text, "%s cannot end: %s", run.id, e.text);
        tell_warning(text.buf);
    }
    auto_close int fd = runs_open(&run, true, &ended, &e);
    if (fd < 0 || runs_at(a, run.dir, &after, &e) < 0) {
        (void)target_failed(&run, &e);
        return EXIT_MUSTER;
    }
    if (after.exit_code < 0 && *after.fault) {
        tell_error("%s has ended, but %s", run.id, after.fault);
        return EXIT_MUSTER;
    }
    if (after.exit_code < 0) {
        tell_error("%s ended without a report: the muster process was killed", run.id);
        return EXIT_MUSTER;
    }
    return after.exit_code;
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_wait = {
    .name = "wait",
    .synopsis = "[ID]",
    .summary = "wait until a job has ended, and exit with its code",
    .about =
        "Exits as muster run does: with the job's own code, 125 if the run was lost or there "
        "is no such run. A job that has ended gives its code at once. A detached job is not waited "
        "for: "
        "use muster attach.\n"
        "\n" TARGET_ID "Defaults to the only running job, or to the newest run if none is running.",
    .opts = opts,
    .usage_exit = EXIT_MUSTER,
    .run = run_wait,
};
