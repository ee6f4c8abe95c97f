/* launch.h - starting the shim as the first process of the job's namespaces. */
#ifndef ENGINE_LOCAL_LAUNCH_H
#define ENGINE_LOCAL_LAUNCH_H

#include <sys/types.h>

#include "base/err.h"

struct shim_process {
    pid_t pid;
    int pidfd;
    int sock; /* our end of the socketpair, close-on-exec */
};

/* New pid and mount namespaces, for an ordinary user inside a new user namespace with an identity
 * map. -EPERM and friends: namespaces are not allowed here; e says what to allow. */
int shim_launch(const char *shim, const char *run_id, int stdin_fd, struct shim_process *ret,
                struct err *e);

#endif
