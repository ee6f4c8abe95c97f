/* force.h - ending a job without the help of its shim, which is stopped or does not answer. */
#ifndef ENGINE_LOCAL_FORCE_H
#define ENGINE_LOCAL_FORCE_H

#include "base/clock.h"
#include "engine/local/launch.h"

/* Was it stopped (SIGSTOP)? A debugger's stop does not count: strace stops a process at every call.
 */
bool shim_is_stopped(const struct shim_process *sp);

/* SIGKILL for all that is below the shim, for what is in its control groups (NULL-terminated, or
 * NULL), and for the shim itself, in this order: what is below a dead shim is no longer known as
 * such. In a pid namespace the shim's death ends all that is inside. Waits for nothing. */
void shim_force_end(const struct shim_process *sp, char *const *cgroups);

/* Waits at most LIMIT_KILL_WAIT_MS for the end of a shim that was killed, and reaps it. False if it
 * is still there: it waits for a process of the job that the kernel cannot end. */
bool shim_wait_end(const struct shim_process *sp);

#endif
