/* needs.h - are the programs, scripts and modules that a job's commands need on this machine? */
#ifndef ENGINE_LOCAL_NEEDS_H
#define ENGINE_LOCAL_NEEDS_H

#include "plan/plan.h"

/* Builds the plan and looks up what its commands need. What is missing is in facts->missing, and
 * among the plan's notes. Starts a Python only for a command that names a module. */
int plan_checked(struct arena *a, const struct job_spec *spec, struct facts *facts,
                 const struct plan **ret, struct err *e);

#endif
