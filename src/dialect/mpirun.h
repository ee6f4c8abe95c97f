/* mpirun.h - what options that a job file hands to mpirun say about the job itself. */
#ifndef DIALECT_MPIRUN_H
#define DIALECT_MPIRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processes per replica: -N, -npernode, --map-by ppr:N:node, Hydra's -ppn and -perhost. The last one
 * counts. Gives the number, 0 if nothing is said; with *ret_bad the index of the argument at fault,
 * -ENODATA if an option has no value after it, -EINVAL if its value is no number from 1 to
 * LIMIT_SLOTS. args may be NULL. */
int32_t mpirun_slots(const char *const *args, size_t *ret_bad);

/* Is --enable-recovery among them? */
bool mpirun_recovers(const char *const *args);

#endif
