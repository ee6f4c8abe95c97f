/* lease.c - who may take a lease, and when. */
#include "operator/lease.h"

#include "base/clock.h"
#include "base/tap.h"

int main(void)
{
    const struct lease_sight none = {0}, ours = {.exists = true, .ours = true},
                             nobodys = {.exists = true, .free = true},
                             theirs = {.exists = true, .changed = NS_PER_S, .duration_s = 15};

    ok(lease_is_due(&none, 0), "there is none: it is made");
    ok(lease_is_due(&ours, 0), "ours is renewed");
    ok(lease_is_due(&nobodys, 0), "one that was given back");
    ok(!lease_is_due(&theirs, 16 * NS_PER_S), "another's is left alone for its duration");
    ok(lease_is_due(&theirs, 16 * NS_PER_S + 1), "and then it may be taken");
    ok(LEASE_RENEW_S + LEASE_TRY_S < LEASE_S, "whoever cannot renew it stops before that");
    return tap_done();
}
