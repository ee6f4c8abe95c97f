/* outputs.h - what a job left in its run directory: everything that Muster did not put there.
 *
 * A run directory with outputs is never removed without being asked for. The rule is: any file,
 * link, pipe or socket below the run directory that is not on the list of Muster's own
 * (outputs_is_own). Directories alone are none: Muster makes outputs/NAME for the job.
 */
#ifndef RUNDIR_OUTPUTS_H
#define RUNDIR_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strvec.h"

/* Is this one of Muster's own? path is relative to the run directory ("logs/worker-0.log"), type
 * the S_IFMT bits. Of a directory: true if nothing below it has to be looked at. */
bool outputs_is_own(const char *path, mode_t type);

/* The entries of the run directory with outputs in them, as paths: "DIR/outputs". At most
 * LIMIT_OUTPUTS, sorted. What cannot be read counts as an output. */
void outputs_find(int run_fd, const char *dir, struct strvec *ret);
bool outputs_any(int run_fd);

/* Bytes that the tree below the descriptor takes, on disk. */
int64_t outputs_size(int run_fd);

#endif
