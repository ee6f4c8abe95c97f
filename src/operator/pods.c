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
#include "operator/owned.h"

#define KUBEFLOW "training.kubeflow.org/"
#define T9K "tensorstack.dev/"

static const char *label(const struct node *pod, const char *name)
{
    return node_text(node_get(node_find(pod, "metadata", "labels", NULL), name), "");
}

/* --- whose pod it is -------------------------------------------------------------------------- */

/* With runLauncherAsWorker the launcher is number 0, and workers are counted from 1: the name
 * decides. Pods of a launcher's Job have names of their own. */
static int32_t kubeflow_replica(const struct plan *plan, const struct node *pod)
{
    const char *role = label(pod, KUBEFLOW "replica-type"), *number, *name;
    const struct role *r = spec_role(plan->spec, *role ? role : label(pod, KUBEFLOW "job-role"));
    uint32_t index = 0;

    number = label(pod, KUBEFLOW "replica-index");
    name = node_text(node_find(pod, "metadata", "name", NULL), "");
    if (!r || (*number && num_u32(number, &index) < 0))
        return -1;
    if (r->kind == ROLE_LAUNCHER)
        return (int32_t)plan_replica(plan, r, 0)->id;
    for (int less = 0; less < 2 && index >= (uint32_t)less; less++) {
        const struct replica *rp = index - (uint32_t)less < (uint32_t)r->replicas
                                       ? plan_replica(plan, r, (int32_t)index - less)
                                       : NULL;

        if (rp && strcmp(rp->host, name) == 0)
            return (int32_t)rp->id;
    }
    return -1;
}

static int32_t t9k_replica(const struct plan *plan, const struct node *pod)
{
    const char *host = label(pod, "mpijob-replica");

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (strcmp(plan->replicas[i].host, host) == 0)
            return (int32_t)i;
    return -1;
}

/* Labels by which pods are found. */
static const struct labels {
    const char *selector;
    const char *operator_label; /* which of the kinds; NULL: only one has such labels */
    const char *operator_name;
    const char *job;
    int32_t (*replica)(const struct plan *plan, const struct node *pod); /* -1: none */
} families[OPERATOR_POD_WATCHES] = {
    {KUBEFLOW "job-name", KUBEFLOW "operator-name", NULL, KUBEFLOW "job-name", kubeflow_replica},
    {"mpijob," T9K "component=mpijob", NULL, KIND_T9K, "mpijob", t9k_replica},
};

/* All versions of a kind have one watch, whatever their operator was called. */
static const char *kind_name(const struct labels *by, const struct node *pod)
{
    const char *name = by->operator_label ? label(pod, by->operator_label) : by->operator_name;

    return strcmp(name, KIND_MPI_V1) == 0 ? KIND_MPI : name;
}

static void changed(struct controller *op, const struct labels *by, enum watch_change change,
                    const struct node *pod)
{
    auto_arena struct arena *a = arena_new();
    const char *kind = kind_name(by, pod);
    struct tended *t =
        serve_find(op, arena_printf(a, "%s/%s/%s",
                                    node_text(node_find(pod, "metadata", "namespace", NULL), ""),
                                    kind, label(pod, by->job)));
    int32_t replica = t && t->turn ? by->replica(t->served.plan, pod) : -1;

    /* the pods of a launcher's Job have another controller */
    if (replica >= 0 &&
        (place_by_job(t, (uint32_t)replica) || owned_by(pod, &t->served) == OWNED_OURS))
        place_pod(t, (uint32_t)replica, change, pod);
}

static void changed_kubeflow(void *ctx, enum watch_change change, const struct node *pod)
{
    changed(ctx, &families[0], change, pod);
}

static void changed_t9k(void *ctx, enum watch_change change, const struct node *pod)
{
    changed(ctx, &families[1], change, pod);
}

/* --- watching --------------------------------------------------------------------------------- */

static void trouble(void *ctx, const struct kube_answer *answer)
{
    (void)ctx;
    tell(NULL, "warning", "%s", answer->message);
}

static void synced(void *ctx)
{
    struct controller *op = ctx;

    if (op->pods_known || ++op->pods_synced < OPERATOR_POD_WATCHES)
        return;
    op->pods_known = true;
    for (size_t i = 0; i < op->n_jobs; i++)
        tend_soon(op->jobs[i]);
}

void pods_begin(struct controller *op)
{
    static void (*const handlers[])(void *, enum watch_change,
                                    const struct node *) = {changed_kubeflow, changed_t9k};
    auto_arena struct arena *a = arena_new();
    const char *only = op->namespace_;

    op->pods_synced = 0;
    op->pods_known = false;
    for (size_t i = 0; i < OPERATOR_POD_WATCHES; i++)
        op->pods[i] = kube_watch_new(
            op->api, op->loop,
            arena_printf(a, "/api/v1%s%s/pods", only ? "/namespaces/" : "", only ? only : ""),
            arena_printf(a, "labelSelector=%s", kube_query(a, families[i].selector)),
            &(struct watch_client){
                .changed = handlers[i],
                .synced = synced,
                .trouble = trouble,
                .ctx = op,
                .pick = pod_facts_pick,
            });
}

void pods_end(struct controller *op)
{
    for (size_t i = 0; i < OPERATOR_POD_WATCHES; i++)
        kube_watch_free(TAKE_PTR(op->pods[i]));
}
