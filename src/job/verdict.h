/* verdict.h - the truth about a job in words: one sentence a person can act on. */
#ifndef JOB_VERDICT_H
#define JOB_VERDICT_H

#include "base/strbuf.h"
#include "job/job.h"

/* "rank 3 on worker-1 exited with code 7" - the cause alone, without what came of it. */
void verdict_cause(const struct job *job, const struct cause *cause, struct strbuf *out);

/* The whole sentence. */
void verdict_sentence(const struct job *job, struct strbuf *out);

/* Who was stopped because of the cause: counts of replicas' processes and ranks. */
struct stopped {
    uint32_t processes, ranks;
};
struct stopped verdict_stopped(const struct job *job);

#endif
