/* pods.c - the pods of all jobs, as the API server shows them.
 *
 * Pods are found by the labels that their users know, so that those of another operator are seen,
 * too, and taken over. Nothing of a pod is kept here; place.c keeps what it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "operator/operator.h"

#define LABEL "training.kubeflow.org/"

static const char *label(const struct node *pod, const char *name)
{
    return node_text(node_get(node_find(pod, "metadata", "labels", NULL), name), "");
}

/* The replica of the job that a pod's labels name; -1: none. */
static int32_t replica_of(const struct tended *t, const struct node *pod)
{
    const struct plan *plan = t->served.plan;
    const char *role = label(pod, LABEL "replica-type"), *number;
    const struct role *r;
    uint32_t index = 0;

    if (!*role)
        role = label(pod, LABEL "job-role");
    r = spec_role(plan->spec, role);
    number = label(pod, LABEL "replica-index");
    if (!r || (*number && num_u32(number, &index) < 0) || index > INT32_MAX)
        return -1;
    if (r->kind == ROLE_LAUNCHER)
        index = 0;
    const struct replica *rp = plan_replica(plan, r, (int32_t)index);
    return rp ? (int32_t)rp->id : -1;
}

static void changed(void *ctx, enum watch_change change, const struct node *pod)
{
    auto_arena struct arena *a = arena_new();
    struct operator* op = ctx;
    struct tended *t = serve_find(
        op,
        arena_printf(a, "%s/%s/%s", node_text(node_find(pod, "metadata", "namespace", NULL), ""),
                     label(pod, LABEL "operator-name"), label(pod, LABEL "job-name")));
    int32_t replica = t && t->turn ? replica_of(t, pod) : -1;

    if (replica >= 0)
        place_pod(t, (uint32_t)replica, change, pod);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    (void)ctx;
    tell(NULL, "warning", "%s", answer->message);
}

/* Whoever was not shown is gone. */
static void synced(void *ctx)
{
    struct operator* op = ctx;

    op->pods_known = true;
    for (size_t i = 0; i < op->n_jobs; i++)
        tend_soon(op->jobs[i]);
}

void pods_begin(struct operator* op)
{
    auto_arena struct arena *a = arena_new();
    const char *only = op->namespace_;

    if (op->pods)
        return;
    op->pods = kube_watch_new(
        op->api, op->loop,
        arena_printf(a, "/api/v1%s%s/pods", only ? "/namespaces/" : "", only ? only : ""),
        "labelSelector=" LABEL "job-name",
        &(struct watch_client){
            .changed = changed, .synced = synced, .trouble = trouble, .ctx = op});
}
