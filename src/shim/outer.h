/* outer.h - whose memory was used up when the kernel killed a process, if not its replica's own.
 *
 * muster may itself be inside a control group with a limit (a container, a user's slice), and the
 * machine can run out of memory. A process killed then ended by SIGKILL; the kernel's counters say
 * more: oom_kill of the group it was in, the failures of every group above, /proc/vmstat. They
 * count for everybody in the group, so each is compared with what it was a few seconds ago.
 */
#ifndef SHIM_OUTER_H
#define SHIM_OUTER_H

#include <stdbool.h>

#include "shim/group.h"

struct outer;

/* Finds the groups that this process is in and begins to watch their counters. */
void outer_begin(struct shim *s);

/* Has the kernel killed a process for want of memory, in the innermost group or, where no counter
 * of a group can be read, on this machine, in the last seconds? */
bool outer_has_killed(const struct shim *s);
/* It has been told: the same kill explains no second end. */
void outer_told(struct shim *s);

/* Whose memory it was, as far as is known: fills in where, limit and peak. */
void outer_blame(const struct shim *s, struct oom *oom);

#endif
