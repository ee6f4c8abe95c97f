/* inherited.h - what a process hands on to those that it starts: its umask and resource limits.
 *
 * A job of a daemon runs with its submitter's umask and limits, not with the daemon's. They are
 * applied in the process that becomes the job's supervisor, where the kernel sees to it that hard
 * limits are only lowered.
 */
#ifndef BASE_INHERITED_H
#define BASE_INHERITED_H

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct inherited {
    mode_t umask;
    struct rlimit limits[RLIM_NLIMITS];
};

/* Those of this process; the umask is that before creation_begin(). */
void inherited_from_us(struct inherited *ret);

/* The limits of a process of that user; ret->umask stays. -EPERM: it is another user's, or has
 * ended. */
int inherited_limits(pid_t pid, uid_t uid, struct inherited *ret, struct err *e);

/* Makes them those of this process: no limit becomes higher than it is. Only makes system calls.
 * -errno of the first limit that cannot be set. */
int inherited_apply(const struct inherited *inherited);

#endif
