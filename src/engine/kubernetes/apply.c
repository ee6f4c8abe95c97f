/* apply.c - see apply.h. */
#include "engine/kubernetes/apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "engine/kubernetes/session.h"
#include "engine/kubernetes/watch.h"

enum { PATIENCE_S = 15, QUIET_S = 15 };

struct applying;

struct applied { /* one object */
    struct applying *all;
    const struct node *object;
    const char *name, *kind, *api_version;
    const char *collection; /* its path, once it is known */
    char *label;            /* "mpijob.kubeflow.org/pi" */
    bool is_job, ended;
    char *seen; /* heap: conditions that hold; or NULL */
    struct kube_watch *watch;
};

struct applying {
    const struct engine_apply *how;
    struct arena *arena;
    struct kube_session at;
    uv_timer_t quiet;
    struct applied *v;
    size_t next;   /* the one that is being sent */
    unsigned left; /* jobs that have not ended */
    bool heard;    /* somebody has written a status */
    int result;    /* 0, 1 or -errno */
    struct err *e;
};

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

/* --- what a status says ----------------------------------------------------------------------- */

static bool holds(const struct node *condition, const char *type)
{
    return strcmp(text_at(condition, "status"), "True") == 0 &&
           (!type || strcmp(text_at(condition, "type"), type) == 0);
}

static bool any_holds(const struct node *list, const char *type)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (holds(list->items[i], type))
            return true;
    return false;
}

enum apply_end apply_end_of(const struct node *object)
{
    const struct node *status = node_get(object, "status");
    const struct node *list = node_get(status, "conditions");
    const char *word = text_at(status, "phase"), *code;

    if (!*word)
        word = text_at(status, "launcherStatus");
    if (any_holds(list, "Failed") || strcmp(word, "Failed") == 0)
        return APPLY_FAILED;
    if (!any_holds(list, "Succeeded") && strcmp(word, "Succeeded") != 0)
        return APPLY_GOES_ON;
    code = text_at(node_find(object, "metadata", "annotations", NULL), APPLY_EXIT_CODE);
    return *code && strcmp(code, "0") != 0 ? APPLY_FAILED : APPLY_SUCCEEDED;
}

char *apply_tell(struct arena *a, const struct node *object, const char *seen,
                 void (*told)(void *ctx, const char *text), void *ctx)
{
    const struct node *list = node_find(object, "status", "conditions", NULL);
    struct strbuf now = STRBUF_INIT;

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *c = list->items[i];
        const char *message = text_at(c, "message");
        const char *word = arena_printf(a, "%s\n", text_at(c, "type"));

        if (!holds(c, NULL))
            continue;
        strbuf_addstr(&now, word);
        if (!seen || !strstr(seen, word))
            told(ctx, arena_printf(a, "%s%s%s", text_at(c, "type"), *message ? ": " : "", message));
    }
    return strbuf_detach(&now);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void stop(struct applying *p, int result)
{
    if (p->result >= 0 && result != 0)
        p->result = result;
    uv_stop(&p->at.loop);
}

static void refused(struct applied *o, const struct kube_answer *answer)
{
    const char *said = node_text(node_get(answer->body, "message"), answer->message);

    stop(o->all, err_set(o->all->e, answer->status ? -EINVAL : -EIO, "%s: %s", o->label, said));
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void tell_of(void *ctx, const char *text)
{
    auto_free char *line = NULL;
    struct applied *o = ctx;

    line = xasprintf("%s %s", o->label, text);
    o->all->how->told(o->all->how->ctx, line);
}

static void tell_conditions(struct arena *a, struct applied *o, const struct node *object)
{
    char *now = apply_tell(a, object, o->seen, tell_of, o);

    free(o->seen);
    o->seen = now;
}

static void changed(void *ctx, enum watch_change change, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    struct applied *o = ctx;
    struct applying *p = o->all;
    enum apply_end end = change == WATCH_GONE ? APPLY_FAILED : apply_end_of(object);

    if (o->ended)
        return;
    p->heard |= !node_absent(object, "status");
    if (change == WATCH_GONE)
        tell_of(o, "was deleted");
    else
        tell_conditions(a, o, object);
    if (end == APPLY_GOES_ON)
        return;
    if (change != WATCH_GONE && !node_find(object, "status", "conditions", NULL))
        tell_of(o, end == APPLY_FAILED ? "Failed" : "Succeeded"); /* v1alpha1 has no conditions */
    o->ended = true;
    if (end == APPLY_FAILED)
        p->result = 1;
    if (--p->left == 0)
        stop(p, 0);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    struct applied *o = ctx;

    if (answer->status == 401 || answer->status == 403)
        refused(o, answer);
    else
        o->all->how->noted(o->all->how->ctx, answer->message);
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void on_quiet(uv_timer_t *timer)
{
    const struct applying *p = timer->data;

    if (!p->heard)
        p->how->noted(p->how->ctx, "no operator has taken the job yet; `muster generate operator` "
                                   "prints what installs one");
}

static void wait_for_all(struct applying *p)
{
    for (size_t i = 0; i < p->how->n; i++) {
        struct applied *o = &p->v[i];
        const struct watch_client client = {changed, ignore, ignore, trouble, o, NULL};

        if (!o->is_job)
            continue;
        p->left++;
        o->watch = kube_watch_new(p->at.api, &p->at.loop, o->collection,
                                  arena_printf(p->arena, "fieldSelector=metadata.name%%3D%s",
                                               kube_query(p->arena, o->name)),
                                  &client);
    }
    if (p->left == 0) {
        stop(p, 0);
        return;
    }
    (void)uv_timer_start(&p->quiet, on_quiet, QUIET_S * 1000, 0);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_next(struct applying *p);

static void sent(void *ctx, const struct kube_answer *answer)
{
    struct applied *o = ctx;

    if (!kube_ok(answer)) {
        refused(o, answer);
        return;
    }
    if (o->all->how->sent)
        o->all->how->sent(o->all->how->ctx, o->object);
    else
        tell_of(o, answer->status == 201 ? "created" : "configured");
    o->all->next++;
    send_next(o->all);
}

static void found(void *ctx, const struct kube_answer *answer)
{
    struct applied *o = ctx;
    struct applying *p = o->all;
    const struct node *list = node_get(answer->body, "resources"), *own;
    const char *plural = NULL, *namespace_;

    if (!kube_ok(answer) && answer->status != 404) {
        refused(o, answer);
        return;
    }
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(text_at(list->items[i], "kind"), o->kind) == 0 &&
            !strchr(text_at(list->items[i], "name"), '/'))
            plural = text_at(list->items[i], "name");
    if (!plural || !*plural) {
        stop(p,
             err_set(p->e, -ENOENT,
                     "%s: the cluster has no kind %s of %s; `muster generate crds` prints its CRD",
                     o->label, o->kind, o->api_version));
        return;
    }
    own = node_find(o->object, "metadata", "namespace", NULL);
    namespace_ = node_text(own, p->at.access.namespace_);
    if (own && p->how->namespace_ && strcmp(namespace_, p->how->namespace_) != 0) {
        stop(p, err_set(p->e, -EINVAL, "%s: its namespace is %s, but --namespace is %s", o->label,
                        namespace_, p->how->namespace_));
        return;
    }
    o->collection = arena_printf(p->arena, "/%s/%s/namespaces/%s/%s", o->is_job ? "apis" : "api",
                                 o->api_version, namespace_, plural);
    (void)kube_send(p->at.api, &(struct kube_request){
                                   .method = "PATCH",
                                   .path = arena_printf(p->arena, "%s/%s?fieldManager=muster",
                                                        o->collection, o->name),
                                   .type = "application/apply-patch+yaml",
                                   .body = o->object,
                                   .patience_s = PATIENCE_S,
                                   .done = sent,
                                   .ctx = o});
}

/* Which path a kind has is asked: a file has its kind only. */
static void send_next(struct applying *p)
{
    struct applied *o = &p->v[p->next];

    if (p->next == p->how->n) {
        if (p->how->wait)
            wait_for_all(p);
        else
            stop(p, 0);
        return;
    }
    (void)kube_send(p->at.api, &(struct kube_request){
                                   .method = "GET",
                                   .path = arena_printf(p->arena, "/%s/%s",
                                                        o->is_job ? "apis" : "api", o->api_version),
                                   .patience_s = PATIENCE_S,
                                   .done = found,
                                   .ctx = o});
}

/* --- all of it -------------------------------------------------------------------------------- */

static int take(struct applying *p, const struct node *object, struct applied *o, struct err *e)
{
    const char *slash;
    char *lower;

    *o = (struct applied){.all = p,
                          .object = object,
                          .name = node_text(node_find(object, "metadata", "name", NULL), ""),
                          .kind = text_at(object, "kind"),
                          .api_version = text_at(object, "apiVersion")};
    slash = strchr(o->api_version, '/');
    o->is_job = slash != NULL; /* what stands beside it is a ConfigMap or a Secret of "v1" */
    lower = arena_strdup(p->arena, o->kind);
    for (char *c = lower; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    o->label = arena_printf(p->arena, "%s%s%.*s/%s", lower, slash ? "." : "",
                            slash ? (int)(slash - o->api_version) : 0, o->api_version, o->name);
    if (!*o->kind || !*o->api_version || !*o->name)
        return err_set(e, -EINVAL, "metadata.name is required");
    return 0;
}

static void run(struct applying *p)
{
    (void)uv_timer_init(&p->at.loop, &p->quiet);
    p->quiet.data = p;
    send_next(p);
    (void)uv_run(&p->at.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < p->how->n; i++) {
        kube_watch_free(p->v[i].watch);
        free(p->v[i].seen);
    }
}

int kubernetes_apply(const struct engine_apply *how, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    struct applying p = {.how = how, .arena = a, .e = e};
    int r = 0;

    p.v = ARENA_ARRAY(a, struct applied, how->n + 1);
    for (size_t i = 0; r == 0 && i < how->n; i++)
        r = take(&p, how->objects[i], &p.v[i], e);
    if (r == 0)
        r = kube_session_open(a, how->context, how->namespace_, &p.at, e);
    if (r < 0)
        return r;
    run(&p);
    kube_session_close(&p.at);
    return p.result;
}
