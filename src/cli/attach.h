/* attach.h - a job that goes on without its muster is driven again, as `run` would have done. */
#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include "client/runs.h"
#include "journal/away.h"
#include "rundir/command_line.h"

struct attach {
    const struct run_ref *run;
    const struct engine_class *engine;
    struct away away;
    struct command_line command; /* that it was started with */
    const char *report;          /* as well as the report of that command line; or NULL */
    int cancel;                  /* as struct drive_options has it */
    bool quiet;
};

/* Attaches to the run until it ends or is detached again. How it is told and what is returned is as
 * for `run`. Does not return if another program has its engine. */
int attach_to(const struct run_ref *run, struct attach *how);

/* run.c: the rest of it, in the run's working directory. */
int run_attached(const struct attach *at);

#endif
