/* azureml_dir.h - what users of Azure ML look for in a run's directory, under the names they know.
 *
 *   outputs/NAME                          the job's named outputs
 *   outputs                               also what commands find as ./outputs: a link for the time
 *                                         of the run, unless there is something of that name
 *                                         already
 *   user_logs/std_log.txt                 the only process of a job without a distribution
 *   user_logs/std_log_process_00.txt …    the others, by rank; of tasks: workers first
 *   user_logs/std_log_process_00_ps.txt   a parameter server
 *   user_logs/mpi_log.txt                 what mpirun itself said
 *
 * The logs are links into logs/; one whose process never starts leads nowhere.
 */
#ifndef RUNDIR_AZUREML_DIR_H
#define RUNDIR_AZUREML_DIR_H

#include "base/err.h"
#include "plan/plan.h"

#define AZUREML_USER_LOGS "user_logs"

/* Makes them below the run directory. Does nothing for jobs of other platforms. */
int azureml_dir_fill(int run_fd, const struct plan *plan, struct err *e);

/* Takes the link in the working directory away again. */
void azureml_dir_finish(const struct plan *plan);

#endif
