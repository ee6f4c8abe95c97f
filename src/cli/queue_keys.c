/* queue_keys.c - see queue_keys.h. */
#include "cli/queue_keys.h"

#include <string.h>

#include "base/num.h"

const char *const queue_preemption_words[] = {"off", "pause", "requeue", NULL};

#define AT(field) offsetof(struct quota_keys, field)
static const struct bind_field quota_fields[] = {
    {.key = "cpus", .kind = BIND_NODE, .offset = AT(cpus), .takes = TAKES_QUANTITY},
    {.key = "memory", .kind = BIND_NODE, .offset = AT(memory), .takes = TAKES_QUANTITY},
    {.key = "gpus", .kind = BIND_INT, .offset = AT(gpus), .max = INT32_MAX, .def = -1},
    {.key = "ports", .kind = BIND_INT, .offset = AT(ports), .max = INT32_MAX, .def = -1},
};
static const struct bind_table quota_table = BIND_TABLE("a quota", struct quota_keys, quota_fields);

#undef AT
#define AT(field) offsetof(struct queue_keys, field)
#define QUEUE_FIELDS(max_key)                                                                      \
    {.key = "name", .kind = BIND_STRING, .offset = AT(name), .required = true, .non_empty = true}, \
        {.key = "quota", .kind = BIND_STRUCT, .offset = AT(quota), .table = &quota_table},         \
        {.key = "weight",                                                                          \
         .kind = BIND_INT,                                                                         \
         .offset = AT(weight),                                                                     \
         .min = 1,                                                                                 \
         .max = 1000000,                                                                           \
         .def = 1},                                                                                \
        {.key = "priority", .kind = BIND_INT, .offset = AT(priority), .max = 100},                 \
        {.key = "preemptible", .kind = BIND_BOOL, .offset = AT(preemptible)},                      \
        {.key = "closed", .kind = BIND_BOOL, .offset = AT(closed)},                                \
    {                                                                                              \
        .key = (max_key), .kind = BIND_NODE, .offset = AT(max_duration), .takes = TAKES_STRING     \
    }
static const struct bind_field day_fields[] = {QUEUE_FIELDS("maxDuration")};
static const struct bind_field config_fields[] = {QUEUE_FIELDS("max-duration")};
const struct bind_table queue_table_day = BIND_TABLE("a queue", struct queue_keys, day_fields);
const struct bind_table queue_table_config =
    BIND_TABLE("a queue", struct queue_keys, config_fields);

ns_t queue_keys_duration(const struct binder *b, const struct node *node, ns_t least,
                         ns_t otherwise)
{
    int64_t ms;

    if (!node || node->type == NODE_NULL)
        return otherwise;
    if (!node->text || duration_ms(node->text, &ms) < 0 || ms > INT64_MAX / 1000 / NS_PER_MS) {
        bind_type_error(b, node->parent_key, "a duration such as 500ms, 10m or 24h", NULL, node);
        return otherwise;
    }
    if (ms * NS_PER_MS < least) {
        diag_at(b->ds, node, "E0203", NULL, "`%s` must be greater than 0", node->parent_key);
        return otherwise;
    }
    return ms * NS_PER_MS;
}

int64_t queue_keys_quantity(const struct binder *b, const struct node *node, bool milli,
                            int64_t otherwise)
{
    int64_t x;

    if (!node || node->type == NODE_NULL)
        return otherwise;
    if (node->text &&
        (milli ? quantity_milli(node->text, &x) : quantity_units(node->text, &x)) == 0)
        return x;
    bind_type_error(b, node->parent_key, "a quantity such as 2, 500m or 64Gi", NULL, node);
    return otherwise;
}

static void read_queue(const struct binder *b, const struct queue_keys *x, struct queue *ret)
{
    *ret = (struct queue){.name = x->name ? arena_strdup(b->a, x->name) : "",
                          .quota = {{-1, -1, -1, -1}},
                          .weight = x->weight,
                          .priority = x->priority,
                          .preemptible = node_absent(x->at, "preemptible") || x->preemptible,
                          .closed = x->closed,
                          .max_duration = queue_keys_duration(b, x->max_duration, 1, 0)};
    if (x->quota)
        ret->quota = (struct queue_amount){{queue_keys_quantity(b, x->quota->cpus, true, -1),
                                            queue_keys_quantity(b, x->quota->memory, false, -1),
                                            x->quota->gpus, x->quota->ports}};
}

struct queue *queue_keys_read(const struct binder *b, const struct queue_keys *keys, size_t n,
                              uint32_t *ret_n)
{
    struct queue *v = ARENA_ARRAY(b->a, struct queue, n + 1);

    for (size_t i = 0; i < n; i++) {
        read_queue(b, &keys[i], &v[i]);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(v[i].name, v[k].name))
                diag_at(b->ds, node_get(keys[i].at, "name"), "E0106", NULL,
                        "duplicate queue \"%s\"", v[i].name);
    }
    *ret_n = (uint32_t)n;
    return v;
}
