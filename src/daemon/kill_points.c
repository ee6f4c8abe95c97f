/* kill_points.c - see kill_points.h. */
#include "daemon/kill_points.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"

const char *const kill_point_names[KILL_POINTS + 1] = {
    [KILL_BEFORE_SUBMIT_COMMIT] = "before-submit-commit",
    [KILL_BEFORE_REPLY] = "before-reply",
    [KILL_PLANNED] = "planned",
    [KILL_DIRS_MADE] = "dirs-made",
    [KILL_BEFORE_COMMIT] = "before-commit",
    [KILL_AFTER_COMMIT] = "after-commit",
    [KILL_ACTED] = "acted",
    [KILL_REPORT_WRITTEN] = "report-written",
    [KILL_END_COMMITTED] = "end-committed",
    [KILL_CANCEL_POSTED] = "cancel-posted",
    [KILL_CODE_COPIED] = "code-copied",
    [KILL_CODE_PRUNED] = "code-pruned",
    [KILL_PREEMPTED] = "preempted",
    [KILL_RELEASED] = "released",
    [KILL_MOVED] = "moved",
    [KILL_ADOPTED] = "adopted",
};

const char *const *daemon_kill_points(void)
{
    return kill_point_names;
}

void kill_point(enum kill_point point)
{
    static const char *wanted;
    static int asked;

    if (!asked)
        wanted = getenv("MUSTER_KILL_POINT");
    asked = 1;
    if (wanted && strcmp(wanted, kill_point_names[point]) == 0)
        (void)kill(getpid(), SIGKILL);
}
