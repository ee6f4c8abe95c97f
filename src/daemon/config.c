/* config.c - the queues of the daemon, and what its jobs may use together. */
#include <string.h>
#include <unistd.h>

#include "daemon/parts.h"
#include "engine/local/machine.h"

#define DEFAULT_QUEUE "default"

/* Options win over the configuration, the configuration over what there is. */
void daemon_machine(const struct daemon_config *c, int64_t cpus, int64_t memory, int64_t gpus,
                    struct queue_machine *ret)
{
    gpus = gpus >= 0 ? gpus : c->gpus >= 0 ? c->gpus : machine_gpus();
    cpus = cpus            ? cpus * 1000
           : c->cpus_milli ? c->cpus_milli
                           : sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    memory = memory ? memory : c->memory;
    if (memory == 0)
        memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (gpus > LIMIT_QUEUE_GPUS)
        gpus = LIMIT_QUEUE_GPUS;
    *ret = (struct queue_machine){
        .name = "this machine",
        .has.v = {[QUEUE_CPU] = cpus, [QUEUE_MEMORY] = memory, [QUEUE_PORT] = LIMIT_PORTS},
        .gpus = gpus == 64 ? ~UINT64_C(0) : (UINT64_C(1) << gpus) - 1};
}

static int read_again(struct daemon *d)
{
    struct arena *a = arena_new();
    struct daemon_config config = DAEMON_CONFIG_INIT;
    int r = d->opts->configure ? d->opts->configure(a, &config) : 0;

    if (r < 0) {
        arena_free(a);
        return r;
    }
    arena_free(d->config_arena);
    d->config_arena = a;
    d->config = config;
    daemon_machine(&config, d->opts->cpus, d->opts->memory, d->opts->gpus, &d->machine);
    return 0;
}

int config_read(struct daemon *d, struct err *e)
{
    int r = read_again(d);

    return r < 0 ? err_set(e, r, "the configuration has errors") : 0;
}

void config_reload(struct daemon *d)
{
    if (read_again(d) < 0) {
        daemon_note(d, "the configuration has errors; it stays as it was");
        return;
    }
    daemon_note(d, "configuration reloaded: %u queue%s", d->config.n_queues,
                d->config.n_queues == 1 ? "" : "s");
    d->queue_changed = true;
}

const char *config_queue(const struct daemon *d, const char *name, struct strbuf *why)
{
    const struct daemon_config *c = &d->config;

    if (!name || !*name)
        name = DEFAULT_QUEUE;
    if (c->n_queues == 0)
        return name;
    for (uint32_t i = 0; i < c->n_queues; i++)
        if (strcmp(c->queues[i].name, name) == 0)
            return c->queues[i].name;
    if (strcmp(name, DEFAULT_QUEUE) == 0)
        return c->queues[0].name;
    if (!why)
        return NULL;
    strbuf_addf(why, "queue \"%s\" not found; configured queues: ", name);
    for (uint32_t i = 0; i < c->n_queues; i++)
        strbuf_addf(why, "%s%s", i ? ", " : "", c->queues[i].name);
    strbuf_addstr(why, " (use --queue NAME)");
    return NULL;
}
