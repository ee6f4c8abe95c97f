/* ranks.c - what a launcher says of its ranks, and what the core makes of it. */
#include "operator/ranks.h"

#include "job/verdict.h"
#include "operator/test/objects.h"

static const struct operator_options plain = {.cluster_domain = "", .gang_scheduler = ""};
static const struct job_rules rules = {.grace_ms = 1000, .start_timeout_ms = 1000000};

#define END (1000 * NS_PER_S)

static const char job_text[] =
    "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: pi, namespace: n, uid: u}\n"
    "spec:\n  runPolicy: {backoffLimit: 0}\n  mpiReplicaSpecs:\n"
    "    Launcher: {template: {spec: {containers: [{name: l, image: i, command: [mpirun]}]}}}\n"
    "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}\n";

static const char failed[] =
    "{\"launches\":[{\"size\":4,\"program\":7,\"began\":5000,\"over\":20,\"ok\":1,\"failed\":1,"
    "\"stopped\":2,\"lost\":0,\"first\":[{\"rank\":3,\"host\":\"pi-worker-1\",\"ago\":30,\"code\":"
    "7}"
    "]}]}";

static void test_line(struct arena *a)
{
    is_str(ranks_line(a, "muster-ranks: {}"), "{}", "the line alone");
    is_str(ranks_line(a, "mine\nmuster-ranks: {\"a\":1}\n"), "{\"a\":1}", "after another");
    ok(!ranks_line(a, ""), "no message");
    ok(!ranks_line(a, "see muster-ranks: {}"), "not within a line");
}

/* --- what the core makes of it ---------------------------------------------------------------- */

static void fold(struct job *job, const struct observation *o)
{
    struct events events = {0};

    job_observe(job, o, &events);
    for (size_t i = 0; i < events.n; i++)
        job_apply(job, &events.v[i]);
    events_release(&events);
}

static void observe(void *ctx, const struct observation *o)
{
    fold(ctx, o);
}

/* A job whose launcher has said `line` and ended with `code`. */
static struct job *story(struct arena *a, const struct plan *plan, const char *line, int code)
{
    struct job *job = job_new(plan, &rules);
    struct observation end = {.kind = OBS_EXITED,
                              .at = END,
                              .attempt = 1,
                              .instance = 1,
                              .process = (uint32_t)plan->launcher,
                              .end = ENDING_UNKNOWN};

    (void)a;
    job_apply(job, &(struct event){.type = EVENT_CREATED, .at = NS_PER_S});
    job_apply(job, &(struct event){
                       .type = EVENT_START, .at = NS_PER_S, .process = (uint32_t)plan->launcher});
    fold(job, &(struct observation){.kind = OBS_STARTED,
                                    .at = 2 * NS_PER_S,
                                    .attempt = 1,
                                    .instance = 1,
                                    .process = (uint32_t)plan->launcher});
    ranks_observe(job, line, END, observe, job);
    end.end.known = true;
    end.end.code = code;
    end.end.at = END;
    fold(job, &end);
    return job;
}

static const char *cause_of(struct arena *a, const struct job *job)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct cause c = job_cause(job);

    verdict_cause(job, &c, &text);
    return arena_strndup(a, text.buf ? text.buf : "", text.len);
}

static void test_causes(struct arena *a)
{
    static const struct {
        const char *line;
        int code, exit_code;
        const char *cause, *name;
    } rows[] = {
        {failed, 7, 7, "rank 3 on worker-1 exited with status 7", "a rank that failed"},
        {failed, 0, 7, "rank 3 on worker-1 exited with status 7", "the launcher ended with 0"},
        {"{\"launches\":[{\"size\":4,\"began\":50,\"over\":2,\"first\":[]}]}", 0, 0, "",
         "nothing failed"},
        {"{\"launches\":[{\"size\":2,\"began\":50,\"over\":2,\"first\":[{\"rank\":1,\"host\":"
         "\"pi-worker-0\",\"ago\":5,\"signal\":11}]}]}",
         1, 139, "rank 1 on worker-0 was killed by SIGSEGV (segmentation fault)", "by a signal"},
        {"{\"launches\":[{\"size\":2,\"began\":50,\"over\":2,\"first\":[{\"rank\":0,\"host\":"
         "\"else\",\"ago\":5,\"exec\":2,\"code\":127}]}]}",
         1, 127, "rank 0 on launcher-0 could not execute its command: No such file or directory",
         "not executed, on a host of another name"},
        {"{\"launches\":[{\"size\":9,\"program\":1,\"began\":500,\"over\":300,\"first\":[{\"rank\":"
         "1,\"host\":\"pi-worker-0\",\"ago\":305,\"code\":4}]},{\"size\":4,\"program\":2,\"began\":"
         "200,\"over\":20,\"first\":[]}]}",
         0, 4, "rank 1 on worker-0 exited with status 4", "an earlier mpirun of another program"},
        {"{\"launches\":[{\"size\":0},{\"size\":4}]}", 0, 0, "", "nonsense is left out"},
        {"{\"launches\":[{\"size\":4,\"first\":[{\"rank\":77,\"code\":999}]}]}", 0, 125,
         "rank 0 on launcher-0 disappeared; how it ended is not known", "numbers out of range"},
        {"{\"launches\":7}", 3, 3, "launcher-0 exited with status 3", "no list"},
        {"", 3, 3, "launcher-0 exited with status 3", "no JSON"},
    };
    struct served s;

    serve(a, &plain, object_of(a, job_text), &s);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct job *job = story(a, s.plan, rows[i].line, rows[i].code);

        is_str(cause_of(a, job), rows[i].cause, "%s", rows[i].name);
        is_int(job_cause(job).exit_code, rows[i].exit_code, "%s: its exit code", rows[i].name);
        job_free(job);
    }
}

/* --- whose ranks are recorded ----------------------------------------------------------------- */

static bool records(struct arena *a, const char *notes, const char *launcher, const char *worker)
{
    struct served s;

    serve(
        a, &plain,
        object_of(a, arena_printf(a,
                                  "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n"
                                  "metadata: {name: pi, namespace: n, uid: u%s}\nspec:\n"
                                  "  mpiReplicaSpecs:\n"
                                  "    Launcher: {template: {spec: {containers: [{name: l, image: "
                                  "i%s}]}}}\n"
                                  "    Worker: {replicas: 1, template: {spec: {containers: [{name:"
                                  " w, image: i}]%s}}}\n",
                                  notes, launcher, worker)),
        &s);
    return s.records;
}

static void test_wanted(struct arena *a)
{
    static const char cmd[] = ", command: [mpirun]";

    ok(records(a, "", cmd, ""), "ranks of an MPIJob are recorded");
    ok(!records(a, ", annotations: {muster.internal/rank-records: \"false\"}", cmd, ""),
       "unless an annotation says no");
    ok(!records(a, "", "", ""), "or the launcher's command is its image's");
    ok(!records(a, "", ", args: [a]", ""), "or that with other arguments");
    ok(!records(a, "", cmd, ", os: {name: windows}"), "or its workers are of another system");
    ok(!records(a, "", cmd, ", nodeSelector: {kubernetes.io/arch: riscv64}"), "or machine");
    ok(records(a, "", cmd, ", nodeSelector: {kubernetes.io/os: linux}"), "said so");
    ok(!records(a, "", cmd, ", volumes: [{name: muster-agent, emptyDir: {}}]"),
       "or something of theirs is where ours would be");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_line(a);
    test_causes(a);
    test_wanted(a);
    return tap_done();
}
