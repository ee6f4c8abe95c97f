/* reserve.h - room on the disk that is kept for the end of a run.
 *
 * A job that fills the disk its run directory is on would also keep its own report from being
 * written. So some blocks are taken at the beginning, and given back just before the report is
 * written.
 */
#ifndef RUNDIR_RESERVE_H
#define RUNDIR_RESERVE_H

#include "plan/plan.h"

#define RESERVE_NAME ".reserve" /* in the run directory */

/* Takes enough for the report of such a job. Where that cannot be done the run has no reserve. */
void reserve_take(int dir_fd, const struct plan *plan);

/* Gives it back. Nothing to do if there is none. */
void reserve_release(int dir_fd);

#endif
