/* lease.h - one operator at a time: a Lease of the cluster, taken and renewed.
 *
 * Whether a lease has run out is measured by our own clock, from the moment at which its record was
 * last seen to change: clocks of two machines are never compared. A holder that cannot renew it in
 * time is told before another one may take it.
 */
#ifndef OPERATOR_LEASE_H
#define OPERATOR_LEASE_H

#include "engine/kubernetes/client.h"

enum { LEASE_S = 15, LEASE_RENEW_S = 10, LEASE_TRY_S = 3 };

struct lease_client {
    void (*held)(void *ctx); /* we are the one */
    void (*lost)(void *ctx); /* not any more; nothing may be written from now on */
    void *ctx;
};

struct lease;

/* `identity` tells operators apart: a pod's name and a random number. */
struct lease *lease_new(struct kube_client *c, uv_loop_t *loop, const char *namespace_,
                        const char *name, const char *identity, const struct lease_client *client);
/* NULL is fine; the loop must run once more. A lease that is held runs out by itself. */
void lease_free(struct lease *l);

/* --- for tests -------------------------------------------------------------------------------- */

struct lease_sight { /* of the record, as it was last seen */
    bool exists;
    bool ours;          /* its holder is us */
    bool free;          /* it has no holder */
    int64_t changed;    /* clock_mono() when it was seen to change */
    int64_t duration_s; /* as its holder says */
};
/* May we take it now, or is it ours to renew? */
bool lease_is_due(const struct lease_sight *s, int64_t now);

#endif
