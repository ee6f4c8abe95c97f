/* lives.c - see lives.h. */
#include "operator/lives.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "engine/kubernetes/objects.h"
#include "operator/ranks.h"
#include "operator/wants.h"

#define RECENT (3 * NS_PER_S)

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static const struct node *named(const struct node *list, const char *name)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], "name"), name) == 0)
            return list->items[i];
    return NULL;
}

static int64_t number_at(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : otherwise;
}

static struct life_end how_it_ended(const struct node *terminated)
{
    int64_t code = number_at(terminated, "exitCode", -1);
    struct life_end end = {.code = -1, .at = clock_of_rfc3339(text_at(terminated, "finishedAt"))};

    if (code < 0 || code > 255)
        return end;
    end.known = true;
    end.oom = strcmp(text_at(terminated, "reason"), "OOMKilled") == 0;
    if (code > 128 && code < 128 + NSIG)
        end.signal = (int16_t)(code - 128);
    else
        end.code = (int16_t)code;
    return end;
}

/* The first init container that failed for good. */
static struct life_end how_init_ended(const struct node *status)
{
    const struct node *list = node_get(status, "initContainerStatuses");

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *t = node_find(list->items[i], "state", "terminated", NULL);

        if (number_at(t, "exitCode", 0) != 0) {
            struct life_end end = how_it_ended(t);

            end.init = true;
            return end;
        }
    }
    return (struct life_end){.code = -1};
}

static bool is_ready(const struct node *status)
{
    const struct node *list = node_get(status, "conditions");

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], "type"), "Ready") == 0)
            return strcmp(text_at(list->items[i], "status"), "True") == 0;
    return false;
}

static void read_start(const struct node *pod, struct life *life)
{
    const struct node *notes = node_find(pod, "metadata", "annotations", NULL);
    const char *text = text_at(notes, WANT_START_ANNOTATION), *dot = strchr(text, '.');
    auto_free char *before = dot ? xstrndup(text, (size_t)(dot - text)) : NULL;
    uint32_t attempt, instance;

    life->recorded = strcmp(text_at(notes, WANT_RECORDS_ANNOTATION), "true") == 0;
    if (before && num_u32(before, &attempt) == 0 && num_u32(dot + 1, &instance) == 0) {
        life->attempt = attempt;
        life->instance = instance;
    }
}

const char *main_container(const struct node *pod, const char *main)
{
    bool known = main && named(node_find(pod, "spec", "containers", NULL), main);

    return known ? main : kube_container_name(pod);
}

static const struct node *main_status(const struct node *pod, const char *main)
{
    return named(node_find(pod, "status", "containerStatuses", NULL), main_container(pod, main));
}

struct life pod_life(struct arena *a, const struct node *pod, const char *main)
{
    const struct node *status = node_get(pod, "status");
    const struct node *c = main_status(pod, main);
    const struct node *terminated = node_find(c, "state", "terminated", NULL);
    const struct node *before = node_find(c, "lastState", "terminated", NULL);
    const char *phase = text_at(status, "phase");
    const struct pod_facts f = pod_facts(a, pod);
    int64_t restarts = number_at(c, "restartCount", 0);
    struct life life = {.removed = f.removed,
                        .deleting = !node_absent(node_get(pod, "metadata"), "deletionTimestamp"),
                        .text = f.removed ? f.why : f.waits,
                        .fate = f.fate,
                        .restarts = restarts > 0 && restarts < INT32_MAX ? (uint32_t)restarts : 0};

    read_start(pod, &life);
    life.over = strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0;
    life.stage = *f.node ? STAGE_STARTING : STAGE_PENDING;
    if (before) {
        life.before = how_it_ended(before);
        life.ranks_before = ranks_line(a, text_at(before, "message"));
    }
    if (terminated || life.over) {
        life.stage = STAGE_ENDED;
        life.end = terminated ? how_it_ended(terminated) : how_init_ended(status);
        life.ranks = ranks_line(a, text_at(terminated, "message"));
    } else if (node_find(c, "state", "running", NULL)) {
        life.started =
            clock_of_rfc3339(text_at(node_find(c, "state", "running", NULL), "startedAt"));
        life.stage = STAGE_RUNS;
        life.ready = is_ready(status);
        life.out_of_sight = f.out_of_sight;
    }
    return life;
}

ns_t life_time(ns_t at, ns_t now)
{
    return at && at < now - RECENT ? at : now;
}

struct ending life_ending(const struct life_end *end, ns_t now)
{
    struct ending e = ENDING_UNKNOWN;

    e.at = life_time(end->at, now);
    e.known = end->known;
    e.code = end->code;
    e.signal = end->signal;
    e.oom = end->oom;
    if (end->init)
        (void)snprintf(e.init, sizeof(e.init), "%s", "init");
    return e;
}
