/* adjust.h - a job made to fit the machine it is tried on, with every change told.
 *
 * Options of run, explain and validate (--scale, --fit, --nproc, --workdir, --entrypoint, --image) become changes of a
 * spec here, after the dialect has lowered it and before it is planned. --set changes the document
 * itself, before it is lowered (doc/edit.h).
 */
#ifndef SPEC_ADJUST_H
#define SPEC_ADJUST_H

#include "base/err.h"
#include "spec/spec.h"

struct adjustments {
    const char *const *scale;      /* ROLE=N */
    const char *const *nproc;      /* ROLE=N: processes per replica */
    const char *const *entrypoint; /* ROLE=CMD, or CMD for every role that lacks one */
    const char *const *map;        /* CONTAINER_PATH=HOST_PATH */
    const char *workdir;
    bool fit;
    int cpus, gpus; /* what --fit shrinks to */
};

/* Returns a changed copy of spec in the arena and one sentence per change, NULL-terminated. -EINVAL
 * with e set for an adjustment that makes no sense (an unknown role gets the nearest). */
int spec_adjust(struct arena *a, const struct job_spec *spec, const struct adjustments *adj,
                const struct job_spec **ret, const char *const **ret_changes, struct err *e);

#endif
