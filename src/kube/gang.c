/* gang.c - see gang.h. */
#include "kube/gang.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

#define VOLCANO "volcano"

bool gang_is_volcano(const char *scheduler)
{
    return strcmp(scheduler, VOLCANO) == 0;
}

const char *gang_api(const char *scheduler)
{
    return gang_is_volcano(scheduler) ? GANG_VOLCANO_API : GANG_PLUGINS_API;
}

static void put(struct arena *a, struct node *map, const char *key, const char *text)
{
    if (text)
        make_put(a, map, key, make_text(a, text));
}

void gang_join(struct arena *a, const char *scheduler, const char *group, const char *task,
               bool override, struct node *meta, struct node *pod)
{
    struct node *map;

    if (override || !*node_text(node_get(pod, "schedulerName"), ""))
        put(a, pod, "schedulerName", scheduler);
    if (gang_is_volcano(scheduler)) {
        map = make_below(a, meta, "annotations");
        put(a, map, "scheduling.k8s.io/group-name", group);
        put(a, map, "volcano.sh/task-spec", task);
    } else {
        put(a, make_below(a, meta, "labels"), "scheduling.x-k8s.io/pod-group", group);
    }
}

/* --- what the members need together ----------------------------------------------------------- */

struct amount {
    const char *name;
    int64_t milli;
    bool binary; /* "1Gi", not "1G" */
};

struct gang_sum {
    struct arena *a;
    struct amount v[LIMIT_GROUP_RESOURCES];
    size_t n;
};

struct gang_sum *gang_sum_new(struct arena *a)
{
    struct gang_sum *sum = ARENA_NEW(a, struct gang_sum);

    sum->a = a;
    return sum;
}

static const char *const binary_units[] = {"Ei", "Pi", "Ti", "Gi", "Mi", "Ki"};

static bool is_binary(const char *text)
{
    size_t n = strlen(text);

    return n > 1 && text[n - 1] == 'i';
}

static void add_amount(struct gang_sum *all, const char *name, const char *text, int64_t times)
{
    int64_t milli;
    size_t i = 0;

    if (quantity_milli(text, &milli) < 0 || __builtin_mul_overflow(milli, times, &milli))
        return;
    while (i < all->n && strcmp(all->v[i].name, name) != 0)
        i++;
    if (i == LIMIT_GROUP_RESOURCES)
        return;
    if (i == all->n)
        all->v[all->n++] = (struct amount){name, 0, is_binary(text)};
    if (__builtin_add_overflow(all->v[i].milli, milli, &milli))
        return;
    all->v[i].milli = milli;
}

static void add_list(struct gang_sum *all, const struct node *list, const struct node *except,
                     int64_t times)
{
    for (size_t i = 0; list && list->type == NODE_MAP && i < list->n; i++) {
        const struct node *value = list->pairs[i].value;
        const char *name = list->pairs[i].key->text;

        if (except && node_get(except, name))
            continue;
        add_amount(all, name,
                   value->type == NODE_INT ? arena_printf(all->a, "%lld", (long long)value->i)
                                           : node_text(value, ""),
                   times);
    }
}

void gang_sum_add(struct gang_sum *sum, const struct node *containers, int64_t times, bool limits)
{
    const struct node *list = containers;

    for (size_t i = 0; times > 0 && list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *resources = node_get(list->items[i], "resources");
        const struct node *requests = node_get(resources, "requests");

        add_list(sum, requests, NULL, times);
        if (!requests || limits)
            add_list(sum, node_get(resources, "limits"), requests, times);
    }
}

/* The shortest text of the same value, as Kubernetes writes it. */
static const char *amount_text(struct arena *a, const struct amount *m)
{
    static const char *const units[] = {"E", "P", "T", "G", "M", "k", ""};
    int64_t whole = m->milli / 1000, size;

    if (m->milli % 1000)
        return arena_printf(a, "%lldm", (long long)m->milli);
    size = INT64_C(1) << 60;
    for (size_t i = 0; m->binary && whole && i < ARRAY_SIZE(binary_units); i++, size >>= 10)
        if (whole % size == 0)
            return arena_printf(a, "%lld%s", (long long)(whole / size), binary_units[i]);
    size = INT64_C(1000000000000000000);
    for (size_t i = 0; !m->binary && whole && i < ARRAY_SIZE(units); i++, size /= 1000)
        if (whole % size == 0)
            return arena_printf(a, "%lld%s", (long long)(whole / size), units[i]);
    return arena_printf(a, "%lld", (long long)whole);
}

struct node *gang_sum_map(const struct gang_sum *sum)
{
    struct node *map = make_map(sum->a);

    for (size_t i = 0; i < sum->n; i++)
        put(sum->a, map, sum->v[i].name, amount_text(sum->a, &sum->v[i]));
    return map;
}
