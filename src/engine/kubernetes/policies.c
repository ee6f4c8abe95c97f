/* policies.c - pods cannot reach each other: which NetworkPolicies does their namespace have?
 *
 * Whether one of them is the reason depends on the cluster's network plugin, which nobody can ask;
 * so they are named, with the pods that they select.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/kubernetes/client.h"
#include "engine/kubernetes/parts.h"

enum { NAMED = 3, PATIENCE_S = 5 };

/* "every pod", "pods with app=web, tier=…" */
static void add_selector(struct strbuf *out, const struct node *selector)
{
    const struct node *labels = node_get(selector, "matchLabels");
    const struct node *rules = node_get(selector, "matchExpressions");
    bool has_rules = rules && rules->type == NODE_SEQ && rules->n > 0;
    size_t n = labels && labels->type == NODE_MAP ? labels->n : 0;

    if (n == 0 && !has_rules) {
        strbuf_addstr(out, "every pod");
        return;
    }
    strbuf_addstr(out, "pods with ");
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%s=%s", i ? ", " : "", labels->pairs[i].key->text,
                    node_text(labels->pairs[i].value, ""));
    if (has_rules)
        strbuf_addf(out, "%smatchExpressions", n ? ", " : "");
}

static void add_policies(struct strbuf *out, const struct node *items)
{
    for (size_t i = 0; i < items->n && i < NAMED; i++) {
        const struct node *policy = items->items[i];

        strbuf_addf(out, "%s%s (selects ", i ? ", " : "",
                    node_text(node_find(policy, "metadata", "name", NULL), "?"));
        add_selector(out, node_find(policy, "spec", "podSelector", NULL));
        strbuf_addch(out, ')');
    }
    if (items->n > NAMED)
        strbuf_addf(out, " and %zu more", items->n - NAMED);
}

static void listed(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;
    const char *namespace_ = kb->plan->facts->site.namespace_;
    const struct node *items = node_get(answer->body, "items");
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!kube_ok(answer) || !items || items->type != NODE_SEQ)
        strbuf_addf(&text,
                    "a NetworkPolicy in namespace %s may forbid it (they could not be listed: %s)",
                    namespace_, answer->status == 403 ? "no right to" : answer->message);
    else if (items->n == 0)
        strbuf_addf(&text, "namespace %s has no NetworkPolicy", namespace_);
    else {
        strbuf_addf(&text, "NetworkPolicies in namespace %s: ", namespace_);
        add_policies(&text, items);
    }
    kb->client->explained(kb->client->ctx, text.buf);
    kb->client->turn(kb->client->ctx);
}

void kubernetes_explain_unreachable(struct engine *en)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = (struct kubernetes *)en;

    (void)kube_send(kb->api, &(struct kube_request){
                                 .method = "GET",
                                 .path = arena_printf(
                                     a, "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
                                     kb->plan->facts->site.namespace_),
                                 .patience_s = PATIENCE_S,
                                 .done = listed,
                                 .ctx = kb});
}
