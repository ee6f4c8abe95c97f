/* overlay.h - a throw-away writable layer over the machine's file systems, one per replica
 * (--overlay).
 *
 * What a replica's processes change goes into its upper directory, and the machine stays as it is.
 * Some paths stay real: the working directories, the run's own directories, volumes.
 * doc/design/overlay.md gives the reasons.
 */
#ifndef SHIM_OVERLAY_H
#define SHIM_OVERLAY_H

#include "shim/shim.h"

/* Reads its part of SETUP; r is broken if it makes no sense. */
void overlay_read(struct shim *s, struct wire_reader *r);

/* Finds out, in the mount namespace of the job, how a layer can be mounted: over the whole root or
 * over its directories, with the upper directories on disk or in memory. -errno if none of it can.
 */
int overlay_prepare(struct shim *s, struct err *e);

/* Mounts the replica's layer in the mount namespace we are in. */
int overlay_mount(struct shim *s, const struct replica *r, struct err *e);

/* Removes what is not to be kept. */
void overlay_remove(const struct shim *s);

#endif
