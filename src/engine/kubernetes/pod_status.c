/* pod_status.c - what the API server says of the run's pods.
 *
 * A pod that does not run yet waits for something, and says for what in one of three places. A pod
 * whose container has ended says how; that counts where the shim, which was in it, could not.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kubernetes/parts.h"

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static int64_t number_at(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : otherwise;
}

static struct pod *find_pod(struct kubernetes *kb, const struct node *object)
{
    const char *name = text_at(node_get(object, "metadata"), "name");

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].name && strcmp(kb->pods[i].name, name) == 0)
            return &kb->pods[i];
    return NULL; /* an earlier attempt's, or an earlier generation */
}

/* --- waiting ---------------------------------------------------------------------------------- */

static const struct node *condition(const struct node *status, const char *type)
{
    const struct node *list = node_get(status, "conditions");

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], "type"), type) == 0)
            return list->items[i];
    return NULL;
}

static const struct node *waiting_container(const struct node *status)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

    for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
        const struct node *list = node_get(status, lists[k]);

        for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
            const struct node *w = node_find(list->items[i], "state", "waiting", NULL);

            if (w && strcmp(text_at(w, "reason"), "ContainerCreating") != 0 &&
                strcmp(text_at(w, "reason"), "PodInitializing") != 0)
                return w;
        }
    }
    return NULL;
}

static const char *why_it_waits(struct arena *a, const struct node *status)
{
    const struct node *scheduled = condition(status, "PodScheduled");
    const struct node *w = waiting_container(status);

    if (strcmp(text_at(scheduled, "status"), "False") == 0)
        return arena_printf(a, "not scheduled: %s", text_at(scheduled, "message"));
    if (w)
        return arena_printf(a, "%s: %s", text_at(w, "reason"), text_at(w, "message"));
    return NULL;
}

static void tell_waiting(struct pod *p, const char *why)
{
    struct kubernetes *kb = p->kb;
    struct observation o = {.kind = OBS_WAITING,
                            .at = clock_run(),
                            .attempt = p->attempt,
                            .replica = p->replica,
                            .text = why};

    if (!why ? !p->waits_for : p->waits_for && strcmp(p->waits_for, why) == 0)
        return;
    free(p->waits_for);
    p->waits_for = why ? xstrdup(why) : NULL;
    kb->client->observed(kb->client->ctx, &o);
}

/* --- the container ---------------------------------------------------------------------------- */

/* The status of the container that the shim is in, or NULL. */
static const struct node *container(const struct node *pod)
{
    const struct node *list = node_find(pod, "status", "containerStatuses", NULL);
    const char *name = kube_container_name(pod);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], "name"), name) == 0)
            return list->items[i];
    return NULL;
}

static void read_end(struct pod *p, const struct node *terminated)
{
    int64_t code = number_at(terminated, "exitCode", -1);

    p->container_ended = true;
    p->end = ENDING_UNKNOWN;
    p->end.at = clock_run();
    if (code < 0)
        return;
    p->end.known = true;
    p->end.code = (int)code;
    if (code > 128 && code < 128 + NSIG) {
        p->end.signal = (int)code - 128;
        p->end.code = -1;
    }
    if (strcmp(text_at(terminated, "reason"), "OOMKilled") == 0) {
        p->end.oom = true;
        p->end.memory_limit = pod_replica(p)->role->res.memory_limit;
    }
}

static void look_at(struct pod *p, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    const struct node *status = node_get(object, "status"), *c = container(object);
    const struct node *terminated = node_find(c, "state", "terminated", NULL);
    const char *ip = text_at(status, "podIP"), *phase = text_at(status, "phase");

    if (*ip && !p->ip)
        p->ip = xstrdup(ip);
    if (p->state == POD_ENDED)
        return;
    if (terminated || strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0) {
        read_end(p, terminated);
        pod_container_ended(p);
        return;
    }
    if (p->state == POD_RUNS)
        return;
    if (!node_find(c, "state", "running", NULL)) {
        tell_waiting(p, why_it_waits(a, status));
        return;
    }
    tell_waiting(p, NULL);
    p->state = POD_RUNS;
    pod_connect(p);
}

enum { GENERATIONS = 5 };

/* Nothing had begun in it: another one takes its place. */
static bool replace(struct pod *p)
{
    struct kubernetes *kb = p->kb;

    if (p->is_set_up || p->generation >= GENERATIONS)
        return false;
    auto_free char *text =
        xasprintf("pod %s was deleted before it started; creating it again", p->name);
    kb->client->note(kb->client->ctx, text);
    kube_stream_free(p->stream);
    p->stream = NULL;
    p->state = POD_ENDED;
    free(p->ip);
    p->ip = NULL;
    cluster_want_pod(p, p->attempt);
    return true;
}

static void changed(void *ctx, enum watch_change change, const struct node *object)
{
    struct kubernetes *kb = ctx;
    struct pod *p = find_pod(kb, object);

    if (!p || kb->releasing)
        return;
    if (change == WATCH_GONE && p->state != POD_ENDED && replace(p))
        return;
    look_at(p, object);
    if (change == WATCH_GONE && p->state != POD_ENDED && p->state != POD_NONE) {
        p->container_ended = true;
        p->end = ENDING_UNKNOWN;
        pod_container_ended(p);
    }
    kb->client->turn(kb->client->ctx);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (!kb->releasing)
        kb->client->note(kb->client->ctx, answer->message);
}

void pods_watch(struct kubernetes *kb)
{
    auto_arena struct arena *a = arena_new();

    kb->watch = kube_watch_new(
        kb->api, kb->loop, kube_path(a, kb, "pods"),
        arena_printf(a, "labelSelector=%s", kube_query(a, kube_selector(a, &kb->run))),
        &(struct watch_client){.changed = changed, .trouble = trouble, .ctx = kb});
}
