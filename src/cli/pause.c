/* pause.c - `muster pause`: ends a job's processes, not the job. */
#include "cli/target.h"

static int run_pause(const struct verb *verb, int argc, char **argv)
{
    return target_ask(
        verb, argc, argv, "pause",
        "stopping the processes (SIGTERM); `muster resume` restarts them from the beginning");
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_pause = {
    .name = "pause",
    .synopsis = "[ID]",
    .summary = "stop the processes of a job but keep the job",
    .about =
        "Sends SIGTERM to every process and, after the grace period, SIGKILL; processes are not "
        "frozen. The run stays until muster resume restarts every process from the beginning (or "
        "with the commands in the file's resumeSpecs), or muster cancel ends it.\n\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_pause,
};
