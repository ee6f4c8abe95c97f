/* evidence.h - what a job's logs say about its failure: the last lines of whoever failed first, and
 * the exception of another process where the first only lost its peers. Secrets are masked.
 */
#ifndef RUNDIR_EVIDENCE_H
#define RUNDIR_EVIDENCE_H

#include "base/strbuf.h"
#include "base/strvec.h"
#include "job/job.h"
#include "job/report.h"

struct evidence {
    char name[PLAN_LOG_NAME];
    const char *log;     /* of the cause, points into name or the job; NULL: there is none */
    struct strvec tail;  /* its last lines; of a success the first lines of rank 0 */
    struct strbuf other; /* "rank 1 on worker-0 says: …", or empty */
    struct strvec *past; /* the last lines of each earlier attempt's cause, job->n_past of them */
    const char *const **past_tails; /* the same for a report_context */
    uint32_t n_past;
};

/* Of a job that has ended or is held; of one that runs only earlier attempts have evidence. The job
 * must outlive it. */
void evidence_gather(struct evidence *ev, int logs_fd, const struct job *job);
void evidence_release(struct evidence *ev);

/* Fills in the fields of a report that evidence is for. */
void evidence_report(const struct evidence *ev, struct report_context *ctx);

#endif
