/* group.h - limits by control group: one group per replica that has a limit.
 *
 * Groups are made below the caller's own, never elsewhere, and removed at the end. Where that is
 * not allowed the job runs without its limits and a note says so.
 */
#ifndef SHIM_GROUP_H
#define SHIM_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/strbuf.h"

struct group;
struct replica;
struct shim;

struct oom {
    bool killed; /* by the kernel, because the group's memory was used up */
    bool nearby; /* by SIGKILL, and all that is known is that the kernel killed somebody then */
    int32_t in;  /* the replica where that happened to another, a launcher's rank; or -1 */
    int64_t limit, peak;          /* of the group that it is about, bytes; -1 = unknown */
    char where[LIMIT_GROUP_TEXT]; /* that group, if it is not the replica's: a directory, or OOM_*;
                                     "" */
};

#define OOM_MACHINE "machine"     /* no limit of a group was reached */
#define OOM_SOMEWHERE "somewhere" /* nothing is known of groups */

/* Makes the groups that the replicas' limits ask for. */
void groups_make(struct shim *s);
void groups_remove(struct shim *s);
/* The directories made, NULL-terminated, or NULL. */
const char *const *groups_dirs(const struct shim *s);

/* Moves the calling process into the group (NULL: nothing to do). System calls only: it is called
 * between clone() and exec. 0 or -1 with errno. */
int group_join(const struct group *g);

/* Was it memory that ended a process of the replica with this wait status? */
struct oom group_oom(struct shim *s, struct replica *r, int status);
/* Every few seconds (outer.c): a kill is recent until the second look after it. */
void groups_look(struct shim *s);

/* The part of WIRE_EXITED and WIRE_RANK_EXITED that is about memory. */
void memory_put(struct strbuf *out, struct shim *s, struct replica *r, int status);

#endif
