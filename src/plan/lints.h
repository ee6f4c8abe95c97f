/* lints.h - what in a job's commands will not work as it stands. Internal to plan/. */
#ifndef PLAN_LINTS_H
#define PLAN_LINTS_H

#include "plan/notes.h"

/* Looks into the commands of every role. The plan is complete but for notes. */
void lints_collect(struct notes *ns, const struct plan *plan);

#endif
