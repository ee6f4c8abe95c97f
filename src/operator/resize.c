/* resize.c - see resize.h.
 *
 * Snapshots count replicas and processes by their place in the plan. Each replica of the kinds that
 * are served has one process here: its pod.
 */
#include "operator/resize.h"

#include <string.h>

#include "doc/json_read.h"
#include "doc/json_write.h"
#include "doc/make.h"

bool resize_is_same(const struct plan *a, const struct plan *b)
{
    if (a->n_replicas != b->n_replicas)
        return false;
    for (uint32_t i = 0; i < a->n_replicas; i++)
        if (strcmp(a->replicas[i].host, b->replicas[i].host) != 0)
            return false;
    return true;
}

int32_t resize_replica(const struct plan *from, const struct plan *to, uint32_t i)
{
    const char *host = from->replicas[i].host;

    if (i < to->n_replicas && strcmp(to->replicas[i].host, host) == 0)
        return (int32_t)i; /* nearly always */
    for (uint32_t k = 0; k < to->n_replicas; k++)
        if (strcmp(to->replicas[k].host, host) == 0)
            return (int32_t)k;
    return -1;
}

static int64_t moved(const struct plan *from, const struct plan *to, bool process, int64_t i)
{
    uint32_t replica;
    int32_t now;

    if (i < 0 || i >= (process ? from->n_processes : from->n_replicas))
        return -1;
    replica = process ? from->processes[i].replica : (uint32_t)i;
    now = resize_replica(from, to, replica);
    return now >= 0 && process ? (int64_t)to->replicas[now].first_process : now;
}

/* Keys whose values count replicas or processes. */
static const struct {
    const char *key;
    bool process;
    bool whole; /* the line is about it */
} keys[] = {{"process", true, true},
            {"replica", false, true},
            {"first_failed", true, false},
            {"stop_replica", false, false},
            {"free_replica", false, false}};

/* False if the line is about a replica that is gone. */
static bool move_line(struct arena *a, const struct plan *from, const struct plan *to,
                      struct node *line)
{
    bool rank = node_get(line, "rank") || node_get(line, "launch"); /* counts something else */

    for (size_t i = 0; !rank && i < ARRAY_SIZE(keys); i++) {
        const struct node *value = node_get(line, keys[i].key);
        int64_t now;

        if (!value || value->type != NODE_INT)
            continue;
        now = moved(from, to, keys[i].process, value->i);
        if (now < 0 && keys[i].whole)
            return false;
        make_put(a, line, keys[i].key, make_int(a, now));
    }
    return true;
}

void resize_snapshot(const struct plan *from, const struct plan *to, const char *text,
                     struct strbuf *out)
{
    for (const char *nl; (nl = strchr(text, '\n')); text = nl + 1) {
        auto_arena struct arena *a = arena_new();
        const struct node *line = json_node(a, text, (size_t)(nl - text));
        struct node *copy = line && line->type == NODE_MAP ? make_copy(a, line) : NULL;

        if (!copy || !move_line(a, from, to, copy))
            continue;
        json_write(out, copy);
        strbuf_addch(out, '\n');
    }
}
