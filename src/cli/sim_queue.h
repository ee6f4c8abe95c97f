/* sim_queue.h - `muster sim --queue`, apart from the simulation of one job. */
#ifndef CLI_SIM_QUEUE_H
#define CLI_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Plays the day that the file describes and prints the result on stdout. Returns an exit code.
 * seed: instead of that of the file, unless it is negative. */
int sim_queue(const char *path, int64_t seed, bool json);

#endif
