/* procs.h - what /proc says of other processes: who their parent is, and the mark of a run in their
 * environment.
 *
 * A process of a run carries MUSTER_RUN_ID. Where there is no pid namespace to end with the run,
 * that mark is what is left to find its processes by.
 */
#ifndef BASE_PROCS_H
#define BASE_PROCS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* The parent of a process; 0 if it is gone. */
pid_t proc_parent(pid_t pid);

/* The letter of its state ('T': stopped, 'Z': ended); 0 if it is gone. */
char proc_state(pid_t pid);

/* When it was started, in ticks since boot: with the pid, who it is. 0 if it is gone. */
unsigned long long proc_start_time(pid_t pid);

/* Is the signal in that set of the process ("SigCgt", "SigIgn", "SigBlk")? False if it is gone. */
bool proc_signal_set(pid_t pid, const char *set, int sig);

/* The environment a process was started with: words, each with its NUL. -errno if it cannot be read
 * (gone, or not ours). */
int proc_environ(pid_t pid, struct strbuf *ret);
/* The value of a variable in such a text, or NULL. */
const char *environ_value(const struct strbuf *words, const char *name);

bool proc_is_own(pid_t pid); /* of our own effective uid */

/* Calls fn for every process there is. */
void procs_each(void (*fn)(pid_t pid, void *ctx), void *ctx);

/* SIGKILL for every process that is_prey says yes to, ourselves and `except` excepted, until a look
 * at all processes finds nobody new: what is killed cannot fork any more. */
void procs_hunt(bool (*is_prey)(pid_t pid, void *ctx), void *ctx, pid_t except);

/* SIGKILL for everything that is below this process, in the same way; not for the process itself.
 */
void procs_kill_below(pid_t root);

/* SIGKILL for every process of our own uid that was started with this run's mark, ourselves
 * excepted, until none is found any more. A process that has taken the mark out of its environment
 * is missed. */
void procs_sweep(const char *run_id);

#endif
