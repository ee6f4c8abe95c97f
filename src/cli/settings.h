/* settings.h - the configuration file: ~/.config/muster/config.yaml, else /etc/muster/config.yaml.
 *
 *     on: local           # the engine of run and explain, without --on
 *     retention:
 *       keep: 50          # of the newest runs without outputs
 *       max-age: 30d
 *       max-size: 10Gi
 *     queues:             # of the daemon; queue_keys.h
 *       - {name: gpu, weight: 2, quota: {gpus: 4}}
 *     preemption: pause   # or requeue; off without it
 *     machine: {cpus: 16, memory: 64Gi, gpus: 4}   # what its jobs may use together
 *
 * Only the first file that exists is read. A file with errors is refused as a whole.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "base/arena.h"
#include "daemon/daemon.h"
#include "rundir/retention.h"

struct settings {
    struct retention retention;
    const char *on; /* of engine_names */
    struct daemon_config daemon;
};
#define SETTINGS_INIT                                                                              \
    {                                                                                              \
        .retention = RETENTION_INIT, .on = "local", .daemon = DAEMON_CONFIG_INIT                   \
    }

/* 0, or -errno after telling on stderr what is wrong, and where. */
int settings_read(struct arena *a, struct settings *ret);

/* That of all users only: what the machine's daemon goes by. */
int settings_read_system(struct arena *a, struct settings *ret);

/* The same of a text; path is for the messages. */
int settings_of_text(struct arena *a, const char *path, const char *text, size_t len,
                     struct settings *ret);

#endif
