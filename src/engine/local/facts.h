/* facts.h - what planning has to know of this machine, looked up once. */
#ifndef ENGINE_LOCAL_FACTS_H
#define ENGINE_LOCAL_FACTS_H

#include "plan/plan.h"

/* Fills *ret (texts in the arena); ret->images is what the caller has set there, and counts.
 * run_id, run_dir and scratch_dir are stored as given. Looks for the shim beside the program, then
 * in ../libexec/muster; never through PATH. */
int facts_collect(struct arena *a, const struct job_spec *spec, const char *run_id,
                  const char *run_dir, const char *scratch_dir, struct facts *ret, struct err *e);

/* Fills in mpi_version by asking mpirun, which costs a process: for those who show it. */
void facts_ask_mpi_version(struct arena *a, struct facts *f);

/* --require-gpus: -ENODEV unless this machine really has all GPUs that the job asks for. */
int facts_require_gpus(const struct job_spec *spec, const struct facts *f, struct err *e);

#endif
