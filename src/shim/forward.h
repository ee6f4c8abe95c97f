/* forward.h - does a rank's output have to go through mpirun?
 *
 * Every rank has a log of its own, and the live view shows that. Sending the same bytes through
 * orted and mpirun as well is only of use if mpirun's output goes somewhere else (a pipe, a file)
 * or if mpirun was asked to do something with it.
 */
#ifndef SHIM_FORWARD_H
#define SHIM_FORWARD_H

#include <stdbool.h>
#include <sys/types.h>

/* The answer for ranks of the mpirun (or mpiexec) that is process mpirun; sock leads to the
 * supervisor. When in doubt: yes. */
bool forward_wanted(int sock, pid_t mpirun);

/* The value of the option name ("--control-port") in a process's command line, or "" (static). */
const char *forward_option(pid_t pid, const char *name);

#endif
