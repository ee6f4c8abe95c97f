/* ports.h - ports that are a job's for its life: the lease of a port is its bound socket.
 *
 * A port is bound without options (so that a second holder gets EADDRINUSE, whoever it is), and
 * only then gets SO_REUSEADDR and SO_REUSEPORT, so that the job's own server can bind it. The
 * socket is one for both address families. Numbers lie outside the ephemeral range. Which number is
 * tried first depends on the job file, the role, the index and the label: a file gets the same
 * ports again as long as they are free, and `explain` shows what `run` would take.
 */
#ifndef ENGINE_LOCAL_PORTS_H
#define ENGINE_LOCAL_PORTS_H

#include "base/err.h"
#include "spec/spec.h"

struct leases {
    int *fds; /* heap; one for each port, then for fixed ones as many locks; -1: none */
    size_t n;
};

/* Leases every port of the job, in the order of spec_n_ports(); *ret lives in the arena. With
 * own_network (level `network`) every replica has all ports to itself: the usual or fixed numbers
 * are given and nothing is bound. A fixed port that is taken is -EADDRINUSE with its holder named;
 * all of the job's ports are given back then.
 *
 * held NULL: only looks. Nothing stays bound, and a fixed number is given whoever has it; on
 * failure *ret is set all the same, with 0 for what was not found. */
int ports_lease(struct arena *a, const struct job_spec *spec, bool own_network, const int **ret,
                struct leases *held, struct err *e);
/* Leases the ports that a job has been given before, as far as they are free: its own processes may
 * listen on them by now. Never fails; nothing is leased with own_network. */
void ports_hold(const struct job_spec *spec, bool own_network, const int *numbers,
                struct leases *held);
void leases_release(struct leases *held);

#endif
