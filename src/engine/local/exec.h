/* exec.h - a command inside a replica of a job that runs, asked for from outside the job.
 *
 * Talks to the supervisor as an rsh agent does (shim/wire.h): the command gets the replica's
 * environment, directory and namespaces, and the caller's descriptors. Closing the connection kills it.
 */
#ifndef ENGINE_LOCAL_EXEC_H
#define ENGINE_LOCAL_EXEC_H

#include "base/err.h"

/* Connects below the run's scratch directory and asks. The connection (non-blocking, to be watched
 * for reading) or -errno. fds stay the caller's. */
int exec_begin(int scratch_fd, const char *replica, const char *command, const int fds[3],
               struct err *e);

/* Reads what has come. 1: the command has ended, *ret_status is its wait status. 0: not yet.
 * -errno: it could not be run, or the job is over; e says so. */
int exec_poll(int sock, int *ret_status, struct err *e);

#endif
