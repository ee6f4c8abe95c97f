/* paths.h - paths of a container in what a job says, replaced by those they are here: for --map,
 * and where volumes cannot be mounted.
 *
 * A path is replaced where it is a word of its own, or the value in --option=/path or NAME=/path.
 * Text of a shell is split into words first; what is quoted in pieces or computed stays as it is.
 */
#ifndef SPEC_PATHS_H
#define SPEC_PATHS_H

#include "base/arena.h"

struct path_map {
    const char *from, *to; /* absolute, without a slash at the end */
};

struct path_maps {
    const struct path_map *v; /* the longest that fits is taken */
    size_t n;
};

/* What the path is here, or NULL if it stays. */
const char *paths_one(struct arena *a, const struct path_maps *maps, const char *path);

/* The command with its paths replaced, the same pointer if there is none; *changed is counted up.
 * NULL gives NULL. What `sh -c` is given is a shell's text. */
const char *const *paths_argv(struct arena *a, const struct path_maps *maps,
                              const char *const *argv, size_t *changed);
const char *paths_shell(struct arena *a, const struct path_maps *maps, const char *text,
                        size_t *changed);

#endif
