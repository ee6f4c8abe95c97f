/* pause.c - `muster pause`: stops a job's processes, not the job. */
#include "cli/target.h"

static int run_pause(const struct verb *verb, int argc, char **argv)
{
    return target_ask(verb, argc, argv, "pause", "being paused");
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_pause = {
    .name = "pause",
    .synopsis = "[ID]",
    .summary = "stop the processes of a job and keep the job",
    .about =
        "Every process gets SIGTERM and, after the grace period, SIGKILL. The run stays, with "
        "nothing in it, until muster resume starts everything again or muster cancel ends it.\n"
        "\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_pause,
};
