/* values.h - what `${{inputs.NAME}}` and `${{outputs.NAME}}` of a command are. Internal to plan/.
 */
#ifndef PLAN_VALUES_H
#define PLAN_VALUES_H

#include "plan/plan.h"

/* What stands for the value in commands: its text, or a path. Never NULL. */
const char *value_here(struct arena *a, const struct job_spec *spec, const struct facts *facts,
                       const struct job_value *v);

/* The text with all of them filled in; the text itself if it names none. */
const char *values_fill(struct arena *a, const struct job_spec *spec, const struct facts *facts,
                        const char *text);

#endif
