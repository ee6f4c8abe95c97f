/* wants_scaler.c - the HorizontalPodAutoscaler of an elastic PyTorchJob, which is made if the job's
 * policy says by which metrics. It changes the job's number of workers by its scale. */
#include "operator/wants_parts.h"

static const struct node *policy_of(const struct served *s)
{
    return node_find(s->object, "spec", "elasticPolicy", NULL);
}

bool want_has_scaler(const struct served *s)
{
    const struct node *metrics = node_get(policy_of(s), "metrics");

    return s->plan->spec->platform.environment == PLATFORM_PYTORCHJOB && metrics &&
           metrics->type == NODE_SEQ;
}

/* One of the two bounds stands for the other, and the number of workers for both. */
static const struct node *bound(struct arena *a, const struct served *s, const char *key,
                                const char *other)
{
    const struct node *policy = policy_of(s);
    const struct role *worker = spec_role(s->plan->spec, "worker");

    if (!node_absent(policy, key))
        return node_get(policy, key);
    if (!node_absent(policy, other))
        return node_get(policy, other);
    return make_int(a, worker ? worker->replicas : 1);
}

const struct node *want_scaler(struct arena *a, const struct served *s, const struct want *w)
{
    struct node *root = want_root(a, s, "autoscaling/v2", "HorizontalPodAutoscaler", w->name);
    struct node *spec = make_below(a, root, "spec"), *target;

    target = make_below(a, spec, "scaleTargetRef");
    want_put(a, target, "apiVersion", s->api_version);
    want_put(a, target, "kind", s->kind->kind);
    want_put(a, target, "name", s->name);
    make_put(a, spec, "minReplicas", bound(a, s, "minReplicas", "maxReplicas"));
    make_put(a, spec, "maxReplicas", bound(a, s, "maxReplicas", "minReplicas"));
    make_put(a, spec, "metrics", node_get(policy_of(s), "metrics"));
    return root;
}
