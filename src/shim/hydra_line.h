/* hydra_line.h - mpiexec.hydra's command line, with the rank wrapper in front of every program.
 *
 * Hydra has no fork agent. Where a job's own script calls it, its ranks are known only if the line
 * says so. Which words are options has to be known for that: a line with an option that is not in
 * the table is left alone, and its ranks are not observed.
 */
#ifndef SHIM_HYDRA_LINE_H
#define SHIM_HYDRA_LINE_H

#include <stdbool.h>

#include "base/strvec.h"

/* Is a program with this path (links resolved) Hydra's mpiexec? */
bool hydra_is_mpiexec(const char *path);

/* How many words an option takes, itself included; 0 = unknown. */
size_t hydra_option_words(const char *word);

/* Appends argv to line with the wrapper before each program. False: there is no program, an option
 * is unknown, or the programs are in a file of their own; line is then of no use. */
bool hydra_line(const char *const *argv, const char *wrapper, struct strvec *line);

#endif
