/* settings.c - fuzzes the configuration file: whatever the bytes are, it is refused as a whole, or
 * its queues and limits are ones that the daemon can use. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/settings.h"
#include "common.h"

static void check_queue(const struct daemon_config *c, uint32_t i)
{
    const struct queue *q = &c->queues[i];

    MUST(q->name && *q->name && q->weight >= 1 && q->priority >= 0 && q->priority <= 100);
    MUST(q->max_duration >= 0 && q->n_waiting == 0);
    for (uint32_t k = 0; k < i; k++)
        MUST(strcmp(q->name, c->queues[k].name) != 0);
    for (int r = 0; r < QUEUE_RESOURCES; r++)
        MUST(q->quota.v[r] >= QUEUE_UNLIMITED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *quiet;
    struct arena *a = arena_new();
    struct settings s;

    if (!quiet) /* the diagnostics are for people */
        quiet = freopen("/dev/null", "w", stderr);
    if (settings_of_text(a, "config.yaml", (const char *)data, size, &s) == 0) {
        const struct daemon_config *c = &s.daemon;

        MUST(s.on && c->n_queues <= LIMIT_QUEUES);
        MUST(c->cpus_milli >= 0 && c->memory >= 0 && c->gpus >= -1 && c->gpus <= LIMIT_QUEUE_GPUS);
        for (uint32_t i = 0; i < c->n_queues; i++)
            check_queue(c, i);
    }
    arena_free(a);
    return 0;
}
