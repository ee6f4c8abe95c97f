/* survey.h - what a plan for pods has to know, and where the cluster is. */
#ifndef ENGINE_KUBERNETES_SURVEY_H
#define ENGINE_KUBERNETES_SURVEY_H

#include "engine/engine.h"
#include "engine/kubernetes/access.h"

int kubernetes_survey(struct arena *a, const struct survey_request *rq, struct survey *s,
                      struct err *e);
int kubernetes_plan(struct arena *a, const struct job_spec *spec, struct survey *s,
                    const struct plan **ret, struct err *e);

/* access_load() with what this process finds in its environment. */
int kubernetes_access(struct arena *a, const char *context, const char *namespace_,
                      struct kube_access *ret, struct err *e);

#endif
