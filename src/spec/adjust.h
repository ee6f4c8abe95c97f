/* adjust.h - a job made to fit the machine it is tried on, with every change told.
 *
 * Options of run and explain (--scale, --fit, --nproc, --workdir, --entrypoint, --map, --debug,
 * --no-restart) become changes of a spec here, after the dialect has lowered it and before it is
 * planned. --set changes the document itself, before it is lowered (doc/edit.h).
 *
 * Numbers of processes that commands carry (mpirun -np, torchrun --nproc_per_node, …) follow
 * replicas and slots. One that cannot follow, because it is a variable or not there, is left with a
 * warning.
 */
#ifndef SPEC_ADJUST_H
#define SPEC_ADJUST_H

#include "base/err.h"
#include "spec/spec.h"

struct adjustments {               /* lists are NULL-terminated, or NULL */
    const char *const *scale;      /* ROLE=N */
    const char *const *nproc;      /* ROLE=N: processes per replica */
    const char *const *entrypoint; /* ROLE=CMD, or CMD for every role that lacks one */
    const char *const *map;        /* CONTAINER_PATH=HOST_PATH, both absolute; ADDRESS=HOST_PATH */
    const char *const *image;      /* ROLE=IMAGE, or IMAGE for every role that lacks one */
    const char *const *debug;      /* ROLE, or "" for every role */
    const char *workdir;           /* absolute, or NULL */
    bool fit;
    bool no_restart;
    int cpus; /* what --fit shrinks to ... */
    int gpus; /* ... or this, unless it is -1 */
};

/* What was changed (a note), or could not be (a warning): one sentence. */
struct change {
    enum severity severity;
    const char *text;
};

struct changes { /* in the arena */
    struct change *v;
    size_t n, cap;
};

/* Returns a changed copy of spec in the arena and one sentence per change. -EINVAL with e set for
 * an adjustment that makes no sense (an unknown role gets the nearest). */
int spec_adjust(struct arena *a, const struct job_spec *spec, const struct adjustments *adj,
                const struct job_spec **ret, struct changes *ret_changes, struct err *e);

/* Is the role's command its image's entry point, which nobody has said? */
bool spec_lacks_command(const struct job_spec *spec, const struct role *role);

/* Has it no image, or a name that only Azure ML knows? */
bool spec_lacks_image(const struct role *role);

/* Does a command of the job name the value? */
bool spec_names_value(const struct job_spec *spec, const struct job_value *v);

#endif
