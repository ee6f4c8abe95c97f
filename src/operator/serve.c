/* serve.c - which of the kinds the cluster has, and their objects as they come and go.
 *
 * A CRD may be installed after the operator: what is missing is looked for again. Versions of a
 * kind show the same objects, so any one of them is watched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operator/operator.h"

enum { LOOK_AGAIN_S = 30, ASK_S = 10 };

/* --- jobs by their key ------------------------------------------------------------------------ */

/* Where it is, or would be. */
static size_t place_in_list(const struct controller *op, const char *key)
{
    size_t from = 0, to = op->n_jobs;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (strcmp(op->jobs[middle]->key, key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct tended *serve_find(struct controller *op, const char *key)
{
    size_t i = place_in_list(op, key);

    return i < op->n_jobs && strcmp(op->jobs[i]->key, key) == 0 ? op->jobs[i] : NULL;
}

static void insert(struct controller *op, struct tended *t)
{
    size_t i = place_in_list(op, t->key);

    GROW(op->jobs, op->n_jobs, op->cap_jobs);
    memmove(&op->jobs[i + 1], &op->jobs[i], (op->n_jobs++ - i) * sizeof(struct tended *));
    op->jobs[i] = t;
}

static void drop(struct controller *op, struct tended *t)
{
    size_t i = place_in_list(op, t->key);

    memmove(&op->jobs[i], &op->jobs[i + 1], (--op->n_jobs - i) * sizeof(struct tended *));
    tend_free(t);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void changed(void *ctx, enum watch_change change, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    struct kind_watch *k = ctx;
    struct controller *op = k->op;
    const struct node *meta = node_get(object, "metadata");
    const char *key = arena_printf(a, "%s/%s/%s", node_text(node_get(meta, "namespace"), ""),
                                   k->kind->operator_name, node_text(node_get(meta, "name"), ""));
    const char *uid = node_text(node_get(meta, "uid"), "");
    struct tended *t = serve_find(op, key);

    if (t && t->served.uid && strcmp(t->served.uid, uid) != 0) {
        drop(op, t); /* it was deleted and made again while nobody watched */
        t = NULL;
    }
    if (change == WATCH_GONE) {
        metrics_count(&op->metrics, k->kind, node_text(node_get(meta, "namespace"), ""),
                      t ? t->served.written_in : NULL, TALLY_DELETED);
        if (t)
            drop(op, t);
        return;
    }
    if (!t) {
        t = tend_new(op, k->kind, key);
        insert(op, t);
    }
    t->seen = true;
    tend_object(t, object);
}

/* Pods are listed when all jobs are known, and again when a kind came later: whose pod it is, is
 * asked when it is shown. */
static void look_at_pods(struct controller *op)
{
    for (size_t i = 0; i < op->n_kinds; i++)
        if (op->kinds[i].watch && !op->kinds[i].synced)
            return;
    if (op->asking > 0 || !op->pods_stale)
        return;
    op->pods_stale = false;
    pods_end(op);
    pods_begin(op);
}

static void listing(void *ctx)
{
    const struct kind_watch *k = ctx;

    for (size_t i = 0; i < k->op->n_jobs; i++)
        if (k->op->jobs[i]->kind == k->kind)
            k->op->jobs[i]->seen = false;
}

static void synced(void *ctx)
{
    struct kind_watch *k = ctx;
    struct controller *op = k->op;

    for (size_t i = op->n_jobs; i-- > 0;)
        if (op->jobs[i]->kind == k->kind && !op->jobs[i]->seen)
            drop(op, op->jobs[i]);
    if (!k->synced)
        op->pods_stale = true;
    k->synced = true;
    look_at_pods(op);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    (void)ctx;
    tell(NULL, "warning", "%s", answer->message);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void watch_kind(struct kind_watch *k, const char *version)
{
    static const struct watch_client client = {changed, listing, synced, trouble, NULL, NULL};
    auto_arena struct arena *a = arena_new();
    struct watch_client to = client;
    const char *only = k->op->namespace_;

    to.ctx = k;
    k->synced = false;
    tell(NULL, "info", "serving %s.%s, read as %s", k->kind->plural, k->kind->group, version);
    k->watch =
        kube_watch_new(k->op->api, k->op->loop,
                       arena_printf(a, "/apis/%s/%s%s%s/%s", k->kind->group, version,
                                    only ? "/namespaces/" : "", only ? only : "", k->kind->plural),
                       "", &to);
}

struct question {
    struct kind_watch *k;
    char *version; /* that is asked for */
    struct question *next;
};

static void drop_question(struct controller *op, struct question *q)
{
    struct question **at = &op->questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    free(q->version);
    free(q);
}

static void all_asked(struct controller *op)
{
    if (--op->asking > 0)
        return;
    look_at_pods(op);
    for (size_t i = 0; i < op->n_kinds; i++)
        if (op->kinds[i].watch)
            return;
    tell(NULL, "warning", "the cluster has none of the kinds that are served; waiting for a CRD");
}

static void has_resource(void *ctx, const struct kube_answer *answer)
{
    struct question *q = ctx;
    const struct node *list = node_get(answer->body, "resources");

    for (size_t i = 0; !q->k->watch && list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(node_text(node_get(list->items[i], "name"), ""), q->k->kind->plural) == 0)
            watch_kind(q->k, q->version);
    all_asked(q->k->op);
    drop_question(q->k->op, q);
}

/* Every version of the group, because each has resources of its own. */
static void has_group(void *ctx, const struct kube_answer *answer)
{
    struct kind_watch *k = ctx;
    const struct node *list = node_get(answer->body, "versions");

    if (answer->status != 200 && answer->status != 404)
        tell(NULL, "warning", "%s", answer->message);
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        auto_arena struct arena *a = arena_new();
        struct question *q = xcalloc(1, sizeof(*q));

        *q = (struct question){k, xstrdup(node_text(node_get(list->items[i], "version"), "")),
                               k->op->questions};
        k->op->questions = q;
        k->op->asking++;
        (void)kube_send(k->op->api,
                        &(struct kube_request){
                            .method = "GET",
                            .path = arena_printf(a, "/apis/%s/%s", k->kind->group, q->version),
                            .patience_s = ASK_S,
                            .done = has_resource,
                            .ctx = q,
                        });
    }
    all_asked(k->op);
}

static void look_for_kinds(uv_timer_t *timer)
{
    struct controller *op = timer->data;

    if (op->asking > 0)
        return;
    for (size_t i = 0; i < op->n_kinds; i++) {
        auto_arena struct arena *a = arena_new();

        if (op->kinds[i].watch)
            continue;
        op->asking++;
        (void)kube_send(op->api, &(struct kube_request){
                                     .method = "GET",
                                     .path = arena_printf(a, "/apis/%s", op->kinds[i].kind->group),
                                     .patience_s = ASK_S,
                                     .done = has_group,
                                     .ctx = &op->kinds[i],
                                 });
    }
}

void serve_begin(struct controller *op)
{
    op->kinds = xcalloc(n_served_kinds, sizeof(*op->kinds));
    for (size_t i = 0; i < n_served_kinds; i++)
        if (flags_serve_kind(op->flags, served_kinds[i].kind))
            op->kinds[op->n_kinds++] = (struct kind_watch){.op = op, .kind = &served_kinds[i]};
    op->look = xcalloc(1, sizeof(*op->look));
    (void)uv_timer_init(op->loop, op->look);
    op->look->data = op;
    (void)uv_timer_start(op->look, look_for_kinds, 0, LOOK_AGAIN_S * 1000);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void serve_end(struct controller *op)
{
    while (op->questions) /* their answers do not come any more */
        drop_question(op, op->questions);
    if (op->look)
        uv_close((uv_handle_t *)op->look, free_handle);
    for (size_t i = 0; i < op->n_kinds; i++)
        kube_watch_free(op->kinds[i].watch);
    while (op->n_jobs > 0) {
        op->jobs[op->n_jobs - 1]->in_flight = 0; /* the client cancels them */
        drop(op, op->jobs[op->n_jobs - 1]);
    }
    free(op->jobs);
    free(op->kinds);
}
