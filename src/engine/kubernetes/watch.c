/* watch.c - see watch.h. */
#include "engine/kubernetes/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_pick.h"
#include "doc/json_read.h"

enum {
    PAGE = 100,         /* objects of one answer: LIMIT_NODES holds for it */
    WATCH_S = 300,      /* after which the server ends a watch by itself */
    PAUSE_MS = 1000,    /* before trying again after trouble */
    QUICK_MS = 10,      /* … and after a watch that ended as it should */
    LIST_PATIENCE_S = 5 /* for a list: trouble is to be told soon */
};

struct kube_watch {
    struct kube_client *client;
    struct watch_client to;
    uv_timer_t *timer;
    struct kube_call *call;
    char *path, *query;
    char *version;   /* the place in the history; NULL: has to list */
    char *next_page; /* while listing, or NULL */
    bool lists, troubled;
    bool heard; /* something, since the watch began */
    struct arena *arena;
    const char *const *of_list, *const *of_line; /* what is picked; NULL: all */
};

static void list(struct kube_watch *w);
static void watch(struct kube_watch *w);

static void on_time(uv_timer_t *timer)
{
    struct kube_watch *w = timer->data;

    if (w->version && !w->lists)
        watch(w);
    else
        list(w);
}

static void again_in(struct kube_watch *w, unsigned ms)
{
    (void)uv_timer_start(w->timer, on_time, ms, 0);
}

static void in_trouble(struct kube_watch *w, const struct kube_answer *answer)
{
    if (!w->troubled && w->to.trouble)
        w->to.trouble(w->to.ctx, answer);
    w->troubled = true;
    again_in(w, PAUSE_MS);
}

static void set(char **p, const char *text)
{
    free(*p);
    *p = text && *text ? xstrdup(text) : NULL;
}

/* --- listing ---------------------------------------------------------------------------------- */

static void listed(void *ctx, const struct kube_answer *answer)
{
    struct kube_watch *w = ctx;
    const struct node *meta = node_get(answer->body, "metadata");
    const struct node *items = node_get(answer->body, "items");

    w->call = NULL;
    if (!kube_ok(answer) || !items || items->type != NODE_SEQ) {
        set(&w->next_page, NULL); /* a page's place is forgotten, too (410): from the beginning */
        in_trouble(w, answer);
        return;
    }
    for (size_t i = 0; i < items->n; i++)
        w->to.changed(w->to.ctx, WATCH_THERE, items->items[i]);
    set(&w->next_page, node_text(node_get(meta, "continue"), ""));
    set(&w->version, node_text(node_get(meta, "resourceVersion"), "0"));
    if (w->next_page) {
        list(w);
        return;
    }
    w->lists = w->troubled = false;
    if (w->to.synced)
        w->to.synced(w->to.ctx);
    watch(w);
}

static void list(struct kube_watch *w)
{
    auto_arena struct arena *a = arena_new();

    if (!w->next_page && w->to.listing)
        w->to.listing(w->to.ctx);
    w->lists = true;
    w->call = kube_send(
        w->client,
        &(struct kube_request){
            .method = "GET",
            .path = arena_printf(a, "%s?limit=%d%s%s%s%s", w->path, PAGE, *w->query ? "&" : "",
                                 w->query, w->next_page ? "&continue=" : "",
                                 w->next_page ? kube_query(a, w->next_page) : ""),
            .patience_s = LIST_PATIENCE_S,
            .pick = w->of_list,
            .done = listed,
            .ctx = w,
        });
}

/* --- watching --------------------------------------------------------------------------------- */

static void on_line(void *ctx, const char *line, size_t n)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf picked = STRBUF_INIT;
    struct kube_watch *w = ctx;
    bool is_picked = w->of_line && json_pick(line, n, w->of_line, &picked);
    const struct node *event =
        is_picked ? json_node(a, picked.buf, picked.len) : json_node(a, line, n);
    const struct node *object = node_get(event, "object");
    const char *type = node_text(node_get(event, "type"), "");

    w->heard = true;
    w->troubled = false;
    if (strcmp(type, "ERROR") == 0) { /* 410, with HTTP's code 200 */
        set(&w->version, NULL);
        return;
    }
    set(&w->version, node_text(node_find(object, "metadata", "resourceVersion", NULL), w->version));
    if (strcmp(type, "DELETED") == 0)
        w->to.changed(w->to.ctx, WATCH_GONE, object);
    else if (strcmp(type, "BOOKMARK") != 0)
        w->to.changed(w->to.ctx, WATCH_THERE, object);
}

static void watch_ended(void *ctx, const struct kube_answer *answer)
{
    struct kube_watch *w = ctx;

    w->call = NULL;
    if (answer->status == 410)
        set(&w->version, NULL);
    else if (!kube_ok(answer)) {
        in_trouble(w, answer);
        return;
    }
    again_in(w, w->heard && w->version ? QUICK_MS : PAUSE_MS / 4);
}

static void watch(struct kube_watch *w)
{
    auto_arena struct arena *a = arena_new();

    w->heard = false;
    w->call = kube_send(
        w->client, &(struct kube_request){
                       .method = "GET",
                       .path = arena_printf(a,
                                            "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d"
                                            "&resourceVersion=%s%s%s",
                                            w->path, WATCH_S, kube_query(a, w->version),
                                            *w->query ? "&" : "", w->query),
                       .patience_s = LIST_PATIENCE_S,
                       .done = watch_ended,
                       .line = on_line,
                       .ctx = w,
                   });
}

/* ---------------------------------------------------------------------------------------------- */

/* The paths below a key, and others. */
static const char *const *below(struct arena *a, const char *key, const char *const *paths,
                                const char *const *others)
{
    size_t n = 0, i = 0;
    const char **v;

    while (paths[n])
        n++;
    while (others[i])
        i++;
    v = arena_alloc(a, (n + i + 1) * sizeof(*v));
    for (i = 0; i < n; i++)
        v[i] = arena_printf(a, "%s.%s", key, paths[i]);
    while (*others)
        v[i++] = *others++;
    v[i] = NULL;
    return v;
}

struct kube_watch *kube_watch_new(struct kube_client *c, uv_loop_t *loop, const char *path,
                                  const char *query, const struct watch_client *client)
{
    struct kube_watch *w = xcalloc(1, sizeof(*w));

    *w = (struct kube_watch){
        .client = c, .to = *client, .path = xstrdup(path), .query = xstrdup(query)};
    w->arena = arena_new();
    if (client->pick) {
        static const char *const of_list[] = {"metadata", "items.metadata.resourceVersion", NULL};
        static const char *const of_line[] = {"type", "object.metadata.resourceVersion", NULL};

        w->of_list = below(w->arena, "items", client->pick, of_list);
        w->of_line = below(w->arena, "object", client->pick, of_line);
    }
    w->timer = xcalloc(1, sizeof(*w->timer));
    (void)uv_timer_init(loop, w->timer);
    w->timer->data = w;
    list(w);
    return w;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void kube_watch_free(struct kube_watch *w)
{
    if (!w)
        return;
    kube_cancel(w->call);
    (void)uv_timer_stop(w->timer);
    uv_close((uv_handle_t *)w->timer, on_closed);
    free(w->path);
    free(w->query);
    free(w->version);
    free(w->next_page);
    arena_free(w->arena);
    free(w);
}
