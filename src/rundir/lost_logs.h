/* lost_logs.h - logs that the job has removed. */
#ifndef RUNDIR_LOST_LOGS_H
#define RUNDIR_LOST_LOGS_H

#include "base/strbuf.h"
#include "job/job.h"
#include "job/report.h"

/* "its log worker-0.rank-0.log was removed", of processes and ranks whose end was
 * observed on this machine: then their log exists, even if they wrote nothing. Logs with a gap are
 * told elsewhere. Nothing if all are there. */
void lost_logs(int logs_fd, const struct job *job, const struct log_gap *gaps, size_t n_gaps,
               struct strbuf *out);

#endif
