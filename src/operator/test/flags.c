/* flags.c - command lines of this operator and of those that it replaces. */
#include "operator/flags.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/tap.h"

#define PARSE(f, e, ...)                                                                           \
    flags_parse(ARRAY_SIZE(((const char *const[]){"operator", __VA_ARGS__})),                      \
                (const char *const[]){"operator", __VA_ARGS__}, f, e)

static void ours(void)
{
    struct operator_flags f;
    struct err e;

    is_int(PARSE(&f, &e, "--namespace", "a", "--gang-scheduling=volcano", "-cluster-domain",
                 "cluster.local", "-lock-namespace=b"),
           0, "both dashes, both ways to give a value");
    is_str(f.namespace_, "a", "--namespace");
    is_str(f.gang_scheduler, "volcano", "--gang-scheduling");
    is_str(f.cluster_domain, "cluster.local", "-cluster-domain");
    is_str(f.lock_namespace, "b", "-lock-namespace");
    is_int(f.ignored.n, 0, "nothing is ignored");
    flags_release(&f);
    is_int(PARSE(&f, &e, "--namespace="), 0, "an empty value");
    is_str(f.namespace_, "", "is a value");
    flags_release(&f);
    is_int(PARSE(&f, &e, "--enable-scheme=tfjob", "--enable-scheme", "PyTorchJob"), 0, "kinds");
    ok(flags_serve_kind(&f, "TFJob") && flags_serve_kind(&f, "PyTorchJob"), "are served");
    ok(!flags_serve_kind(&f, "MPIJob"), "and no others");
    flags_release(&f);
    is_int(PARSE(&f, &e, "-h"), 0, "-h");
    ok(f.help && flags_serve_kind(&f, "MPIJob"), "is help; all kinds without --enable-scheme");
    flags_release(&f);
}

/* As their Deployments have them. */
static void upstream(void)
{
    struct operator_flags f;
    struct err e;

    is_int(PARSE(&f, &e, "-alsologtostderr", "--gpus-per-node", "8", "--kubectl-delivery-image",
                 "mpioperator/kubectl-delivery:latest"),
           0, "mpi-operator v1alpha1");
    is_int(f.ignored.n, 2, "two flags without a meaning");
    is_int(f.gpus_per_node, 8, "and one that has one");
    is_str(f.ignored.v[0],
           "--alsologtostderr is ignored: the log is written to stderr as JSON lines", "a note");
    flags_release(&f);
    is_int(PARSE(&f, &e, "-alsologtostderr", "--lock-namespace", "mpi-operator", "-v=4",
                 "--threadiness", "10", "--kube-api-qps=50"),
           0, "mpi-operator v2beta1");
    is_str(f.lock_namespace, "mpi-operator", "its lease");
    is_int(f.ignored.n, 4, "the rest is ignored");
    flags_release(&f);
    is_int(PARSE(&f, &e, "--leader-elect", "--leader-election-id=x", "--zap-log-level=2",
                 "--gang-scheduler-name=scheduler-plugins", "--pytorch-init-container-max-tries",
                 "7"),
           0, "training-operator");
    ok(f.leader_elect && f.init_tries == 7, "a boolean without a value, a number");
    is_str(f.gang_scheduler, "scheduler-plugins", "its word for --gang-scheduling");
    is_str(f.lease, "x", "the name of its lease");
    flags_release(&f);
    is_int(PARSE(&f, &e, "--leader-elect=false"), 0, "a boolean with a value");
    ok(!f.leader_elect, "is off");
    flags_release(&f);
}

static void refused(void)
{
    struct operator_flags f;
    struct err e;

    ok(PARSE(&f, &e, "--namspace", "a") < 0, "unknown");
    is_str(e.text, "unknown option --namspace, did you mean --namespace?", "the nearest is named");
    flags_release(&f);
    ok(PARSE(&f, &e, "--namespace") < 0, "without its value");
    is_str(e.text, "--namespace requires a value", "is told");
    flags_release(&f);
    ok(PARSE(&f, &e, "--threadiness", "many") < 0, "a number that is none");
    is_str(e.text, "--threadiness must be a number ≥ 0, not \"many\"", "also of what is ignored");
    flags_release(&f);
    ok(PARSE(&f, &e, "--leader-elect=maybe") < 0, "a boolean that is none");
    is_str(e.text, "--leader-elect must be true or false, not \"maybe\"", "is told");
    flags_release(&f);
    ok(PARSE(&f, &e, "--leader-elect", "true") < 0, "booleans take no second word");
    is_str(e.text, "unexpected argument \"true\"", "so it is too much");
    flags_release(&f);
}

int main(void)
{
    ours();
    upstream();
    refused();
    return tap_done();
}
