/* The configuration file: what it may hold, and what is refused. */
#include "cli/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/tap.h"

static void queues(void)
{
    static const char text[] =
        "queues:\n"
        "- {name: low}\n"
        "- {name: high, weight: 3, priority: 7, quota: {cpus: 1500m, memory: 2Gi, gpus: 4},\n"
        "   preemptible: false, closed: true, max-duration: 2h}\n"
        "preemption: requeue\n"
        "machine: {cpus: 2.5, memory: 1Gi, gpus: 3}\n";
    auto_arena struct arena *a = arena_new();
    struct settings s;

    is_int(settings_of_text(a, "config.yaml", text, strlen(text), &s), 0, "queues");
    is_int(s.daemon.n_queues, 2, "are all there");
    const struct queue *low = &s.daemon.queues[0], *high = &s.daemon.queues[1];
    is_str(low->name, "low", "in their order");
    ok(low->preemptible && !low->closed && low->weight == 1 && low->max_duration == 0, "defaults");
    is_int(low->quota.v[QUEUE_CPU], QUEUE_UNLIMITED, "without a quota");
    is_str(high->name, "high", "the second");
    is_int(high->weight, 3, "its weight");
    is_int(high->priority, 7, "its priority");
    ok(!high->preemptible && high->closed, "its flags");
    is_int(high->max_duration, 7200 * NS_PER_S, "its maximum duration");
    is_int(high->quota.v[QUEUE_CPU], 1500, "quota of CPUs");
    is_int(high->quota.v[QUEUE_MEMORY], INT64_C(2) << 30, "of memory");
    is_int(high->quota.v[QUEUE_GPU], 4, "of GPUs");
    is_int(high->quota.v[QUEUE_PORT], QUEUE_UNLIMITED, "and none of ports");
    is_int(s.daemon.preemption, QUEUE_PREEMPT_REQUEUE, "the preemption");
    is_int(s.daemon.cpus_milli, 2500, "CPUs of the machine");
    is_int(s.daemon.memory, INT64_C(1) << 30, "its memory");
    is_int(s.daemon.gpus, 3, "its GPUs");
}

static int read_text(const char *text, struct settings *ret)
{
    auto_arena struct arena *a = arena_new();

    return settings_of_text(a, "config.yaml", text, strlen(text), ret);
}

int main(void)
{
    static const char *const bad[] = {
        "retention: {kep: 5}\n",
        "retentoin: {}\n",
        "retention: {keep: -1}\n",
        "retention: {keep: many}\n",
        "retention: {max-age: 30}\n",
        "retention: {max-age: long}\n",
        "retention: {max-size: big}\n",
        "retention: {max-size: [1]}\n",
        "retention: {max-size: -1}\n",
        "retention: 5\n",
        "on: laptop\n",
        "on: [local]\n",
        "[]\n",
        "queues: {}\n",
        "queues: [{weight: 1}]\n",
        "queues: [{name: ''}]\n",
        "queues: [{name: a}, {name: a}]\n",
        "queues: [{name: a, weight: 0}]\n",
        "queues: [{name: a, priority: 101}]\n",
        "queues: [{name: a, quota: {cpus: many}}]\n",
        "queues: [{name: a, quota: {gpus: -1}}]\n",
        "queues: [{name: a, max-duration: 0s}]\n",
        "queues: [{name: a, maxDuration: 1h}]\n",
        "preemption: kill\n",
        "machine: {cpus: 0}\n",
        "machine: {gpus: 65}\n",
        "retention: {\n",
        "retention: {}\n---\nretention: {}\n",
    };
    struct settings s;

    if (!freopen("/dev/null", "w", stderr)) /* the diagnostics are for people */
        return 1;
    is_int(read_text("", &s), 0, "an empty file");
    is_int(s.retention.keep, LIMIT_RUNS_KEPT, "the default number");
    is_int(s.retention.max_age_ms, RETENTION_NONE, "any age");
    is_int(s.retention.max_size, RETENTION_NONE, "any size");
    is_int(read_text("retention:\n  keep: 7\n  max-age: 2d\n  max-size: 1Ki\n", &s), 0, "all keys");
    is_int(s.retention.keep, 7, "the number");
    is_int(s.retention.max_age_ms, INT64_C(48) * 3600 * 1000, "the age");
    is_int(s.retention.max_size, 1024, "the size");
    is_str(s.on, "local", "the engine that is meant without any");
    is_int(read_text("on: sim\n", &s), 0, "an engine");
    is_str(s.on, "sim", "is chosen");
    is_int(s.daemon.n_queues, 0, "no queues");
    is_int(s.daemon.gpus, -1, "all GPUs of the machine");
    queues();
    is_int(read_text("retention: {max-size: 2048}\n", &s), 0, "a size without a unit");
    is_int(s.retention.max_size, 2048, "is bytes");
    is_int(s.retention.keep, LIMIT_RUNS_KEPT, "what is not given is the default");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_int(read_text(bad[i], &s), -EINVAL, "refused: %.*s", (int)strcspn(bad[i], "\n"), bad[i]);
    is_int(s.retention.max_size, 2048, "nothing is changed then");
    return tap_done();
}
