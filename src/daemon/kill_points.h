/* kill_points.h - places of the daemon where a test ends it with SIGKILL.
 *
 * Between two of them something is done that a crash may separate from what comes next. With
 * MUSTER_KILL_POINT=NAME in its environment the daemon kills itself when it comes to that place;
 * `muster serve --list-kill-points` prints the names. A test goes through all of them.
 */
#ifndef DAEMON_KILL_POINTS_H
#define DAEMON_KILL_POINTS_H

enum kill_point {
    KILL_BEFORE_SUBMIT_COMMIT, /* jobs were submitted and are not in the database */
    KILL_BEFORE_REPLY,         /* they are, and nobody was told */
    KILL_PLANNED,              /* a job has its ports, and an empty run directory */
    KILL_DIRS_MADE,            /* that is filled, and its start is not committed */
    KILL_BEFORE_COMMIT,        /* events were folded */
    KILL_AFTER_COMMIT,         /* and committed; nothing is carried out */
    KILL_ACTED,                /* all is carried out */
    KILL_REPORT_WRITTEN,       /* the end of a job is not committed */
    KILL_END_COMMITTED,        /* its directories are not cleaned up */
    KILL_CANCEL_POSTED,        /* a request is committed, and not replied to */
    KILL_ADOPTED,              /* a job of an earlier daemon is attached to */
    KILL_CODE_COPIED,          /* the code of a job was copied into its run directory */
    KILL_CODE_PRUNED,          /* and removed again, but for what it has written */
    KILL_PREEMPTED,            /* a job was told to make room, nothing is committed */
    KILL_RELEASED,             /* it is paused and holds nothing; likewise */
    KILL_MOVED,                /* it has other GPUs than before, and is to be planned again */
    KILL_POINTS,
};
extern const char *const kill_point_names[KILL_POINTS + 1]; /* NULL-terminated */

void kill_point(enum kill_point point);

#endif
