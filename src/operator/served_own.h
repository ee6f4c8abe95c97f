/* served_own.h - the plan of a MusterJob: that of `muster run --on kubernetes`, without what only
 * the machine has on which a job file lies. */
#ifndef OPERATOR_SERVED_OWN_H
#define OPERATOR_SERVED_OWN_H

#include "operator/served.h"

/* Sets s->plan, or s->invalid. */
void served_own_plan(struct arena *a, struct served *s, struct job_spec *spec);

#endif
