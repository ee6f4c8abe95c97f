/* jobs.h - MusterJobs as those who submitted them ask about them: what there is, how one stands
 * until it has ended, what its containers wrote; and what they can ask of one.
 *
 * The operator runs the jobs; here is only what its API server knows of them. */
#ifndef ENGINE_KUBERNETES_JOBS_H
#define ENGINE_KUBERNETES_JOBS_H

#include "engine/engine.h"

int kubernetes_jobs(const struct engine_jobs *how, struct err *e); /* engine_class.jobs */

#endif
