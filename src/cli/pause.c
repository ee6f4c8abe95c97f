/* pause.c - `muster pause`: ends a job's processes, not the job. */
#include "cli/cluster_jobs.h"
#include "cli/target.h"

struct options {
    struct cluster_options cluster;
};

static int run_pause(const struct verb *verb, int argc, char **argv)
{
    static const char done[] =
        "stopping the processes (SIGTERM); `muster resume` restarts them from the beginning";
    struct options o = {0};
    struct operands ops;
    struct cluster cluster;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = cluster_choose(verb, &o.cluster, NULL, &cluster);
    if (code != 0)
        return code;
    return cluster.place ? cluster_ask(verb, &cluster, JOBS_PAUSE, &ops, done)
                         : target_ask(verb, &ops, "pause", done);
}

static const struct opt opts[] = {OPT_END};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_pause = {
    .name = "pause",
    .synopsis = "[ID]",
    .summary = "stop the processes of a job but keep the job",
    .about =
        "Sends SIGTERM to every process and, after the grace period, SIGKILL; processes are not "
        "frozen. The run stays until muster resume restarts every process from the beginning (or "
        "with the commands in the file's resumeSpecs), or muster cancel ends it.\n\n" TARGET_ABOUT,
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_pause,
};
