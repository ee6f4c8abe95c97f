/* preview_limits.c - a role's resource_limits, inside its spec and beside it. */
#include <string.h>

#include "base/nearest.h"
#include "dialect/azureml/preview_lower.h"
#include "kube/pod.h"

enum { CPU, MEMORY, GPU, N_LIMITS };

struct limit {
    int64_t value;
    const struct node *at; /* NULL: not said */
};

static int limit_kind(const char *key)
{
    static const struct {
        const char *key;
        int kind;
    } keys[] = {{"cpu", CPU},
                {"memory", MEMORY},
                {"gpu", GPU},
                {"nvidia.com/gpu", GPU},
                {"amd.com/gpu", GPU}};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].kind;
    }
    return N_LIMITS;
}

static void unknown_limit(const struct binder *b, const struct node *key)
{
    static const char *const names[] = {"cpu", "memory", "gpu", "nvidia.com/gpu"};
    const char *near = nearest_word(key->text, names, ARRAY_SIZE(names));

    if (strchr(key->text, '/'))
        diag_at(b->ds, key, "N0301", NULL, "`%s` has no effect in a local run", key->text);
    else
        diag_at(b->ds, key, "E0101",
                near ? arena_printf(b->a, "did you mean `%s`?", near)
                     : "known keys: cpu, memory, gpu, nvidia.com/gpu",
                "unknown key `%s` in resource_limits", key->text);
}

/* Adds what the mapping says to out. A value that is there already must be the same; if it is not,
 * the error stands at `again`, or at the key itself if that is NULL. */
static void read_limits(const struct binder *b, const struct node *map, const struct node *again,
                        struct limit out[N_LIMITS])
{
    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(b, "resource_limits", "a mapping", NULL, map);
        return;
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct node *key = map->pairs[i].key, *value = map->pairs[i].value;
        int kind = limit_kind(key->text);
        int64_t n = 0;

        if (kind == N_LIMITS)
            unknown_limit(b, key);
        if (kind == N_LIMITS || value->type == NODE_NULL ||
            !pod_quantity(b, key->text, value, kind == CPU, &n))
            continue;
        if (out[kind].at && out[kind].value != n)
            diag_at(b->ds, again ? again : key, "E0106", "keep one of the two",
                    "`%s` is limited to %.40s here, but to %.40s at line %u", key->text,
                    value->text, out[kind].at->text, out[kind].at->pos.line);
        out[kind] = (struct limit){n, value};
    }
}

void azp_lower_limits(struct azp *l, const struct azp_role *in, struct azp_out *out)
{
    const struct node *inside = in->spec ? in->spec->limits : NULL, *beside = in->limits;
    bool swapped = inside && beside && beside->pos.line < inside->pos.line;
    const struct node *first = swapped ? beside : inside, *second = swapped ? inside : beside;
    struct limit limits[N_LIMITS] = {{0}};
    struct resources *res = &out->role->res;

    read_limits(&l->b, first, NULL, limits);
    read_limits(&l->b, second, first && second ? node_label(second) : NULL, limits);
    if (limits[CPU].at) {
        res->cpu_limit_milli = limits[CPU].value;
        res->cpu_limit_at = limits[CPU].at;
    }
    if (limits[MEMORY].at) {
        res->memory_limit = limits[MEMORY].value;
        res->memory_limit_at = limits[MEMORY].at;
    }
    if (limits[GPU].at) {
        res->gpu = limits[GPU].value;
        res->gpu_at = limits[GPU].at;
    }
    out->gpu_at = limits[GPU].at;
}
