/* review.c - what the webhook says to the API server, and the patch that makes itself known. */
#include "operator/review.h"

#include <string.h>

#include "base/tap.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
#include "operator/webhook.h"

#define TEMPLATE(name)                                                                             \
    "{\"spec\":{\"containers\":[{\"name\":\"" name "\",\"image\":\"i\",\"command\":[\"true\"]}]}}"
#define ROLE(n) "{\"replicas\":" n ",\"template\":" TEMPLATE("c") "}"
#define MPI(meta, workers, more)                                                                   \
    "{\"apiVersion\":\"kubeflow.org/v2beta1\",\"kind\":\"MPIJob\",\"metadata\":{" meta "},"        \
    "\"spec\":{" more                                                                              \
    "\"mpiReplicaSpecs\":{\"Launcher\":" ROLE("1") ",\"Worker\":" ROLE(workers) "}}}"
#define T9K(more)                                                                                  \
    "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"MPIJob\",\"metadata\":{"         \
    "\"name\":\"m\",\"namespace\":\"a\"},\"spec\":{" more "\"mpiConfig\":{\"script\":[\"true\"]}," \
    "\"replicaSpecs\":[{\"type\":\"launcher\",\"template\":" TEMPLATE(                             \
        "launcher") "},{\"type\":\"worker\",\"replicas\":1,\"template\":" TEMPLATE("worker") "}]}" \
                                                                                             "}"
#define NAME "\"name\":\"pi\",\"namespace\":\"a\""
#define REQUEST(group, version, operation, rest)                                                   \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"           \
    "\"uid\":\"u-1\",\"namespace\":\"a\",\"resource\":{\"group\":\"" group                         \
    "\",\"version\":\"" version "\",\"resource\":\"mpijobs\"},\"requestKind\":{\"group\":\"" group \
    "\",\"version\":\"" version "\",\"kind\":\"MPIJob\"},\"operation\":\"" operation "\"," rest    \
    "}}"
#define CREATE(object) REQUEST("kubeflow.org", "v2beta1", "CREATE", "\"object\":" object)
#define UPDATE(old, object)                                                                        \
    REQUEST("kubeflow.org", "v2beta1", "UPDATE", "\"object\":" object ",\"oldObject\":" old)
#define T9K_UPDATE(old, object)                                                                    \
    REQUEST("batch.tensorstack.dev", "v1beta1", "UPDATE",                                          \
            "\"object\":" object ",\"oldObject\":" old)

#define ALLOWED                                                                                    \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":"  \
    "\"u-1\",\"allowed\":true}}"
#define DENIED(text)                                                                               \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":"  \
    "\"u-1\",\"allowed\":false,\"status\":{\"code\":422,\"reason\":\"Invalid\",\"message\":" text  \
    "}}}"

static char answer_text[8192];

static const char *answer(const char *only, const char *body)
{
    static const struct operator_options options = {.cluster_domain = "", .gang_scheduler = ""};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct err e;

    if (review_answer(&options, only, body, strlen(body), &out, &e) < 0)
        (void)snprintf(answer_text, sizeof(answer_text), "%s", e.text);
    else
        (void)snprintf(answer_text, sizeof(answer_text), "%s", out.buf);
    return answer_text;
}

static void creations(void)
{
    is_str(answer(NULL, CREATE(MPI(NAME, "2", ""))), ALLOWED, "a job");
    is_str(answer(NULL, CREATE(MPI("\"generateName\":\"pi-\",\"namespace\":\"a\"", "2", ""))),
           ALLOWED, "one that the API server will name");
    has(answer(NULL, CREATE(MPI(NAME, "0", ""))), "\"allowed\":false", "without workers");
    has(answer_text, "spec.mpiReplicaSpecs.Worker.replicas: ", "the place is named");
    has(answer(NULL, CREATE(MPI(NAME, "2", "\"slotsPerWorkr\":2,"))), "slotsPerWorker",
        "an unknown key: the nearest is named");
    is_str(answer("b", CREATE(MPI(NAME, "0", ""))), ALLOWED, "of another operator's namespace");
    is_str(
        answer(NULL, CREATE(MPI(NAME, "0",
                                "\"runPolicy\":{\"managedBy\":\"kueue.x-k8s.io/multikueue\"},"))),
        ALLOWED, "of another controller");
    is_str(answer(NULL, REQUEST("kubeflow.org", "v1", "CREATE",
                                "\"subResource\":\"scale\",\"object\":{\"kind\":\"Scale\"}")),
           ALLOWED, "of a subresource");
    is_str(answer(NULL, REQUEST("example.com", "v1", "CREATE", "\"object\":{}")), ALLOWED,
           "of a kind that is not ours");
}

static void updates(void)
{
    is_str(answer(NULL, UPDATE(MPI(NAME, "0", ""), MPI(NAME, "0", ""))), ALLOWED,
           "an invalid one may have its labels changed");
    is_str(answer(NULL, UPDATE(MPI(NAME, "2", ""), MPI(NAME, "3", ""))), ALLOWED,
           "another number of workers");
    has(answer(NULL, UPDATE(MPI(NAME, "2", ""), MPI(NAME, "0", ""))), "\"allowed\":false",
        "one that becomes invalid");
    is_str(
        answer(NULL, UPDATE(MPI(NAME, "2", ""),
                            MPI(NAME ",\"deletionTimestamp\":\"2026-11-18T00:00:00Z\"", "0", ""))),
        ALLOWED, "one that is being deleted may lose its finalizers");
    is_str(
        answer(NULL,
               UPDATE(MPI(NAME, "2", "\"runPolicy\":{\"schedulingPolicy\":{\"queue\":\"a\"}},"),
                      MPI(NAME, "2", "\"runPolicy\":{\"schedulingPolicy\":{\"queue\":\"b\"}},"))),
        DENIED("\"spec.runPolicy.schedulingPolicy.queue is immutable\""), "another queue");
    is_str(answer(NULL, UPDATE(MPI(NAME, "2", ""),
                               MPI(NAME, "2",
                                   "\"runPolicy\":{\"schedulingPolicy\":{\"queue\":\"b\"}},"))),
           ALLOWED, "a queue where there was none, as upstream's rule has it");
}

/* Seed rule 4.27. */
static void resume_specs(void)
{
#define PAUSE(enabled, command)                                                                    \
    "\"runMode\":{\"pause\":{\"enabled\":" enabled                                                 \
    ",\"resumeSpecs\":[{\"type\":\"worker\",\"command\":[\"" command "\"]}]}},"
    static const char denied[] = DENIED("\"spec.runMode.pause.resumeSpecs is immutable\"");

    is_str(answer(NULL, T9K_UPDATE(T9K(PAUSE("true", "a")), T9K(PAUSE("false", "b")))), denied,
           "4.27: resumeSpecs cannot be changed");
    is_str(answer(NULL, T9K_UPDATE(T9K(PAUSE("true", "a")),
                                   T9K("\"runMode\":{\"pause\":{\"enabled\":false}},"))),
           denied, "4.27: nor be removed");
    is_str(answer(NULL, T9K_UPDATE(T9K(""), T9K(PAUSE("true", "b")))), denied,
           "4.27: nor be added");
    is_str(answer(NULL, T9K_UPDATE(T9K(PAUSE("true", "a")), T9K(PAUSE("false", "a")))), ALLOWED,
           "enabled can be changed");
}

#define OWN(status, replicas, pause)                                                               \
    "{\"apiVersion\":\"muster.internal/v1\",\"kind\":\"MusterJob\",\"metadata\":{" NAME "},"       \
    "\"status\":{" status "},\"spec\":{\"pause\":" pause ",\"roles\":{\"w\":{\"image\":\"i\","     \
    "\"command\":\"true\",\"replicas\":" replicas "}}}}"
#define OWN_UPDATE(old, object)                                                                    \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"           \
    "\"uid\":\"u-1\",\"namespace\":\"a\",\"resource\":{\"group\":\"muster.internal\","             \
    "\"version\":\"v1\",\"resource\":\"musterjobs\"},\"requestKind\":{\"version\":\"v1\"},"        \
    "\"operation\":\"UPDATE\",\"object\":" object ",\"oldObject\":" old "}}"

/* A job of our own kind that has begun can be paused, and nothing else. */
static void own_updates(void)
{
    is_str(answer(NULL, OWN_UPDATE(OWN("\"phase\":\"Running\"", "1", "false"),
                                   OWN("\"phase\":\"Running\"", "1", "true"))),
           ALLOWED, "a MusterJob is paused");
    is_str(answer(NULL, OWN_UPDATE(OWN("\"phase\":\"Running\"", "1", "false"),
                                   OWN("\"phase\":\"Running\"", "2", "false"))),
           DENIED("\"spec is immutable once the job has begun, except spec.pause\""),
           "one that runs keeps its spec");
    is_str(answer(NULL, OWN_UPDATE(OWN("\"phase\":\"Invalid\"", "1", "false"),
                                   OWN("\"phase\":\"Invalid\"", "2", "false"))),
           ALLOWED, "one that was invalid is mended");
    ok(strstr(answer(NULL, OWN_UPDATE(OWN("", "1", "false"), OWN("", "-2", "false"))),
              "spec.roles.w.replicas: `replicas`"),
       "one that is invalid is refused");
}

static void nonsense(void)
{
    static const char want[] = "the body is not an AdmissionReview with a request";

    is_str(answer(NULL, ""), want, "nothing");
    is_str(answer(NULL, "{\"request\":{}}"), want, "without a uid");
    is_str(answer(NULL, "{\"request\":{\"uid\":\"x\""), want, "cut");
    is_str(answer(NULL, "{\"request\":7}"), want, "no mapping");
}

static void patches(void)
{
    static const char has_none[] = "{\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"Zm9v\"}},"
                                   "{\"clientConfig\":{\"service\":{}}}]}";
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf out = STRBUF_INIT;
    const struct node *patch = webhook_patch(a, json_node(a, has_none, strlen(has_none)), "Zm9v");

    json_write(&out, patch);
    is_str(out.buf,
           "[{\"op\":\"add\",\"path\":\"/webhooks/1/clientConfig/caBundle\",\"value\":\"Zm9v\"}]",
           "the one without a bundle gets it");
    ok(!webhook_patch(a, json_node(a, "{\"webhooks\":[]}", 15), "x"), "nothing is to be changed");
}

int main(void)
{
    creations();
    updates();
    resume_specs();
    own_updates();
    nonsense();
    patches();
    return tap_done();
}
