/* volumes.h - the volumes of a job's replicas, as WIRE_SETUP describes them. */
#ifndef SHIM_VOLUMES_H
#define SHIM_VOLUMES_H

#include "shim/shim.h"

#define VOLUMES_DIR "volumes" /* below the scratch directory: VOLUMES_DIR/REPLICA/VOLUME */

struct vmount { /* see wire.h */
    uint32_t kind, flags;
    char *volume, *from, *sub_path, *path, *parent;
    int64_t size;
};

struct vtable {
    struct vmount *v;
    uint32_t n;
};

/* Reads the tables of SETUP; r is broken if they make no sense. */
void volumes_read(struct shim *s, struct wire_reader *r);
/* Reads the files after them and, but for level `none`, puts them where volumes_mount() finds them.
 */
int volumes_read_files(struct shim *s, struct wire_reader *r, struct err *e);

/* Makes the replica's own empty volumes; inside its namespaces, if it has any. */
int volumes_make(struct shim *s, const struct replica *r, struct err *e);
/* Mounts one of the replica's tables in the mount namespace we are in. */
int volumes_mount(struct shim *s, const struct replica *r, uint32_t table, struct err *e);

/* shadow_dir.c: gives the directory `cover` of mount i a stand-in in which the paths of all mounts
 * with the same one exist. trees: what will be mounted there, for whether it is a file. */
int shadow_dir_make(const struct vtable *t, const int *trees, uint32_t i, struct err *e);

#endif
