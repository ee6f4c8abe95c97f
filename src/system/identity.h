/* identity.h - becoming a user, for good. The only file that changes credentials.
 *
 * The system daemon runs as root and does nothing for a user itself: it forks a child that becomes
 * the user and then executes the user's daemon. The order matters: groups, then gid, then uid; what
 * follows is looked at again, because a process that goes on as root would run jobs as root.
 *
 * Not here: who may ask for it (peers.c), what the child does then (members.c).
 */
#ifndef SYSTEM_IDENTITY_H
#define SYSTEM_IDENTITY_H

#include <sys/types.h>

#include "base/err.h"

struct identity { /* as the user database has it; heap */
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* all of them, gid among them */
    int n_groups;
    char *name, *home, *shell;
};

/* Looks a user up; this may ask a directory service and wait, so only children do it. -ENOENT: the
 * user database has no such uid. */
int identity_find(uid_t uid, struct identity *ret, struct err *e);
void identity_release(struct identity *id);

/* Makes this process that user, for good: it cannot get back. For a child that has one thread. On
 * failure the process is in no defined state and must end; e says what could not be done. */
int identity_become(const struct identity *id, struct err *e);

#endif
