/* program.h - which program an mpirun starts, as a number that can be compared.
 *
 * A script that calls mpirun again with the same program tries again; with another one it goes on.
 * Arguments may differ (--resume), so the program counts, with its script if it is an interpreter.
 */
#ifndef SHIM_PROGRAM_H
#define SHIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Of a rank's command line; never 0. */
int64_t program_key(const char *const *argv);

/* Of the line of an mpirun: its first program; 0 if there is none. */
int64_t program_of_mpirun(const char *const *argv, bool hydra);

#endif
