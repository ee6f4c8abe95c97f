/* survey.h - what a plan for pods has to know, and where the cluster is. */
#ifndef ENGINE_KUBERNETES_SURVEY_H
#define ENGINE_KUBERNETES_SURVEY_H

#include "engine/engine.h"
#include "engine/kubernetes/access.h"

int kubernetes_survey(struct arena *a, const struct survey_request *rq, struct survey *s,
                      struct err *e);
int kubernetes_plan(struct arena *a, const struct job_spec *spec, struct survey *s,
                    const struct plan **ret, struct err *e);

/* The facts of a plan for pods, without what is sent to them. All that is made is called `name`, or
 * begins with it. Texts are not copied. */
struct facts kubernetes_facts(struct arena *a, const struct job_spec *spec, const char *run_id,
                              const char *name, const char *namespace_);
/* -EINVAL: a role has no image. */
int kubernetes_need_images(const struct job_spec *spec, struct err *e);

/* Adds where code and inputs are in pods, and what of them would be sent. -EINVAL: an option of the
 * request names nothing of the job. */
int kubernetes_find_data(struct arena *a, const struct survey_request *rq, struct site *site,
                         struct err *e);

/* access_load() with what this process finds in its environment. */
int kubernetes_access(struct arena *a, const char *context, const char *namespace_,
                      struct kube_access *ret, struct err *e);

#endif
