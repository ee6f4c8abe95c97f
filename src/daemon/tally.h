/* tally.h - what a daemon counts from its beginning, for metrics. */
#ifndef DAEMON_TALLY_H
#define DAEMON_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

enum { HISTOGRAM_BOUNDS = 10, TALLY_OUTCOMES = 4 };

struct histogram {
    const double *bounds; /* seconds, rising */
    size_t n_bounds;
    uint64_t counts[HISTOGRAM_BOUNDS], n;
    double sum;
};

struct tally {
    uint64_t starts, ends[TALLY_OUTCOMES];
    struct histogram wait, commit;
};
extern const char *const tally_outcomes[TALLY_OUTCOMES]; /* the last is any other */

void tally_begin(struct tally *t);
void tally_start(struct tally *t, ns_t waited);
void tally_end(struct tally *t, const char *outcome);
void tally_commit(struct tally *t, ns_t took);

#endif
