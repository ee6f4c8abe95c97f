/* needs.h - the programs, scripts and Python modules that a job's commands need, as far as the
 * commands themselves show it: pure, nothing is looked up here (engine/local/needs.c does).
 *
 * Only what is certain is told. After a command that may create files, change the directory or
 * PATH, and wherever the shell would expand something, nothing more is said of the text.
 */
#ifndef PLAN_NEEDS_H
#define PLAN_NEEDS_H

#include "plan/plan.h"

enum need_kind {
    NEED_PROGRAM, /* is executed: found on PATH unless there is a slash in it */
    NEED_SCRIPT,  /* is read by its interpreter */
    NEED_MODULE,  /* python -m */
};

struct need {
    enum need_kind kind;
    const struct replica *replica; /* the first of the role whose command needs it */
    int init;                      /* of the role's init commands the one that does; -1: the role */
    const char *name;
    const char *by; /* the interpreter of a script or module, as the command names it; else NULL */
    bool decides;   /* without it the command fails; else it may go on */
    bool of_ranks;  /* mpirun starts it in the workers */
};

size_t plan_needs(struct arena *a, const struct plan *plan, const struct need **ret);

#endif
