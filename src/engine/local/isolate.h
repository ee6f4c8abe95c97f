/* isolate.h - the level of isolation a job gets: the one that was asked for, or the best there is.
 *
 *   names    a host name, /etc/hosts and /dev/shm per replica, pids of the job's own
 *   network  and a network per replica, with eth0 on a bridge of the job's and no way out
 *   none     no namespaces: replicas are told apart by what they were started as
 */
#ifndef ENGINE_LOCAL_ISOLATE_H
#define ENGINE_LOCAL_ISOLATE_H

#include "plan/plan.h"

/* Sets facts->isolation, isolation_why, interface and network, and interfaces if they are not the
 * machine's. asked is a level or "auto":
 * `names` if it can be had, else `none` with the reason. Whether a level can be had is found out by
 * having it once in a child. -errno if it was asked for and cannot be had: e says why and what to
 * allow. facts->shim must be known. */
int isolation_choose(struct arena *a, const char *asked, struct facts *facts, struct err *e);

/* The /16 of a job's own network: 10.N.0.0 with the first N from 77 on that none of the routes
 * leads to (as /proc/net/route lists them). Nothing leads out of that network, so even a clash
 * would do no harm but confuse its reader; where all are taken it is 10.77.0.0. */
uint32_t isolation_network(const char *routes);

#endif
