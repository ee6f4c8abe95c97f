/* log_name.c - what the log of a process is called, by which start of it wrote it. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

const char *plan_log_name(const struct process *process, struct start start,
                          char out[PLAN_LOG_NAME])
{
    static const char end[] = ".log";
    size_t n = strlen(process->log);
    char attempt[32] = "", restart[32] = "";

    if (n <= strlen(end) ||
        (process_waits(process, start) && !process_waiting_argv(process, start))) {
        out[0] = '\0';
        return out;
    }
    if (start.attempt > 1)
        (void)snprintf(attempt, sizeof(attempt), ".attempt-%u", start.attempt);
    if (start.instance > 1)
        (void)snprintf(restart, sizeof(restart), ".restart-%u", start.instance - 1);
    (void)snprintf(out, PLAN_LOG_NAME, "%.*s%s%s%s", (int)(n - strlen(end)), process->log, attempt,
                   restart, end);
    return out;
}
