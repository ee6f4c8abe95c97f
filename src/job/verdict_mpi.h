/* verdict_mpi.h - the words for what an mpirun did to its ranks. Internal to job/. */
#ifndef JOB_VERDICT_MPI_H
#define JOB_VERDICT_MPI_H

#include "base/strbuf.h"
#include "job/job.h"

/* After "launcher-0 exited with status 3": what became of the ranks it ended before. */
void verdict_ranks(const struct job *job, const struct cause *c, struct strbuf *out);

/* Before "launcher-0 exited with status 0": what ended mpirun, and with it its ranks. */
void verdict_mpirun(const struct job *job, const struct cause *c, struct strbuf *out);

/* After "rank 3 on worker-1": how that made mpirun end the others. False: it failed by itself. */
bool verdict_blame(const struct cause *c, struct strbuf *out);

/* A launcher that is trusted and ended with 0 over ranks that did not. False: there are none. */
bool verdict_trusted(const struct job *job, struct strbuf *out);

/* A launcher started ranks that nobody saw, or none at all. */
void verdict_unobserved(const struct job *job, struct strbuf *out);

/* Instead of all that: an mpirun that started no rank. False: it is not that. */
bool verdict_no_ranks(const struct cause *c, struct strbuf *out);

#endif
