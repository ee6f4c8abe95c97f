/* exec.h - a command inside a replica of a job that runs, asked for from outside the job.
 *
 * Talks to the supervisor as an rsh agent does (shim/wire.h): the command gets the replica's
 * environment, directory and namespaces, and the caller's descriptors. Closing the connection kills
 * it.
 */
#ifndef ENGINE_LOCAL_EXEC_H
#define ENGINE_LOCAL_EXEC_H

#include <uv.h>

#include "engine/engine.h"

/* See engine.h. The supervisor's socket is looked for below the run's scratch directory. */
int exec_begin(uv_loop_t *loop, int scratch_fd, const char *replica, const char *command,
               const int fds[3], const struct exec_client *client, struct engine_exec **ret,
               struct err *e);
void exec_stop(struct engine_exec *x);

#endif
