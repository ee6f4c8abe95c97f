/* launch.h - starting the shim as the first process of the job's namespaces. */
#ifndef ENGINE_LOCAL_LAUNCH_H
#define ENGINE_LOCAL_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/inherited.h"
#include "base/err.h"

struct shim_process {
    pid_t pid;
    int pidfd;
    int sock; /* our end of the socketpair, close-on-exec */
};

struct shim_launch {
    const char *shim;                  /* the program */
    const char *role;                  /* "supervise" or "probe" */
    const char *level;                 /* of isolation: "names", "network", "none" */
    const char *run_id;                /* NULL: none */
    bool overlay;                      /* it will mount layers over the machine */
    int stdin_fd;                      /* -1 = /dev/null */
    const struct inherited *inherited; /* whose umask and limits it has; NULL: ours */
};

/* Is it a limit that was reached (descriptors, processes, memory), rather than something forbidden?
 */
bool launch_lacks_resource(int code);

/* Except for `none`: new pid and mount namespaces (`network`: and a network namespace), for an
 * ordinary user inside a new user namespace with an identity map. -EPERM and friends: namespaces
 * are not allowed here; e says what to allow. */
int shim_launch(const struct shim_launch *what, struct shim_process *ret, struct err *e);

/* Notes in the scratch directory which process it is, for shim_connect(). */
int shim_note_pid(int scratch_fd, const struct shim_process *shim, struct err *e);

/* Connects to a shim that waits for its master, by the socket in its scratch directory. -ENOENT,
 * -ECONNREFUSED: there is none. -EAGAIN: the noted one lives and has no socket: it is starting or
 * ending, and to start another one now would run the job twice. It is no child of ours: its pidfd
 * tells its end, not its status. */
int shim_connect(int scratch_fd, struct shim_process *ret, struct err *e);

#endif
