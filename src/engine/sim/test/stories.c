/* stories.c - a few schedules by hand: what is played is what was asked for, and comparing sees. */
#include <signal.h>
#include <string.h>

#include "base/tap.h"
#include "engine/sim/inside.h"

#define GOOD                                                                                       \
    {                                                                                              \
        .known = true, .max_rss = -1, .memory_limit = -1, .memory_peak = -1                        \
    }
#define BAD(code_, signal_)                                                                        \
    {                                                                                              \
        .known = true, .code = (code_), .signal = (signal_), .max_rss = -1, .memory_limit = -1,    \
        .memory_peak = -1                                                                          \
    }
#define FATE(life)                                                                                 \
    {                                                                                              \
        .start_ms = 100, .life_ms = (life), .term_ms = 200, .kill_ms = 1, .end = GOOD              \
    }

static const char *const argv[] = {"./train", NULL};
static const struct role roles[] = {
    {.name = "worker", .replicas = 2, .slots = 1, .argv = argv, .res = {.gpu = -1}, .grace_s = -1}};
static const struct replica replicas[] = {
    {.name = "worker-0", .role = roles, .host = "a", .address = "127.1.0.1", .n_processes = 1},
    {.id = 1,
     .name = "worker-1",
     .role = roles,
     .index = 1,
     .host = "b",
     .address = "127.1.0.2",
     .first_process = 1,
     .n_processes = 1}};
static const struct process processes[] = {
    {.argv = argv, .rank = -1, .log = "a"},
    {.id = 1, .replica = 1, .argv = argv, .rank = -1, .log = "b"}};
static const struct job_spec spec = {.name = "j",
                                     .platform = {.status = PLATFORM_OPENPAI},
                                     .roles = roles,
                                     .n_roles = 1,
                                     .gang = true};
static const struct plan plan = {.spec = &spec,
                                 .facts = &sim_facts,
                                 .replicas = replicas,
                                 .n_replicas = 2,
                                 .processes = processes,
                                 .n_processes = 2,
                                 .launcher = -1,
                                 .world = -1};
static const struct job_rules rules = {
    .grace_ms = 10000, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000};

static const struct sim_fate fates[] = {FATE(10000), FATE(10000)};
static const int64_t open_ms[] = {10, 20};

/* What happened, as a number: equal courses of events give equal ones. */
static void hash_event(void *ctx, const struct job *job, const struct event *ev, ns_t now)
{
    uint64_t *h = ctx;
    const uint64_t parts[] = {(uint64_t)ev->type, (uint64_t)ev->at, (uint64_t)now,
                              ev->process,        job->n_ended,     (uint64_t)ev->end.code};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        *h = (*h ^ parts[i]) * UINT64_C(0x100000001b3);
}

static struct sim_story quiet(void)
{
    return (struct sim_story){.seed = 7,
                              .processes = fates,
                              .open_ms = open_ms,
                              .cancel_ms = {-1, -1},
                              .cancel_signal = SIGTERM,
                              .pause_ms = -1,
                              .resume_ms = -1,
                              .lost_ms = -1,
                              .hang_ms = -1,
                              .end_ms = 3600000};
}

static struct sim_result play(const struct sim_story *story, uint64_t *ret_hash)
{
    uint64_t h = 0;
    const struct sim_watch watch = {.event = hash_event, .ctx = &h};
    struct sim_result r;

    sim_play(&plan, &rules, story, &watch, &r);
    is_str(r.broken, "", "no rule is broken");
    *ret_hash = h;
    return r;
}

static void ends(const char *name, struct sim_story story, enum outcome outcome, int exit_code,
                 int64_t at_ms)
{
    uint64_t h;
    struct sim_result r = play(&story, &h);

    is_str(outcome_name(r.job->outcome), outcome_name(outcome), "%s: the outcome", name);
    is_int(r.job->exit_code, exit_code, "%s: the exit code", name);
    if (at_ms >= 0)
        is_int((r.job->ended - SIM_BEGIN_NS) / NS_PER_MS, at_ms, "%s: the time", name);
    job_free(r.job);
}

static void test_endings(void)
{
    static const struct sim_blow exit_3 = {
        .at_ms = 5000, .replica = 1, .once = true, .end = BAD(3, 0)};
    static const struct sim_blow killed = {.at_ms = 5000, .replica = 0, .end = BAD(-1, SIGKILL)};
    struct sim_story s = quiet();

    ends("nothing goes wrong", s, OUTCOME_SUCCEEDED, 0, 10121);
    s.blows = &exit_3;
    s.n_blows = 1;
    ends("worker-1 exits at second 5", s, OUTCOME_FAILED, 3, 5200);
    s.blows = &killed;
    ends("worker-0 is killed", s, OUTCOME_FAILED, 137, 5200);
    s = quiet();
    s.cancel_ms[0] = 3000;
    ends("cancelled", s, OUTCOME_CANCELLED, 143, 3200);
    s = quiet();
    s.lost_ms = 3000;
    ends("the supervisor dies", s, OUTCOME_FAILED, 125, 3000);
    s = quiet();
    s.pause_ms = 2000;
    s.resume_ms = 60000;
    ends("paused and resumed: it runs from its beginning", s, OUTCOME_SUCCEEDED, 0, 70121);
    s.lost_ms = 3000;
    ends("the supervisor of a paused job dies", s, OUTCOME_FAILED, 125, 3000);
    s.lost_ms = 2100;
    ends("it dies while the job is being stopped for the pause", s, OUTCOME_FAILED, 125, 2100);
    s.lost_ms = -1;
    s.cancel_ms[0] = 4000;
    ends("a paused job is cancelled", s, OUTCOME_CANCELLED, 143, 4000);
    s = quiet();
    static const int64_t never[] = {10, -1};
    s.open_ms = never;
    ends("a replica never answers", s, OUTCOME_FAILED, 125, 600000);
    static const struct sim_fate deaf[] = {
        {.start_ms = 100, .life_ms = -1, .term_ms = -1, .kill_ms = 1, .end = GOOD}, FATE(10000)};
    s = quiet();
    s.processes = deaf;
    s.cancel_ms[0] = 3000;
    ends("a process that does not listen has its grace", s, OUTCOME_CANCELLED, 143, 13001);
}

static void test_faults(void)
{
    static const struct sim_blow exit_3 = {
        .at_ms = 5000, .replica = 1, .once = true, .end = BAD(3, 0)};
    struct sim_story s = quiet();
    uint64_t one, two;

    s.blows = &exit_3;
    s.n_blows = 1;
    s.faults = (struct sim_faults){.crash = 1000, .resync_ms = 1000};
    struct sim_result r = play(&s, &one);
    ok(r.crashes > 10, "the core crashes at every boundary (%u)", r.crashes);
    is_int(r.job->exit_code, 3, "and the job ends as it would have");
    job_free(r.job);

    s.faults = (struct sim_faults){.drop = 1000, .resync_ms = 1000};
    r = play(&s, &one);
    ok(r.dropped > 4, "no report arrives by itself (%u)", r.dropped);
    is_int(r.job->exit_code, 3, "and the job ends as it would have");
    job_free(r.job);

    s.faults = (struct sim_faults){.drop = 300,
                                   .repeat = 300,
                                   .delay = 300,
                                   .delay_ms = 500,
                                   .resync_ms = 1000,
                                   .crash = 100,
                                   .down_ms = 300};
    r = play(&s, &one);
    job_free(r.job);
    r = play(&s, &two);
    job_free(r.job);
    ok(one == two, "the same seed gives the same course of events");
    s.seed++;
    r = play(&s, &two);
    job_free(r.job);
    ok(one != two, "another seed gives another");
}

static void test_difference(void)
{
    struct sim_story s = quiet();
    uint64_t h;
    struct sim_result a = play(&s, &h), b = play(&s, &h);

    ok(!sim_difference(a.job, b.job), "equal states are equal");
    b.job->procs[1].end.signal = 9;
    is_str(sim_difference(a.job, b.job), "signal", "a process's ending");
    b.job->procs[1].end.signal = 0;
    b.job->gates[0] = GATE_ASKED;
    is_str(sim_difference(a.job, b.job), "gates", "a gate");
    b.job->gates[0] = GATE_UP;
    b.job->activity--;
    ok(!sim_difference(a.job, b.job), "output is no event: replay may not know of it");
    b.job->activity += 2;
    is_str(sim_difference(a.job, b.job), "activity", "but it cannot know of more");
    b.job->stop_replica = 1;
    is_str(sim_difference(a.job, b.job), "stop_replica", "who was not ready");
    job_free(a.job);
    job_free(b.job);
}

int main(void)
{
    test_endings();
    test_faults();
    test_difference();
    return tap_done();
}
