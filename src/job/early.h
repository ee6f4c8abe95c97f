/* early.h - a rank that ended with 0 while others still needed it.
 *
 * The ranks of a world wait for each other. One that leaves early is no failure, so the first
 * failure is a survivor's, and its last words are about a closed connection: a consequence. The
 * verdict then begins with who left. What counts as such is in doc/design/early-leaver.md.
 */
#ifndef JOB_EARLY_H
#define JOB_EARLY_H

#include "base/strbuf.h"
#include "job/job.h"

struct early {
    bool found; /* somebody of the cause's world ended with 0 before it */
    const char
        *says; /* the cause's line about a lost peer, in the tail; NULL: it says no such thing */
    bool explains;  /* the line is not about somebody outside the job: a consequence, then */
    uint32_t first; /* the first of them: a rank of the cause's mpirun, else a process */
    uint32_t n;     /* how many did */
    bool leaving;   /* it ended just after, when the others were being stopped */
};

/* tail: the last lines of the cause's log, NULL-terminated, or NULL. other: what another process
 * says of why it failed, or "", or NULL: unless that is who left, it explains the loss better. */
struct early early_find(const struct job *job, const char *const *tail, const char *other);

/* "rank 3 on worker-1 ended with status 0 after 2.1 s while ranks 0 to 2 were still running".
 * Nothing unless the cause is a consequence of it. */
void early_before(const struct job *job, const struct early *early, struct strbuf *out);

/* What the cause says of it, its first sentence. Or nothing. */
void early_says(const struct early *early, struct strbuf *out);

/* "rank 3 on worker-1 had already ended with status 0 after 2.1 s": where the cause need not be a
 * consequence, as a fact beside it. Or nothing. */
void early_aside(const struct job *job, const struct early *early, struct strbuf *out);

/* When it ended and who it was, for the report. */
const struct ending *early_ending(const struct job *job, const struct early *early);
uint32_t early_replica(const struct job *job, const struct early *early);
int32_t early_rank(const struct job *job, const struct early *early); /* -1: it has none */

#endif
