/* schedules.c - random schedules of random jobs, each with every rule asked after every step.
 *
 * MUSTER_TEST_SEED sets the first seed (1; `make test-sim`: the time), MUSTER_SCHEDULES how many
 * (1,000; `make test-sim`: 100,000), MUSTER_BROKEN after how many that break a rule it ends (5). A
 * schedule that breaks a rule is told by its own seed: MUSTER_TEST_SEED=that MUSTER_SCHEDULES=1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "base/tap.h"
#include "engine/sim/sim.h"

static int64_t setting(const char *name, int64_t fallback)
{
    const char *text = getenv(name);
    int64_t n;

    return text && num_i64(text, &n) == 0 ? n : fallback;
}

struct tally {
    uint64_t events, crashes, dropped, repeated, delayed;
    uint64_t outcomes[OUTCOME_CANCELLED + 1];
};

static void show(void *ctx, const struct job *job, const struct event *ev, ns_t now)
{
    (void)ctx;
    tap_diag("%8lld ms  %-12s process %u replica %u launch %u rank %u code %d signal %d stop %d",
             (long long)((now - job->created) / NS_PER_MS), event_type_name(ev->type), ev->process,
             ev->replica, ev->launch, ev->rank, ev->end.code, ev->end.signal, (int)ev->stop);
}

static void show_fault(void *ctx, ns_t at, const char *text)
{
    (void)ctx;
    (void)at;
    tap_diag("             %s", text);
}

static bool play(uint64_t seed, bool shown, struct tally *t)
{
    static const struct sim_watch watch = {.event = show, .fault = show_fault};
    auto_arena struct arena *a = arena_new();
    struct sim_case c;
    struct sim_result r;

    sim_random_case(a, seed, &c);
    sim_play(c.plan, &c.rules, &c.story, shown ? &watch : NULL, &r);
    t->events += r.events;
    t->crashes += r.crashes;
    t->dropped += r.dropped;
    t->repeated += r.repeated;
    t->delayed += r.delayed;
    t->outcomes[r.job->outcome]++;
    job_free(r.job);
    if (*r.broken)
        tap_diag("MUSTER_TEST_SEED=%llu MUSTER_SCHEDULES=1: %s", (unsigned long long)seed,
                 r.broken);
    return !*r.broken;
}

int main(void)
{
    uint64_t seed = (uint64_t)setting("MUSTER_TEST_SEED", 1);
    int64_t n = setting("MUSTER_SCHEDULES", 1000), enough = setting("MUSTER_BROKEN", 5);
    struct tally t = {0};
    int64_t broken = 0;

    tap_diag("MUSTER_TEST_SEED=%llu", (unsigned long long)seed);
    for (int64_t i = 0; i < n && broken < enough; i++)
        broken += !play(seed + (uint64_t)i, n == 1, &t);
    is_int(broken, 0, "%lld schedules keep every rule", (long long)n);
    tap_diag("%llu events, %llu crashes; reports: %llu lost, %llu twice, %llu late",
             (unsigned long long)t.events, (unsigned long long)t.crashes,
             (unsigned long long)t.dropped, (unsigned long long)t.repeated,
             (unsigned long long)t.delayed);
    tap_diag("%llu succeeded, %llu failed, %llu cancelled",
             (unsigned long long)t.outcomes[OUTCOME_SUCCEEDED],
             (unsigned long long)t.outcomes[OUTCOME_FAILED],
             (unsigned long long)t.outcomes[OUTCOME_CANCELLED]);
    if (n >= 1000 && broken == 0) {
        ok(t.outcomes[OUTCOME_SUCCEEDED] > 0 && t.outcomes[OUTCOME_FAILED] > 0 &&
               t.outcomes[OUTCOME_CANCELLED] > 0,
           "some succeed, some fail, some are cancelled");
        ok(t.crashes > 0 && t.dropped > 0 && t.repeated > 0 && t.delayed > 0, "faults happen");
    }
    return tap_done();
}
