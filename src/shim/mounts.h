/* mounts.h - the mounts that a process sees, but the root's: of the same mount point only the last,
 * and not what is below a kernel's file system.
 */
#ifndef SHIM_MOUNTS_H
#define SHIM_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct seen {
    char *path;
    bool pseudo; /* a kernel's file system: nothing of the machine's disks */
    int tree;    /* a copy, to be put back; or -1 */
};

struct mounts {
    struct seen *v;
    size_t n, cap;
};

/* Adds what /proc/self/mountinfo lists, in its order: what is mounted inside another comes after
 * it. */
int mounts_read(struct mounts *ms, struct err *e);
void mounts_release(struct mounts *ms); /* with the trees */

bool mount_is_below(const char *path, const char *dir); /* and not the same */

#endif
