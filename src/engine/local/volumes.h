/* volumes.h - what stands for a job's volumes on this machine, and telling the shim.
 *
 * A mount point that is missing is never made on the machine. In a replica's own mount namespace
 * the nearest directory above it gets a stand-in (shim/shadow_dir.c), unless somebody writes into
 * that directory: then it is refused, because what is written there would be lost or impossible.
 */
#ifndef ENGINE_LOCAL_VOLUMES_H
#define ENGINE_LOCAL_VOLUMES_H

#include "base/err.h"
#include "base/strbuf.h"
#include "plan/plan.h"

/* Sets facts->mounts and init_dirs, and workdir_ok where a working directory is in a volume.
 * options: NAME=PATH with absolute paths, NULL-terminated or NULL. secrets, config_maps: their
 * directories, or NULL. facts has the isolation and the values of secrets already.
 *
 * What cannot be had is -errno, with the option that would give it in e; with `tolerant` it is the
 * place's `why` instead. An option that names no volume is -EINVAL in any case. */
int volumes_resolve(struct arena *a, const struct job_spec *spec, const char *const *options,
                    const char *secrets, const char *config_maps, bool tolerant,
                    struct facts *facts, struct err *e);

/* --- for local.c ------------------------------------------------------------------------------ */

/* Do two mounts show the same files? */
bool volumes_same_files(const struct mount *a, const struct mount *b);

/* Where in SETUP's tables a replica's are. */
struct table_range {
    uint32_t first, n;
};
/* n_replicas of them, in the arena; replicas of a role share theirs if they can. */
const struct table_range *volumes_tables(struct arena *a, const struct plan *plan);
/* Appends tables and files, as wire.h says, in the order of those numbers. */
void volumes_put(struct strbuf *out, const struct plan *plan);

#endif
