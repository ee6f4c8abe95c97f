/* survey.h - what this machine has for a job: facts, values, isolation, volumes, ports. */
#ifndef ENGINE_LOCAL_SURVEY_H
#define ENGINE_LOCAL_SURVEY_H

#include "base/arena.h"
#include "engine/survey.h"

/* As struct engine_class wants them. */
int local_survey(struct arena *a, const struct survey_request *rq, struct survey *s, struct err *e);
int local_plan(struct arena *a, const struct job_spec *spec, struct survey *s,
               const struct plan **ret, struct err *e);

/* Only facts, values and ports, for engines that start nothing on this machine: no namespaces are
 * tried and no volumes looked for. */
int local_survey_unisolated(struct arena *a, const struct survey_request *rq, struct survey *s,
                            struct err *e);

#endif
