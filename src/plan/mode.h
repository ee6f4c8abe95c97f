/* mode.h - what debugging and resuming make of a process; for the files of plan/. */
#ifndef PLAN_MODE_H
#define PLAN_MODE_H

#include "plan/plan.h"

/* Fills in what the spec's modes say about this process. */
void mode_of_process(struct arena *a, const struct job_spec *spec, const struct role *role,
                     struct process *process);

/* The command of a mode that this start executes, unexpanded; NULL: the process's own, or none. */
const char *const *process_mode_argv(const struct process *process, struct start start);

#endif
