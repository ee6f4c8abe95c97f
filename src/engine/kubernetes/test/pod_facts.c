/* pod_facts.c - objects as an API server of Kubernetes 1.34 sends them, and what is known of them.
 */
#include "engine/kubernetes/pod_facts.h"

#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/tap.h"
#include "doc/json_read.h"

#define SPEC                                                                                       \
    "\"metadata\":{\"name\":\"p\"%s},\"spec\":{%s\"initContainers\":[{\"name\":\"i\",\"image\":"   \
    "\"tools:1\"}],\"containers\":[{\"name\":\"c\",\"image\":\"reg/train:1\"}]}"

struct row {
    const char *what;
    const char *meta, *spec, *status; /* meta: after the name; spec: before its containers */
    enum pod_stage stage;
    enum cause_kind fate;
    enum pod_trouble trouble;
    const char *waits; /* NULL: not said */
    enum cause_kind removed;
    const char *why;
    bool unseen;
};

#define NODE "\"nodeName\":\"n2\","
#define DELETED ",\"deletionTimestamp\":\"2026-11-18T01:00:00Z\",\"deletionGracePeriodSeconds\":30"
#define RUNNING                                                                                    \
    "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"running\":{}}}]"
#define WAITING(reason, message)                                                                   \
    "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}],"      \
    "\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"waiting\":{\"reason\":\"" reason          \
    "\",\"message\":\"" message "\"}}}]"
#define TARGET(reason, message)                                                                    \
    ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"" reason     \
    "\",\"message\":\"" message "\"}]"
#define READY(ready, containers)                                                                   \
    ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready                                     \
    "\"},{\"type\":\"ContainersReady\","                                                           \
    "\"status\":\"" containers "\"}]"

static const struct row rows[] = {
    {"new", "", "", "\"phase\":\"Pending\"", STAGE_PENDING, 0, 0, NULL, 0, NULL, false},
    {"unschedulable", "", "",
     "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
     "\"reason\":\"Unschedulable\",\"message\":\"0/3 nodes are available: 3 Insufficient "
     "nvidia.com/gpu.\"}]",
     STAGE_PENDING, CAUSE_UNSCHEDULABLE, 0,
     "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", 0, NULL, false},
    {"being created", "", NODE, WAITING("ContainerCreating", ""), STAGE_STARTING, 0, 0, NULL, 0,
     NULL, false},
    {"a pull that failed", "", NODE,
     WAITING("ErrImagePull", "rpc error: code = NotFound desc = failed to pull and unpack image "
                             "\\\"reg/train:1\\\": not found"),
     STAGE_STARTING, CAUSE_IMAGE, TROUBLE_PULL,
     "reg/train:1: failed to pull and unpack image \"reg/train:1\": not found", 0, NULL, false},
    {"between two pulls", "", NODE,
     WAITING("ImagePullBackOff", "Back-off pulling image \\\"reg/train:1\\\": ErrImagePull: rpc "
                                 "error: code = NotFound desc = reg/train:1: not found"),
     STAGE_STARTING, CAUSE_IMAGE, TROUBLE_PULL, "reg/train:1: reg/train:1: not found", 0, NULL,
     false},
    {"between two pulls, before 1.31", "", NODE,
     WAITING("ImagePullBackOff", "Back-off pulling image \\\"reg/train:1\\\""), STAGE_STARTING,
     CAUSE_IMAGE, TROUBLE_PULL, "reg/train:1: Back-off pulling image \"reg/train:1\"", 0, NULL,
     false},
    {"an image's name that is none", "", NODE,
     WAITING("InvalidImageName", "Failed to apply default image tag \\\"UPPER\\\""), STAGE_STARTING,
     CAUSE_IMAGE, TROUBLE_FOREVER, "reg/train:1: Failed to apply default image tag \"UPPER\"", 0,
     NULL, false},
    {"an image that may not be pulled", "", NODE, WAITING("ErrImageNeverPull", "not present"),
     STAGE_STARTING, CAUSE_IMAGE, TROUBLE_FOREVER, "reg/train:1: not present", 0, NULL, false},
    {"an init container's image", "", NODE,
     "\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"waiting\":{"
     "\"reason\":\"ErrImagePull\",\"message\":\"denied\"}}}],\"containerStatuses\":[{\"name\":"
     "\"c\","
     "\"state\":{\"waiting\":{\"reason\":\"PodInitializing\"}}}]",
     STAGE_STARTING, CAUSE_IMAGE, TROUBLE_PULL, "tools:1: denied", 0, NULL, false},
    {"a secret that is missing", "", NODE,
     WAITING("CreateContainerConfigError", "secret \\\"s\\\" not found"), STAGE_STARTING, 0, 0,
     "CreateContainerConfigError: secret \"s\" not found", 0, NULL, false},
    {"running", "", NODE, RUNNING READY("True", "True"), STAGE_RUNS, 0, 0, NULL, 0, NULL, false},
    {"not ready yet", "", NODE, RUNNING READY("False", "False"), STAGE_RUNS, 0, 0, NULL, 0, NULL,
     false},
    {"its node is lost", "", NODE, RUNNING READY("False", "True"), STAGE_RUNS, 0, 0, NULL, 0, NULL,
     true},
    {"its node is lost, in other words", "", NODE, RUNNING READY("Unknown", "True"), STAGE_RUNS, 0,
     0, NULL, 0, NULL, true},
    {"a gate is not open", "", NODE "\"readinessGates\":[{\"conditionType\":\"x\"}],",
     RUNNING READY("False", "True"), STAGE_RUNS, 0, 0, NULL, 0, NULL, false},
    {"deleted by somebody", DELETED, NODE, RUNNING, STAGE_RUNS, 0, 0, NULL, CAUSE_GONE,
     "its pod p was deleted; the API server does not say by whom", false},
    {"drained", DELETED, NODE, RUNNING TARGET("EvictionByEvictionAPI", "Eviction API: evicting"),
     STAGE_RUNS, 0, 0, NULL, CAUSE_EVICTED,
     "on node n2, EvictionByEvictionAPI: Eviction API: evicting", false},
    {"preempted, not deleted yet", "", NODE,
     RUNNING TARGET("PreemptionByScheduler", "preempting to accommodate a higher priority pod"),
     STAGE_RUNS, 0, 0, NULL, CAUSE_EVICTED,
     "on node n2, PreemptionByScheduler: preempting to accommodate a higher priority pod", false},
    {"evicted by its node", "", NODE,
     "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: "
     "memory.\"",
     STAGE_ENDED, 0, 0, NULL, CAUSE_EVICTED,
     "on node n2, Evicted: The node was low on resource: memory.", false},
    {"a node that had no room after all", "", NODE,
     "\"phase\":\"Failed\",\"reason\":\"OutOfcpu\",\"message\":\"Pod was rejected\"", STAGE_ENDED,
     0, 0, NULL, CAUSE_EVICTED, "on node n2, OutOfcpu: Pod was rejected", false},
};

static const struct node *object(struct arena *a, const char *meta, const char *spec,
                                 const char *status)
{
    const char *head = arena_printf(a, SPEC, meta, spec);
    const char *text = arena_printf(a, "{%s,\"status\":{%s}}", head, status);

    return json_node(a, text, strlen(text));
}

static void test_rows(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *r = &rows[i];
        const struct pod_facts f = pod_facts(a, object(a, r->meta, r->spec, r->status));

        is_int(f.stage, r->stage, "%s: its stage", r->what);
        is_int(f.fate, r->fate, "%s: what becomes of it", r->what);
        is_int(f.trouble, r->trouble, "%s: whether it is tried again", r->what);
        is_str(f.waits, r->waits, "%s: what it waits for", r->what);
        is_int(f.removed, r->removed, "%s: whether it is removed", r->what);
        is_str(f.why, r->why, "%s: by whom", r->what);
        is_int(f.out_of_sight, r->unseen, "%s: %s sight", r->what, r->unseen ? "out of" : "in");
    }
}

static void test_ends(struct arena *a)
{
#define ENDED(how)                                                                                 \
    "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{" how "}}]"
    static const struct {
        const char *what, *status;
        bool known, oom;
        int code, signal;
        const char *init;
    } ends[] = {
        {"a code", ENDED("\"terminated\":{\"exitCode\":3}"), true, false, 3, 0, ""},
        {"a signal", ENDED("\"terminated\":{\"exitCode\":139}"), true, false, -1, SIGSEGV, ""},
        {"out of memory", ENDED("\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}"), true,
         true, -1, SIGKILL, ""},
        {"nobody knows", "\"phase\":\"Failed\"", false, false, -1, 0, ""},
        {"an init container",
         "\"phase\":\"Failed\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{"
         "\"terminated\":{"
         "\"exitCode\":4}}}]",
         true, false, 4, 0, "i"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        const struct pod_facts f = pod_facts(a, object(a, "", NODE, ends[i].status));

        is_int(f.stage, STAGE_ENDED, "%s: it has ended", ends[i].what);
        is_int(f.end.known, ends[i].known, "%s: known", ends[i].what);
        is_int(f.end.oom, ends[i].oom, "%s: memory", ends[i].what);
        is_int(f.end.code, ends[i].code, "%s: code", ends[i].what);
        is_int(f.end.signal, ends[i].signal, "%s: signal", ends[i].what);
        is_str(f.end.init, ends[i].init, "%s: where", ends[i].what);
    }
}

static void test_grace(struct arena *a)
{
    const struct pod_facts f = pod_facts(a, object(a, DELETED, NODE, RUNNING));
    const struct pod_facts none = pod_facts(a, json_node(a, "{}", 2));

    is_int((int)f.grace_s, 30, "a deletion has its time");
    is_int(none.stage, STAGE_PENDING, "an object without anything");
}

static void test_news(struct arena *a)
{
#define EVENT(kind, reason)                                                                        \
    "{\"involvedObject\":{\"kind\":\"" kind "\",\"name\":\"p\"},\"reason\":\"" reason              \
    "\",\"message\":\"m\"}"
    static const struct {
        const char *text;
        bool told;
    } events[] = {{EVENT("Pod", "FailedMount"), true},
                  {EVENT("Pod", "TriggeredScaleUp"), true},
                  {EVENT("Pod", "Created"), false},
                  {EVENT("Job", "FailedMount"), false}};
    struct pod_news news;

    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        const char *text = events[i].text;

        is_int(pod_news(json_node(a, text, strlen(text)), &news), events[i].told, "%s", text);
    }
    (void)pod_news(json_node(a, events[0].text, strlen(events[0].text)), &news);
    is_str(news.pod, "p", "whose it is");
    is_str(news.message, "m", "and what it says");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_rows(a);
    test_ends(a);
    test_grace(a);
    test_news(a);
    return tap_done();
}
