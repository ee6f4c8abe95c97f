/* delete.c - `muster delete`: removes runs that have ended, by name. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/diagnose.h"
#include "cli/cluster_jobs.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "client/daemon.h"
#include "journal/journal.h"
#include "plan/plan.h"
#include "rundir/outputs.h"
#include "rundir/retention.h"

struct options {
    bool yes;
    struct cluster_options cluster;
};

/* A directory that happens to hold logs is not removed because somebody mistyped a path. */
static bool is_made_by_us(int fd)
{
    static const char *const files[] = {JOURNAL_NAME, PLAN_PEERS};
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (fstatat(fd, files[i], &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            return false;
    return true;
}

static void tell_kept(const struct run_ref *run, const struct strvec *outputs)
{
    tell_error("%s has outputs; delete them too with --yes:", run->id);
    tell_outputs(outputs);
}

static int delete_one(const struct options *o, const struct run_ref *run, bool by_path)
{
    auto_strvec struct strvec outputs = STRVEC_INIT;
    auto_close int fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err e;

    if (run->alive) {
        tell_error("%s is still running; stop it first: muster cancel %s", run->id, run->id);
        return EXIT_FAILED;
    }
    if (run->kept_until) {
        tell_error("%s is detached and may still be running; stop it first: muster cancel %s",
                   run->id, run->id);
        return EXIT_FAILED;
    }
    if (by_path && (fd < 0 || !is_made_by_us(fd))) {
        tell_error("%s is not a run directory", run->dir);
        return EXIT_FAILED;
    }
    if (fd >= 0)
        outputs_find(fd, run->dir, &outputs);
    if (outputs.n > 0 && !o->yes) {
        tell_kept(run, &outputs);
        return EXIT_FAILED;
    }
    if (run->served && run->exit_code < 0) {
        tell_error("%s may still be running: %s", run->id, run->fault);
        return EXIT_FAILED;
    }
    if (run->queue) { /* first: what the daemon does not list can be removed by hand */
        auto_arena struct arena *a = arena_new();

        if (daemon_ask_job(a, "forget", run->id, LIMIT_ASK_MS, NULL, &e) < 0)
            return target_failed(run, &e);
    }
    if (*run->dir && retention_remove(run->dir, &e) < 0)
        return target_failed(run, &e);
    printf("%s: deleted%s\n", run->id, outputs.n > 0 ? " with its outputs:" : "");
    for (size_t i = 0; i < outputs.n; i++) {
        auto_strbuf struct strbuf path = STRBUF_INIT;
        strbuf_add_escaped(&path, outputs.v[i], strlen(outputs.v[i]));
        printf("  %s\n", path.buf);
    }
    return EXIT_FINE;
}

static int first_of(int a, int b)
{
    return a ? a : b;
}

static int run_delete(const struct verb *verb, int argc, char **argv)
{
    struct options o = {0};
    struct operands ops;
    struct cluster cluster;
    int code;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.rest || ops.n == 0)
        return usage_error(verb, ops.rest ? "takes no command" : "at least one ID is required");
    code = cluster_choose(verb, &o.cluster, NULL, &cluster);
    if (code != 0 || cluster.place)
        return code ? code : cluster_ask(verb, &cluster, JOBS_DELETE, &ops, "deleted");
    for (int i = 0; i < ops.n; i++) {
        auto_arena struct arena *a = arena_new();
        struct run_ref run;

        if (target_is_array(ops.v[i])) {
            struct runs runs;
            int r = target_array(verb, a, ops.v[i], &runs);

            for (size_t k = 0; k < runs.n; k++)
                r = first_of(r, delete_one(&o, &runs.v[k], false));
            code = code ? code : r;
            continue;
        }
        int r = target_pick(verb, a, ops.v[i], RUNS_ONLY, &run);
        if (r == 0)
            r = delete_one(&o, &run, strchr(ops.v[i], '/') != NULL);
        code = code ? code : r;
    }
    int r = finish_output();
    return code ? code : r;
}

static const struct opt opts[] = {
    {"yes", 'y', OPT_FLAG, offsetof(struct options, yes), .help = "also delete the run's outputs"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_delete = {
    .name = "delete",
    .synopsis = "[--yes] ID…",
    .summary = "delete runs that have ended",
    .about =
        "Deletes the run directories: logs, journal, report. A run with outputs is deleted only "
        "with --yes. A run that has not ended is not deleted: muster cancel stops it.\n"
        "\n"
        "ID is a run's id or the beginning of one, the job's name if only one run has it, or a run "
        "directory (with a / in it). muster prune removes runs by age, number and size.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_delete,
};
