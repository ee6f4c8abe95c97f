/* lease.c - see lease.h. */
#include "operator/lease.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "doc/make.h"

struct lease {
    struct kube_client *api;
    struct lease_client to;
    uv_timer_t *timer;
    char *collection, *name, *identity;
    char *version, *record; /* resourceVersion; holder and times, to see a change */
    struct lease_sight sight;
    int64_t transitions;
    bool held;
    ns_t renewed; /* clock_mono() when we last began to renew it with success */
    ns_t began;   /* … of the request that is on its way */
    struct kube_call *call;
};

bool lease_is_due(const struct lease_sight *s, int64_t now)
{
    return !s->exists || s->ours || s->free || now - s->changed > s->duration_s * NS_PER_S;
}

static void set(char **p, const char *text)
{
    free(*p);
    *p = text ? xstrdup(text) : NULL;
}

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static int64_t number_at(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : otherwise;
}

static void take_in(struct lease *l, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    const struct node *spec = node_get(object, "spec");
    const char *holder = text_at(spec, "holderIdentity");
    const char *record = arena_printf(a, "%s %s", holder, text_at(spec, "renewTime"));

    if (!l->record || strcmp(l->record, record) != 0)
        l->sight.changed = clock_mono();
    set(&l->record, record);
    set(&l->version, text_at(node_get(object, "metadata"), "resourceVersion"));
    l->transitions = number_at(spec, "leaseTransitions", 0);
    l->sight.exists = true;
    l->sight.ours = strcmp(holder, l->identity) == 0;
    l->sight.free = *holder == '\0';
    l->sight.duration_s = number_at(spec, "leaseDurationSeconds", LEASE_S);
}

static void lose(struct lease *l)
{
    if (!l->held)
        return;
    l->held = false;
    l->to.lost(l->to.ctx);
}

/* --- writing ---------------------------------------------------------------------------------- */

static const struct node *lease_object(struct arena *a, const struct lease *l)
{
    struct node *object = make_map(a), *meta = make_below(a, object, "metadata");
    struct node *spec = make_below(a, object, "spec");
    char now[CLOCK_TEXT];
    const char *micro;

    (void)clock_rfc3339(clock_real(), now);
    now[strlen(now) - 1] = '\0';
    micro = arena_printf(a, "%s000Z", now); /* MicroTime has six digits */
    make_put(a, object, "apiVersion", make_text(a, "coordination.k8s.io/v1"));
    make_put(a, object, "kind", make_text(a, "Lease"));
    make_put(a, meta, "name", make_text(a, l->name));
    if (l->sight.exists)
        make_put(a, meta, "resourceVersion", make_text(a, l->version));
    make_put(a, spec, "holderIdentity", make_text(a, l->identity));
    make_put(a, spec, "leaseDurationSeconds", make_int(a, LEASE_S));
    make_put(a, spec, "acquireTime", make_text(a, micro));
    make_put(a, spec, "renewTime", make_text(a, micro));
    make_put(a, spec, "leaseTransitions",
             make_int(a, l->transitions + (l->sight.exists && !l->sight.ours)));
    return object;
}

static void written(void *ctx, const struct kube_answer *answer)
{
    struct lease *l = ctx;

    l->call = NULL;
    if (!kube_ok(answer))
        return; /* somebody was quicker, or nobody answers: the next try tells */
    take_in(l, answer->body);
    l->renewed = l->began;
    if (!l->held) {
        l->held = true;
        l->to.held(l->to.ctx);
    }
}

static void write_lease(struct lease *l)
{
    auto_arena struct arena *a = arena_new();
    const char *path =
        l->sight.exists ? arena_printf(a, "%s/%s", l->collection, l->name) : l->collection;

    l->call = kube_send(l->api, &(struct kube_request){.method = l->sight.exists ? "PUT" : "POST",
                                                       .path = path,
                                                       .body = lease_object(a, l),
                                                       .patience_s = LEASE_TRY_S,
                                                       .done = written,
                                                       .ctx = l});
}

/* --- looking ---------------------------------------------------------------------------------- */

static void seen(void *ctx, const struct kube_answer *answer)
{
    struct lease *l = ctx;

    l->call = NULL;
    if (answer->status == 404)
        l->sight.exists = false;
    else if (kube_ok(answer))
        take_in(l, answer->body);
    else
        return;
    if (l->held && l->sight.exists && !l->sight.ours)
        lose(l);
    else if (lease_is_due(&l->sight, clock_mono()))
        write_lease(l);
}

static void on_time(uv_timer_t *timer)
{
    auto_arena struct arena *a = arena_new();
    struct lease *l = timer->data;

    if (l->held && clock_mono() - l->renewed > LEASE_RENEW_S * NS_PER_S) {
        lose(l);
        return;
    }
    if (l->call)
        return;
    l->began = clock_mono();
    l->call = kube_send(
        l->api, &(struct kube_request){.method = "GET",
                                       .path = arena_printf(a, "%s/%s", l->collection, l->name),
                                       .patience_s = LEASE_TRY_S,
                                       .done = seen,
                                       .ctx = l});
}

struct lease *lease_new(struct kube_client *c, uv_loop_t *loop, const char *namespace_,
                        const char *name, const char *identity, const struct lease_client *client)
{
    struct lease *l = xcalloc(1, sizeof(*l));

    *l = (struct lease){
        .api = c,
        .to = *client,
        .collection = xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", namespace_),
        .name = xstrdup(name),
        .identity = xstrdup(identity),
        .timer = xcalloc(1, sizeof(*l->timer)),
    };
    (void)uv_timer_init(loop, l->timer);
    l->timer->data = l;
    (void)uv_timer_start(l->timer, on_time, 0, LEASE_TRY_S * 1000);
    return l;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    kube_cancel(l->call);
    uv_close((uv_handle_t *)l->timer, free_handle);
    free(l->collection);
    free(l->name);
    free(l->identity);
    free(l->version);
    free(l->record);
    free(l);
}
