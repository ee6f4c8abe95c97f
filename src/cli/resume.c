/* resume.c - `muster resume`: starts a paused job again. */
#include "cli/target.h"

static int run_resume(const struct verb *verb, int argc, char **argv)
{
    return target_ask(verb, argc, argv, "resume", "being resumed");
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_resume = {
    .name = "resume",
    .synopsis = "[ID]",
    .summary = "start a paused job again",
    .about =
        "Every process is started anew, as a further attempt that counts against no retry budget.\n"
        "\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_resume,
};
