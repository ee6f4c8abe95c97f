/* waits.h - who waits for whom among the processes of a job, told by system calls and sockets
 * alone.
 *
 * A thread that reads a connection waits for whoever has its other end. One that polls, or runs and
 * looks at its sockets all the time, waits for the process it is connected to; if there are
 * several, any of them. What waits in shared memory shows nothing, and then nothing is claimed.
 */
#ifndef INSPECT_WAITS_H
#define INSPECT_WAITS_H

#include "base/limits.h"
#include "inspect/snapshot.h"

struct edge {
    const struct snapshot_process *from;
    const struct snapshot_socket *socket; /* NULL: it waits for nobody that we can see */
    size_t choices;                       /* how many processes it may be waiting for */
    int32_t owners[LIMIT_HANG_EDGES + 1]; /* the first of them, -1 = not of the job */
};

/* What a process waits for. */
struct edge edge_of(const struct snapshot *lk, const struct snapshot_process *p);

/* The process at the other end, or NULL. */
const struct snapshot_process *owner_of(const struct snapshot *lk, const struct snapshot_socket *s);

bool snapshot_has_ranks(const struct snapshot *lk);
/* Is it one to speak of? Where there are ranks, what is none of them only serves them. */
bool is_told(const struct snapshot_process *p, bool ranks);

/* The first that others wait for and that itself waits for nobody: there it began. Or NULL. */
const struct snapshot_process *find_root(const struct snapshot *lk, bool ranks);

#endif
