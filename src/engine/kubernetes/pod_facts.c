/* pod_facts.c - see pod_facts.h.
 *
 * A pod that does not run yet waits for something, and says for what in one of three places: a
 * condition while no node is found, a container's state, or (only) an event. A pod that is removed
 * says so before its processes are told to end: a deletion time, and the condition DisruptionTarget
 * if the platform does it.
 */
#include "engine/kubernetes/pod_facts.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kubernetes/objects.h"

const char *const pod_facts_pick[] = {"metadata.name",
                                      "metadata.namespace",
                                      "metadata.uid",
                                      "metadata.labels",
                                      "metadata.annotations",
                                      "metadata.ownerReferences",
                                      "metadata.creationTimestamp",
                                      "metadata.deletionTimestamp",
                                      "metadata.deletionGracePeriodSeconds",
                                      "spec.nodeName",
                                      "spec.readinessGates",
                                      "spec.containers.name",
                                      "spec.containers.image",
                                      "spec.initContainers.name",
                                      "spec.initContainers.image",
                                      "status.phase",
                                      "status.reason",
                                      "status.message",
                                      "status.podIP",
                                      "status.conditions.type",
                                      "status.conditions.status",
                                      "status.conditions.reason",
                                      "status.conditions.message",
                                      "status.containerStatuses.name",
                                      "status.containerStatuses.image",
                                      "status.containerStatuses.state",
                                      "status.containerStatuses.lastState",
                                      "status.containerStatuses.restartCount",
                                      "status.initContainerStatuses.name",
                                      "status.initContainerStatuses.image",
                                      "status.initContainerStatuses.state",
                                      NULL};

const char *const pod_news_pick[] = {"involvedObject.kind", "involvedObject.name", "reason",
                                     "message", NULL};

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static int64_t number_at(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : otherwise;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const struct node *named(const struct node *list, const char *key, const char *name)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (is(text_at(list->items[i], key), name))
            return list->items[i];
    return NULL;
}

static const struct node *condition(const struct node *status, const char *type)
{
    return named(node_get(status, "conditions"), "type", type);
}

static bool condition_is(const struct node *status, const char *type, const char *value)
{
    return is(text_at(condition(status, type), "status"), value);
}

/* The status of the container that the shim is in, or NULL. */
static const struct node *container(const struct node *pod)
{
    return named(node_find(pod, "status", "containerStatuses", NULL), "name",
                 kube_container_name(pod));
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Reasons of a container's state, as the kubelet gives them. Those that are not here are told, and
 * nothing follows from them. */
static const struct {
    const char *reason;
    enum cause_kind fate;
    enum pod_trouble trouble;
} reasons[] = {
    {"ErrImagePull", CAUSE_IMAGE, TROUBLE_PULL},
    {"ImagePullBackOff", CAUSE_IMAGE, TROUBLE_PULL},
    {"RegistryUnavailable", CAUSE_IMAGE, TROUBLE_PULL},
    {"SignatureValidationFailed", CAUSE_IMAGE, TROUBLE_PULL},
    {"ImageInspectError", CAUSE_IMAGE, TROUBLE_PULL},
    {"InvalidImageName", CAUSE_IMAGE, TROUBLE_FOREVER},
    {"ErrImageNeverPull", CAUSE_IMAGE, TROUBLE_FOREVER},
};

/* What libraries put in front of the registry's own words. */
static const char *own_words(const char *message)
{
    static const char *const before[] = {
        "Back-off pulling image ", "ErrImagePull: ", "rpc error: code = ", "Failed to pull image "};
    static const char *const until[] = {"\": ", "", " desc = ", "\": "};

    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        const char *rest = message + strlen(before[i]);

        if (strncmp(message, before[i], strlen(before[i])) != 0)
            continue;
        rest = strstr(rest, until[i]);
        if (rest && rest[strlen(until[i])])
            message = rest + strlen(until[i]);
    }
    return message;
}

static void container_waits(struct arena *a, const struct node *pod, const char *statuses,
                            const char *containers, struct pod_facts *f)
{
    const struct node *list = node_find(pod, "status", statuses, NULL);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n && !f->waits; i++) {
        const struct node *c = list->items[i], *w = node_find(c, "state", "waiting", NULL);
        const char *reason = text_at(w, "reason"), *message = text_at(w, "message");
        const struct node *spec =
            named(node_find(pod, "spec", containers, NULL), "name", text_at(c, "name"));
        const char *image = *text_at(spec, "image") ? text_at(spec, "image") : text_at(c, "image");

        if (!*reason || is(reason, "ContainerCreating") || is(reason, "PodInitializing"))
            continue;
        f->waits = arena_printf(a, "%s%s%s", reason, *message ? ": " : "", message);
        for (size_t k = 0; k < ARRAY_SIZE(reasons); k++) {
            if (!is(reason, reasons[k].reason))
                continue;
            f->fate = reasons[k].fate;
            f->trouble = reasons[k].trouble;
            message = own_words(message);
            f->waits = arena_printf(a, "%s: %s", image, *message ? message : reason);
        }
    }
}

static void why_it_waits(struct arena *a, const struct node *pod, struct pod_facts *f)
{
    const struct node *status = node_get(pod, "status");
    const struct node *scheduled = condition(status, "PodScheduled");

    if (!is(text_at(scheduled, "status"), "False")) {
        container_waits(a, pod, "initContainerStatuses", "initContainers", f);
        container_waits(a, pod, "containerStatuses", "containers", f);
        return;
    }
    const char *message = text_at(scheduled, "message"), *reason = text_at(scheduled, "reason");
    f->waits = *message ? message : *reason ? reason : "not scheduled";
    f->fate = CAUSE_UNSCHEDULABLE;
}

/* --- removed ---------------------------------------------------------------------------------- */

/* Of the pod's own status: what the kubelet, or the control plane in its place, did to it. */
static const char *const by_kubelet[] = {"Evicted",
                                         "Preempting",
                                         "NodeLost",
                                         "Shutdown",
                                         "NodeShutdown",
                                         "Terminated",
                                         "OutOfcpu",
                                         "OutOfmemory",
                                         "OutOfpods",
                                         "NodeAffinity",
                                         "UnexpectedAdmissionError"};

static bool is_by_kubelet(const char *reason)
{
    for (size_t i = 0; i < ARRAY_SIZE(by_kubelet); i++)
        if (is(reason, by_kubelet[i]))
            return true;
    return false;
}

static const char *on_node(struct arena *a, const char *node)
{
    return *node ? arena_printf(a, "on node %s, ", node) : "";
}

static void who_removes_it(struct arena *a, const struct node *pod, struct pod_facts *f)
{
    const struct node *meta = node_get(pod, "metadata"), *status = node_get(pod, "status");
    const struct node *target = condition(status, "DisruptionTarget");
    const char *reason = text_at(status, "reason"), *message = text_at(status, "message");
    bool deleted = !node_absent(meta, "deletionTimestamp");

    f->grace_s = deleted ? number_at(meta, "deletionGracePeriodSeconds", 0) : 0;
    if (is(text_at(target, "status"), "True")) {
        reason = text_at(target, "reason");
        message = text_at(target, "message");
    } else if (!is_by_kubelet(reason)) {
        if (deleted) {
            f->removed = CAUSE_GONE;
            f->why = arena_printf(a, "its pod %s was deleted; the API server does not say by whom",
                                  text_at(meta, "name"));
        }
        return;
    }
    f->removed = CAUSE_EVICTED;
    f->why =
        arena_printf(a, "%s%s%s%s", on_node(a, f->node), reason, *message ? ": " : "", message);
}

/* The node controller has not heard of the kubelet for a while: it sets Ready, and leaves alone
 * what only the kubelet knows. */
static bool is_out_of_sight(const struct node *pod)
{
    const struct node *status = node_get(pod, "status");

    if (condition_is(status, "Ready", "Unknown") || is(text_at(status, "reason"), "NodeLost"))
        return true;
    return condition_is(status, "Ready", "False") &&
           condition_is(status, "ContainersReady", "True") &&
           node_absent(node_get(pod, "spec"), "readinessGates");
}

/* --- its end ---------------------------------------------------------------------------------- */

static void how_it_ended(const struct node *terminated, struct ending *end)
{
    int64_t code = number_at(terminated, "exitCode", -1);

    *end = ENDING_UNKNOWN;
    if (code < 0)
        return;
    end->known = true;
    end->code = (int)code;
    if (code > 128 && code < 128 + NSIG) {
        end->signal = (int)code - 128;
        end->code = -1;
    }
    end->oom = is(text_at(terminated, "reason"), "OOMKilled");
}

/* The first init container that failed: then no other container was started. */
static void how_init_ended(const struct node *status, struct ending *end)
{
    const struct node *list = node_get(status, "initContainerStatuses");

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *t = node_find(list->items[i], "state", "terminated", NULL);

        if (!t || number_at(t, "exitCode", 0) == 0)
            continue;
        how_it_ended(t, end);
        (void)snprintf(end->init, sizeof(end->init), "%s", text_at(list->items[i], "name"));
        return;
    }
}

struct pod_facts pod_facts(struct arena *a, const struct node *pod)
{
    const struct node *status = node_get(pod, "status"), *c = container(pod);
    const struct node *terminated = node_find(c, "state", "terminated", NULL);
    const char *phase = text_at(status, "phase");
    struct pod_facts f = {.ip = text_at(status, "podIP"),
                          .node = text_at(node_get(pod, "spec"), "nodeName"),
                          .end = ENDING_UNKNOWN};

    who_removes_it(a, pod, &f);
    if (terminated || is(phase, "Failed") || is(phase, "Succeeded")) {
        f.stage = STAGE_ENDED;
        how_it_ended(terminated, &f.end);
        if (!terminated)
            how_init_ended(status, &f.end);
        return f;
    }
    if (node_find(c, "state", "running", NULL)) {
        f.stage = STAGE_RUNS;
        f.out_of_sight = is_out_of_sight(pod);
        return f;
    }
    f.stage = *f.node ? STAGE_STARTING : STAGE_PENDING;
    why_it_waits(a, pod, &f);
    return f;
}

/* --- events ----------------------------------------------------------------------------------- */

bool pod_news(const struct node *event, struct pod_news *ret)
{
    static const char *const told[] = {
        "FailedMount",      "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
        "TriggeredScaleUp", "NotTriggerScaleUp",  "Pulling",         "Pulled",
        "Scheduled"};
    const struct node *of = node_get(event, "involvedObject");

    *ret = (struct pod_news){.pod = text_at(of, "name"),
                             .reason = text_at(event, "reason"),
                             .message = text_at(event, "message")};
    if (!is(text_at(of, "kind"), "Pod"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(told); i++)
        if (is(ret->reason, told[i]))
            return true;
    return false;
}
