/* submit.c - `muster submit`: hands a job over, and returns. */
#include <string.h>

#include "cli/submit_daemon.h"

static bool command_begins(const void *options, const char *operand)
{
    return command_begins_with(&((const struct submit_options *)options)->command, operand);
}

const struct verb verb_submit = {
    .name = "submit",
    .synopsis = "FILE | -n N [--hosts H] [--] CMD…",
    .summary = "hand a job to the daemon, which queues and runs it",
    .about = "Prints the id of the job on stdout and returns as soon as the job is stored. The "
             "daemon starts it when the CPUs, memory and GPUs that it requests are free; muster "
             "list says why a job waits. Starts the daemon if it is not running (muster serve).\n"
             "\n"
             "The job continues if the terminal is closed or the daemon is killed. muster wait, "
             "show, logs, cancel and the other verbs take its id.",
    .opts = submit_opts,
    .parts = submit_parts,
    .usage_exit = EXIT_USAGE,
    .run = submit_daemon,
    .command_begins = command_begins,
};
