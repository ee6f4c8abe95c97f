/* launches.h - one number per mpirun for the whole job.
 *
 * The shim in each pod numbers the mpiruns that it has seen ranks of; an mpirun that does not use
 * every pod makes these numbers differ. What is the same in all pods is the origin of the mpirun
 * (shim/wire.h) and the id of the world of ranks. Where an origin is not known, the id alone has to
 * do, and may come again: then a pod that has ranks of the old one already begins a new launch.
 *
 * No I/O.
 */
#ifndef ENGINE_KUBERNETES_LAUNCHES_H
#define ENGINE_KUBERNETES_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "engine/frames.h"

struct launches {
    struct launch_known *v; /* by their number - 1 */
    size_t n, cap;
    size_t seen; /* how many pairs of pod and number are known */
};

struct launch_place { /* whose number it is */
    uint32_t replica, generation;
};

/* The job's number, from 1. A launch that is not known gets the next one if `starts`, else 0. */
uint32_t launches_number(struct launches *all, struct launch_place at,
                         const struct frame_launch *launch, bool starts);
/* When a launch was blamed. Clocks of two pods differ by the latency of a message: the signal that
 * ended its mpirun, told by the pod of mpirun (launch number 0), is never later than what the other
 * pods saw of it. */
ns_t launches_blamed(struct launches *all, uint32_t number, bool by_own_pod, ns_t at);
/* Who has which number outlives us: a line of text for each pair of pod and number, when it becomes
 * known; and all lines of an attempt again. Numbers beyond `last` are not in the job's journal, and
 * are given again. */
void launches_line(struct strbuf *out, uint32_t attempt, uint32_t number, struct launch_place at,
                   const struct frame_launch *launch);
void launches_read(struct launches *all, uint32_t attempt, uint32_t last, char *text);
void launches_write(const struct launches *all, uint32_t attempt, struct strbuf *out);
/* Another attempt counts from 1 again. */
void launches_clear(struct launches *all);

#endif
