/* volumes_parts.h - what the two halves of resolving volumes share: sources (volumes.c) and mount
 * points (mount_points.c). Internal to engine/local.
 */
#ifndef ENGINE_LOCAL_VOLUMES_PARTS_H
#define ENGINE_LOCAL_VOLUMES_PARTS_H

#include "engine/local/volumes.h"

struct resolver {
    struct arena *a;
    const struct job_spec *spec;
    const char *const *options;
    bool *used; /* which of them */
    const char *secrets, *config_maps;
    bool tolerant, no_mounts;
    const struct facts *facts;
    struct err *e;
    const struct mount_place
        *under; /* an init command's: the mounts of its replica below its own */
    size_t n_under;
};

/* Says what is wrong with a mount: nothing is there. 0 if that is only to be told. */
int mount_refuse(struct resolver *rs, struct mount_place *p, int code, const char *text);

/* The rest of path below dir ("" if they are the same), or NULL. */
const char *path_below(const char *path, const char *dir);
bool path_is_dir(const char *path);
bool path_has_way_up(const char *path); /* ".." */

/* Without "//", "." and a slash at the end. */
const char *path_tidy(struct arena *a, const char *path);

/* Of these mounts the innermost that the path is in or at, or `best` if that is further in. */
const struct mount_place *mount_above(const struct mount_place *v, size_t n, const char *path,
                                      const struct mount_place *best);
/* What of this machine is at a mount that is PLACE_HERE. */
const char *mount_here(struct arena *a, const struct mount_place *p);

/* Finds the mount point of p, given those that are made before it: sets path, cover and inside, or
 * refuses. */
int mount_point(struct resolver *rs, struct mount_place *p, const struct mount_place *before,
                size_t n_before);

#endif
