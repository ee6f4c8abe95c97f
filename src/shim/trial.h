/* trial.h - the network between two replicas, tried before a job starts.
 *
 * In one replica a process listens on a port that the kernel chooses, in another one a process
 * calls it: eight bytes there and back for the latency, then as much data as LIMIT_TRY_BYTES and
 * LIMIT_TRY_MS allow. Both are muster-shim itself (`muster-shim try`), in the network of their
 * replica, and end with the supervisor. Whoever calls has to know the token of the trial, or it is
 * sent away: another job may have got the address meanwhile.
 *
 * muster decides who calls whom, and when (engine/preflight.h).
 */
#ifndef SHIM_TRIAL_H
#define SHIM_TRIAL_H

#include "shim/shim.h"

struct trial_result {
    int32_t error; /* 0 or -errno */
    uint32_t port; /* of one that listens */
    int64_t latency, bytes, took;
};

int trial_begin(struct shim *s, struct wire_reader *r); /* WIRE_TRY */
int trial_end(struct shim *s, struct wire_reader *r);   /* WIRE_TRY_END */

#endif
