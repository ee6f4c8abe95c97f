/* queue_keys.h - queues as people write them: in the configuration and in a simulated day.
 *
 *     - name: gpu
 *       weight: 2           # of its share; 1 without it
 *       priority: 10        # before queues of lower priority
 *       quota: {cpus: 16, memory: 64Gi, gpus: 4}
 *       preemptible: false
 *       closed: false       # its jobs wait
 *       max-duration: 24h   # maxDuration in a simulated day
 */
#ifndef CLI_QUEUE_KEYS_H
#define CLI_QUEUE_KEYS_H

#include "doc/bind.h"
#include "queue/queue.h"

struct quota_keys {
    const struct node *at;
    const struct node *cpus, *memory;
    int32_t gpus, ports;
};

struct queue_keys { /* as decoded */
    const struct node *at;
    const char *name;
    const struct quota_keys *quota;
    int32_t weight, priority;
    bool preemptible, closed;
    const struct node *max_duration;
};

extern const struct bind_table queue_table_day, queue_table_config;
extern const char *const queue_preemption_words[]; /* by enum queue_preemption, NULL-terminated */

/* The queues, in the arena of the binder, names included. Two of one name are an error. */
struct queue *queue_keys_read(const struct binder *b, const struct queue_keys *v, size_t n,
                              uint32_t *ret_n);

/* Values of a key, otherwise if it is absent; what is wrong becomes a diagnostic. */
ns_t queue_keys_duration(const struct binder *b, const struct node *node, ns_t least,
                         ns_t otherwise);
int64_t queue_keys_quantity(const struct binder *b, const struct node *node, bool milli,
                            int64_t otherwise);

#endif
