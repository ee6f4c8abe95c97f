/* lives.c - pods as an API server sends them, and what is known of the lives of their container. */
#include "operator/lives.h"

#include <signal.h>
#include <string.h>

#include "base/tap.h"
#include "doc/json_read.h"

#define CODE(n) "{\"terminated\":{\"exitCode\":" n ",\"finishedAt\":\"2026-11-18T08:00:05Z\"}}"
#define RUNNING "{\"running\":{}}"

static const struct row {
    const char *what, *phase, *state, *last;
    int restarts;
    enum pod_stage stage;
    bool over;
    int code, signal, code_before; /* -1: none */
} rows[] = {
    {"new", "Pending", "{\"waiting\":{}}", "{}", 0, STAGE_STARTING, false, -1, 0, -1},
    {"runs", "Running", RUNNING, "{}", 0, STAGE_RUNS, false, -1, 0, -1},
    {"succeeded", "Succeeded", CODE("0"), "{}", 0, STAGE_ENDED, true, 0, 0, -1},
    {"failed", "Failed", CODE("7"), "{}", 0, STAGE_ENDED, true, 7, 0, -1},
    {"killed", "Failed", CODE("137"), "{}", 0, STAGE_ENDED, true, -1, SIGKILL, -1},
    {"failed, soon again", "Running", CODE("7"), "{}", 0, STAGE_ENDED, false, 7, 0, -1},
    {"waits to be started again", "Running", "{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}",
     CODE("7"), 1, STAGE_STARTING, false, -1, 0, 7},
    {"was started again", "Running", RUNNING, CODE("9"), 2, STAGE_RUNS, false, -1, 0, 9},
};

static const struct node *pod(struct arena *a, const struct row *r)
{
    const char *text = arena_printf(
        a,
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"muster.internal/start\":\"2.3\"}},"
        "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"side\"},{\"name\":\"main\"}]},"
        "\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"side\",\"restartCount\":8,"
        "\"state\":" RUNNING "},{\"name\":\"main\",\"restartCount\":%d,\"state\":%s,"
        "\"lastState\":%s}]}}",
        r->phase, r->restarts, r->state, r->last);

    return json_node(a, text, strlen(text));
}

static void check(const struct row *r)
{
    auto_arena struct arena *a = arena_new();
    struct life life = pod_life(a, pod(a, r), "main");

    is_int(life.stage, r->stage, "%s: stage", r->what);
    is_int(life.over, r->over, "%s: over", r->what);
    is_int(life.restarts, r->restarts, "%s: of the main container", r->what);
    ok(life.attempt == 2 && life.instance == 3, "%s: its first start", r->what);
    if (r->stage == STAGE_ENDED) {
        is_int(life.end.code, r->code, "%s: code", r->what);
        is_int(life.end.signal, r->signal, "%s: signal", r->what);
    }
    if (r->code_before >= 0)
        is_int(life.before.code, r->code_before, "%s: how the life before ended", r->what);
}

static void test_times(void)
{
    ns_t at = clock_of_rfc3339("2026-11-18T08:00:05Z");
    struct life_end end = {.at = at, .known = true, .code = 7};

    is_int(at, INT64_C(1794988805) * NS_PER_S, "a time of Kubernetes");
    is_int(life_ending(&end, at + 60 * NS_PER_S).at, at, "long ago: by the cluster's clock");
    is_int(life_ending(&end, at + NS_PER_S).at, at + NS_PER_S, "just now: by ours");
}

static void test_init(void)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"main\"}]},\"status\":"
        "{"
        "\"phase\":\"Failed\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":" CODE(
            "3") "}]}}";
    auto_arena struct arena *a = arena_new();
    struct life life = pod_life(a, json_node(a, text, strlen(text)), NULL);

    ok(life.stage == STAGE_ENDED && life.end.init && life.end.code == 3, "an init container");
    is_int(life.instance, 0, "no annotation");
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i]);
    test_times();
    test_init();
    return tap_done();
}
