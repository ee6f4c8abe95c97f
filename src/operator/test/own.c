/* own.c - MusterJobs: the objects that the engine makes of them (t/operator/NAME.yaml and
 * NAME.objects; MUSTER_GOLDEN=1 writes these), what is refused, and the status in each phase.
 */
#include <stdlib.h>

#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/yaml_write.h"
#include "engine/kubernetes/objects.h"
#include "operator/own_status.h"
#include "operator/test/objects.h"

static const struct operator_options options = {.cluster_domain = "", .gang_scheduler = ""};
static const struct operator_options volcano = {.cluster_domain = "", .gang_scheduler = "volcano"};
static const struct operator_options plugins = {.cluster_domain = "",
                                                .gang_scheduler = "scheduler-plugins-scheduler"};

/* --- objects ---------------------------------------------------------------------------------- */

static void write_objects(struct arena *a, const struct served *s, struct strbuf *out)
{
    const struct plan *plan = s->plan;
    const struct kube_owner owner = {s->api_version, s->kind->kind, s->name, s->uid};
    const struct kube_run run = {
        .plan = plan, .name = plan->facts->site.service, .uid = s->uid, .owner = &owner};

    strbuf_addf(out, "# %s\n---\n", kube_selector(a, &run));
    yaml_write(out, kube_service(a, &run));
    strbuf_addstr(out, "---\n");
    yaml_write(out, kube_shim_map(a, &run, "shim", 4));
    if (plan->facts->site.gang) {
        strbuf_addstr(out, "---\n");
        yaml_write(out, kube_pod_group(a, &run));
    }
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        strbuf_addstr(out, "---\n");
        yaml_write(out, kube_pod(a, &run, &plan->replicas[i], 1, 1));
    }
}

static void test_goldens(struct arena *a)
{
    static const struct {
        const char *name, *objects;
        const struct operator_options *options;
    } rows[] = {
        {"musterjob-openpai", "musterjob-openpai", &options},
        {"musterjob-mpi", "musterjob-mpi", &options},
        {"musterjob-gang", "musterjob-gang", &volcano},
        {"musterjob-gang", "musterjob-gang-plugins", &plugins},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
        const char *path = arena_printf(a, "t/operator/%s.objects", rows[i].objects);
        struct served s;
        struct err e = {0};

        serve(a, rows[i].options, object_in(a, arena_printf(a, "t/operator/%s.yaml", rows[i].name)),
              &s);
        ok(s.plan != NULL, "%s: it is served%s%s", rows[i].objects, s.invalid ? ": " : "",
           s.invalid ? s.invalid : "");
        if (!s.plan)
            continue;
        write_objects(a, &s, &got);
        if (getenv("MUSTER_GOLDEN"))
            io_write_atomic(AT_FDCWD, path, got.buf, got.len, &e);
        io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &want, &e);
        is_str(got.buf, want.buf ? want.buf : e.text, "%s: its objects", rows[i].objects);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

static const char *refusal(struct arena *a, const char *notes, const char *spec)
{
    const char *text = arena_printf(
        a,
        "{\"apiVersion\":\"" OWN_API_VERSION "\",\"kind\":\"" OWN_KIND
        "\",\"metadata\":{\"name\":\"x\",\"uid\":\"123456\",\"annotations\":{%s}},\"spec\":%s}",
        notes, spec);
    struct served s;
    struct err e;

    if (served_read(a, &served_kinds[n_served_kinds - 1], &options,
                    json_node(a, text, strlen(text)), NULL, &s, &e) < 0)
        return arena_strdup(a, e.text);
    return s.plan ? "" : s.invalid;
}

static void test_refusals(struct arena *a)
{
    is_str(refusal(a, "", "{\"roles\":{\"w\":{\"image\":\"i\",\"command\":\"x\"}}}"), "", "a job");
    is_str(refusal(a, "", "{\"roles\":{\"w\":{\"command\":\"x\"}}}"),
           "role w has no container image, which a pod requires; use --image '*=IMAGE'",
           "no image");
    is_str(refusal(a, "", "{\"roles\":{\"w\":{\"image\":\"i\"}}}"),
           "role w has no command; the entry point of its image is not known to the operator",
           "no command");
    is_str(
        refusal(a, "", "{\"roles\":{\"w\":{\"image\":\"i\",\"command\":\"x\",\"replicas\":1001}}}"),
        "the job has 1001 processes; the limit of a MusterJob is 1000", "too many processes");
    ok(strstr(refusal(a, "",
                      "{\"platform\":\"azureml\",\"roles\":{\"node\":{\"image\":\"i\","
                      "\"command\":\"x\",\"workdir\":\"/etc\"}}}"),
              "/etc is on the machine of the job file"),
       "a directory is never read from the operator's machine");
    is_str(refusal(a, "\"" OWN_CODE "\":\"x-code\"",
                   "{\"platform\":\"azureml\",\"roles\":{\"node\":{\"image\":\"i\","
                   "\"command\":\"x\",\"workdir\":\"/etc\"}}}"),
           "", "with a ConfigMap it is not needed");
    ok(strstr(refusal(a, "\"" OWN_CLAIMS "\":\"none=x\"",
                      "{\"roles\":{\"w\":{\"image\":\"i\",\"command\":\"x\"}}}"),
              "no volume, input or output"),
       "a claim for nothing");
}

/* --- status ----------------------------------------------------------------------------------- */

static const char *status_of(struct arena *a, const struct job *job, const char *refused)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);

    own_status(job, 3, refused, &j);
    return arena_strndup(a, text.buf, text.len);
}

static void test_status(struct arena *a)
{
    static const struct job_rules rules = {.grace_ms = 1000};
    struct served s;
    struct job *job;

    serve(a, &options, object_in(a, "t/operator/musterjob-openpai.yaml"), &s);
    job = job_new(s.plan, &rules);
    ok(strstr(status_of(a, job, NULL), "\"observedGeneration\":3,\"phase\":\"Pending\""),
       "pending");
    ok(strstr(status_of(a, job, "no right"), "\"waiting\":\"no right\""), "what keeps it waiting");
    ok(strstr(status_of(a, job, NULL), "\"jobStatus\""), "the words of its platform");
    job->phase = JOB_ENDED;
    job->outcome = OUTCOME_FAILED;
    job->exit_code = 7;
    job->running_at = job->ended = INT64_C(1700000000) * NS_PER_S;
    job->cause = (struct cause){.kind = CAUSE_EXIT,
                                .replica = 1,
                                .rank = -1,
                                .process = 1,
                                .launch = -1,
                                .end = {.known = true, .code = 7},
                                .exit_code = 7};
    const char *text = status_of(a, job, NULL);
    ok(strstr(text, "\"phase\":\"Failed\""), "failed");
    ok(strstr(text, "\"cause\":{\"replica\":\"worker-1\",\"role\":\"worker\",\"index\":1,"
                    "\"kind\":\"exit\",\"exitCode\":7,"),
       "the cause");
    ok(strstr(text, "\"completionTime\":\"2023-11-14T22:13:20Z\""), "whole seconds");
    ok(strstr(text, "\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"Failed\",\"message\":"
                    "\"failed: worker-1 exited with status 7"),
       "the condition has the verdict");
    job_free(job);
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_goldens(a);
    test_refusals(a);
    test_status(a);
    return tap_done();
}
