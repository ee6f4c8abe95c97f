/* mount_path.h - where no volume can be mounted, in any dialect. */
#ifndef KUBE_MOUNT_PATH_H
#define KUBE_MOUNT_PATH_H

#include "doc/bind.h"

/* Adds E0312 at the node if the path is /, /proc or below, /sys or /dev, or leads through "..". A
 * replica needs these of the kernel; /dev/shm and other places inside /dev and /sys are free. */
void check_mount_path(const struct binder *b, const struct node *at, const char *path);

#endif
