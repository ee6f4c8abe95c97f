/* tally.c - see tally.h. */
#include "daemon/tally.h"

#include <string.h>

#include "base/cleanup.h"

const char *const tally_outcomes[TALLY_OUTCOMES] = {"succeeded", "failed", "cancelled", "lost"};

static const double wait_bounds[] = {0.1, 1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600};
static const double commit_bounds[] = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1};

void tally_begin(struct tally *t)
{
    *t = (struct tally){.wait = {.bounds = wait_bounds, .n_bounds = ARRAY_SIZE(wait_bounds)},
                        .commit = {.bounds = commit_bounds, .n_bounds = ARRAY_SIZE(commit_bounds)}};
}

static void observe(struct histogram *h, ns_t time)
{
    double s = (double)(time > 0 ? time : 0) / NS_PER_S;

    for (size_t i = 0; i < h->n_bounds; i++)
        if (s <= h->bounds[i]) {
            h->counts[i]++;
            break;
        }
    h->n++;
    h->sum += s;
}

void tally_start(struct tally *t, ns_t waited)
{
    t->starts++;
    observe(&t->wait, waited);
}

void tally_end(struct tally *t, const char *outcome)
{
    size_t i = 0;

    while (i + 1 < TALLY_OUTCOMES && strcmp(tally_outcomes[i], outcome) != 0)
        i++;
    t->ends[i]++;
}

void tally_commit(struct tally *t, ns_t took)
{
    observe(&t->commit, took);
}
