/* verdict.h - the truth about a job in words: one sentence a person can act on. */
#ifndef JOB_VERDICT_H
#define JOB_VERDICT_H

#include "base/strbuf.h"
#include "job/job.h"

/* "rank 3 on worker-1 exited with status 7" - the cause alone, without what came of it. */
void verdict_cause(const struct job *job, const struct cause *cause, struct strbuf *out);

/* verdict_memory.c: " ran out of memory: limit 96 MiB, peak 96 MiB", of an end that is that. */
void verdict_oom(const struct ending *e, struct strbuf *out);
/* "; the kernel's out-of-memory killer was active at that time (…)". Or nothing. */
void verdict_killer_nearby(const struct ending *e, struct strbuf *out);

/* " (a process in it was killed: out of memory, limit 96 MiB)", of a cause with oom_in. */
void verdict_killed_inside(const struct job *job, const struct cause *cause, struct strbuf *out);
/* "; a process in worker-1 was killed: out of memory, limit 96 MiB": of what the cause does not
 * tell, also in a job that succeeded. Or nothing. */
void verdict_killed(const struct job *job, struct strbuf *out);

/* "; an earlier mpirun failed: rank 1 on worker-0 exited with status 5": what the launcher's script
 * has tried again. Or nothing. */
void verdict_earlier(const struct job *job, struct strbuf *out);

/* What could not be executed, of a cause that is that; secrets are not masked. */
const char *verdict_program(const struct job *job, const struct cause *cause);

/* Why a program could not be executed, in words (interpreter.c). */
const char *verdict_exec_error(int error);

/* "held: rank 3 …; its replicas are kept": of a job that has failed and not ended. */
void verdict_held(const struct job *job, struct strbuf *out);

/* The whole sentence. */
void verdict_sentence(const struct job *job, struct strbuf *out);

/* The same of a failure with what came before the cause: "failed: BEFORE; then rank 0 …: SAYS".
 * Each may be "". */
void verdict_sentence_after(const struct job *job, const char *before, const char *says,
                            struct strbuf *out);

/* "62 more ranks failed the same way": besides the cause, by themselves. Or nothing. */
void verdict_alike(const struct job *job, struct strbuf *out);

/* "; mpirun exited with 0 nevertheless": what the launcher made of it, where that differs. Or "".
 */
const char *verdict_aside(const struct job *job);

/* "; the completion policy ended the job when worker-1 failed": where the first failure alone did
 * not. Or nothing. */
void verdict_rule(const struct job *job, struct strbuf *out);

/* "attempt 1 failed because rank 3 …": the last attempt before this one that failed. Or nothing. */
void verdict_retries(const struct job *job, struct strbuf *out);

/* "; launcher-0 was restarted 2 times": in this attempt. Or nothing. */
void verdict_restarts(const struct job *job, struct strbuf *out);

/* "ranks 0 to 2, 4, launcher-0": who was stopped because of the cause; nothing if nobody was. */
void verdict_stopped(const struct job *job, struct strbuf *out);

/* "0 to 2, 5 and 7": one run of ranks after the other, then the end of the list. */
void verdict_add_ranks(struct strbuf *list, bool first, uint32_t from, uint32_t to);
void verdict_end_ranks(struct strbuf *list);

#endif
