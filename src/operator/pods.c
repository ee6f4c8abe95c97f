/* pods.c - the pods of all jobs, as the API server shows them.
 *
 * Pods are found by the labels that their users know (whose.h), so that those of another operator
 * are seen, too, and taken over. Nothing of a pod is kept here; place.c keeps what it needs.
 */
#include "operator/operator.h"
#include "operator/owned.h"

struct pod_watch {
    struct controller *op;
    enum whose_family family;
};

static void changed(void *ctx, enum watch_change change, const struct node *pod)
{
    auto_arena struct arena *a = arena_new();
    const struct pod_watch *w = ctx;
    const char *namespace_ = node_text(node_find(pod, "metadata", "namespace", NULL), "");
    struct tended *t =
        serve_find(w->op, arena_printf(a, "%s/%s/%s", namespace_, whose_kind(w->family, pod),
                                       whose_job(w->family, pod)));
    int32_t replica = t && t->turn ? whose_replica(w->family, t->served.plan, pod) : -1;

    /* the pods of a launcher's Job have another controller */
    if (replica >= 0 &&
        (place_by_job(t, (uint32_t)replica) || owned_by(pod, &t->served) == OWNED_OURS))
        place_pod(t, (uint32_t)replica, change, pod);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    (void)ctx;
    tell(NULL, "warning", "%s", answer->message);
}

static void synced(void *ctx)
{
    struct controller *op = ((const struct pod_watch *)ctx)->op;

    if (op->pods_known || ++op->pods_synced < WHOSE_FAMILIES)
        return;
    op->pods_known = true;
    for (size_t i = 0; i < op->n_jobs; i++)
        tend_soon(op->jobs[i]);
}

void pods_begin(struct controller *op)
{
    auto_arena struct arena *a = arena_new();
    const char *only = op->namespace_;

    op->pods_synced = 0;
    op->pods_known = false;
    for (enum whose_family i = 0; i < WHOSE_FAMILIES; i++) {
        struct pod_watch *w = ARENA_NEW(op->arena, struct pod_watch);

        *w = (struct pod_watch){op, i};
        op->pods[i] = kube_watch_new(
            op->api, op->loop,
            arena_printf(a, "/api/v1%s%s/pods", only ? "/namespaces/" : "", only ? only : ""),
            arena_printf(a, "labelSelector=%s", kube_query(a, whose_selector(i))),
            &(struct watch_client){
                .changed = changed,
                .synced = synced,
                .trouble = trouble,
                .ctx = w,
                .pick = pod_facts_pick,
            });
    }
}

void pods_end(struct controller *op)
{
    for (size_t i = 0; i < WHOSE_FAMILIES; i++)
        kube_watch_free(TAKE_PTR(op->pods[i]));
}
