/* system.h - `muster serve --system`: one queue for all users of a machine, as root.
 *
 * It runs no job, reads no file of a user, and plans nothing. Each user has a daemon, as without it
 * (daemon/daemon.h), which is started here as that user (identity.h) and asks before it starts a
 * job (daemon/member.c). So what a job does, and what is done for it, is done by its user; what
 * root does is to decide who starts next. doc/design/system-mode.md has the reasons.
 */
#ifndef SYSTEM_SYSTEM_H
#define SYSTEM_SYSTEM_H

#include "base/err.h"
#include "daemon/daemon.h"

struct system_options {
    int64_t cpus, memory, gpus; /* that jobs may use together; 0, 0, -1: all of this machine */
    int (*configure)(struct arena *a, struct daemon_config *ret); /* as daemon_options has it */
    void (*note)(const char *text);
};

/* Serves until SIGTERM or SIGINT; users' daemons end with it, and jobs go on. 0, or -errno if it
 * could not begin: -EPERM: not root, -EBUSY: there is one already. Weak: only muster-serve has it.
 */
int system_serve(const struct system_options *opts, struct err *e) __attribute__((weak));

#endif
