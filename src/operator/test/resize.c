/* resize.c - the state of a job moves to a plan with other replicas. */
#include "operator/resize.h"

#include "job/snapshot.h"
#include "operator/test/objects.h"

static const struct operator_options options = {.cluster_domain = "", .gang_scheduler = ""};
static const struct job_rules rules = {.grace_ms = 1};

static const struct plan *plan_of(struct arena *a, int workers)
{
    struct served s;

    serve(a, &options,
          object_of(a, arena_printf(a,
                                    "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: d, "
                                    "namespace: n, uid: u}\nspec:\n  enableDynamicWorker: true\n"
                                    "  tfReplicaSpecs:\n"
                                    "    Worker: {replicas: %d, template: {spec: {containers: "
                                    "[{name: tensorflow, image: i, command: [x]}]}}}\n"
                                    "    PS: {replicas: 1, template: {spec: {containers: "
                                    "[{name: tensorflow, image: i, command: [x]}]}}}\n",
                                    workers)),
          &s);
    return s.plan;
}

int main(void)
{
    auto_arena struct arena *a = arena_new();
    const struct plan *two = plan_of(a, 2), *three = plan_of(a, 3);
    auto_strbuf struct strbuf more = STRBUF_INIT, fewer = STRBUF_INIT, again = STRBUF_INIT;
    struct job *job;
    struct err e = {0};

    if (!ok(two && three, "plans"))
        return tap_done();
    ok(resize_is_same(two, two) && !resize_is_same(two, three), "what is the same");
    is_int(resize_replica(two, three, 2), 3, "the parameter server has another place");
    is_int(resize_replica(three, two, 2), -1, "the third worker has none");

    resize_snapshot(two, three,
                    "{\"snapshot\":1,\"past\":0,\"created\":7,\"phase\":1,\"begun\":true,"
                    "\"first_failed\":2}\n"
                    "{\"process\":1,\"state\":2,\"started\":9,\"restarts\":3}\n"
                    "{\"process\":2,\"state\":2,\"started\":8}\n"
                    "{\"replica\":2,\"gate\":0,\"why\":\"x\"}\n",
                    &more);
    if (is_int(job_load(three, &rules, more.buf, more.len, &job, &e), 0, "it can be loaded")) {
        is_int(job->procs[3].started, 8, "the parameter server runs");
        is_int(job->procs[1].restarts, 3, "a worker has been restarted");
        is_int(job->procs[2].state, PROC_PENDING, "and there is a new one");
        is_int(job->first_failed, 3, "who failed first");
        job_save(job, &again);
        job_free(job);
    } else {
        tap_diag("%s", e.text);
    }
    resize_snapshot(three, two, again.buf, &fewer);
    if (is_int(job_load(two, &rules, fewer.buf, fewer.len, &job, &e), 0, "and back")) {
        is_int(job->procs[2].started, 8, "the parameter server runs");
        is_int(job->first_failed, 2, "who failed first");
        job_free(job);
    }
    return tap_done();
}
