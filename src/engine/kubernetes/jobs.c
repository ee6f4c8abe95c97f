/* jobs.c - see jobs.h. */
#include "engine/kubernetes/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "doc/make.h"
#include "engine/kubernetes/objects.h"
#include "engine/kubernetes/session.h"
#include "engine/kubernetes/watch.h"
#include "kube/own.h"

enum { PATIENCE_S = 15, LOG_PATIENCE_S = 30, LOOK_MS = 500 };

struct log { /* of one pod */
    struct asking *asking;
    char *pod, *container, *replica;
    struct kube_call *call;
    bool writes, ended; /* its container has been started; and has ended */
    bool whole;         /* it had ended before the log was asked for */
    bool done;          /* nothing more will come */
    size_t shown, seen; /* lines: in all, and of those that this call has brought */
};

struct asking {
    const struct engine_jobs *how;
    struct arena *arena;
    struct kube_session at;
    const char *collection; /* of MusterJobs */
    struct kube_watch *job, *pods;
    char *selector; /* of its pods, once the job is known */
    struct log **logs;
    size_t n_logs, cap_logs;
    uv_timer_t look;
    bool found, ended, all_pods; /* of the job; the pods that there are have been listed */
    ns_t ended_at;
    int result;
    struct err *e;
};

static const char *meta(const struct node *object, const char *key)
{
    return node_text(node_find(object, "metadata", key, NULL), "");
}

static void stop(struct asking *q, int result)
{
    if (q->result == 0)
        q->result = result;
    uv_stop(&q->at.loop);
}

static void not_there(struct asking *q)
{
    stop(q, err_set(q->e, -ENOENT, "there is no MusterJob %s in namespace %s", q->how->name,
                    q->at.access.namespace_));
}

static void refused(struct asking *q, const struct kube_answer *answer)
{
    if (answer->status == 404 && q->how->name && strcmp(answer->reason, "NotFound") == 0)
        not_there(q);
    else if (answer->status == 404)
        stop(q, err_set(q->e, -EINVAL,
                        "the cluster has no kind " OWN_KIND "; `muster generate operator` prints "
                        "what installs it"));
    else
        stop(q, err_set(q->e, answer->status ? -EACCES : -EIO, "%s", answer->message));
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    struct asking *q = ctx;

    if (!q->found || (answer->status >= 400 && answer->status < 500 && answer->status != 429))
        refused(q, answer);
    else
        q->how->noted(q->how->ctx, answer->message);
}

static bool has_ended(const struct node *object)
{
    static const char *const words[] = {"Succeeded", "Failed", "Invalid"};
    const char *phase = node_text(node_find(object, "status", "phase", NULL), "");

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(phase, words[i]) == 0)
            return true;
    return false;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

/* --- logs ------------------------------------------------------------------------------------- */

/* All that there is was shown, and nothing comes any more. */
static void stop_if_shown(struct asking *q)
{
    bool late = q->ended && clock_mono() - q->ended_at > PATIENCE_S * NS_PER_S;

    if (!q->all_pods || (q->how->follow && !q->ended))
        return;
    for (size_t i = 0; i < q->n_logs; i++)
        if (!late && (q->logs[i]->call || (q->logs[i]->writes && !q->logs[i]->done)))
            return;
    stop(q, 0);
}

static void on_line(void *ctx, const char *text, size_t n)
{
    struct log *log = ctx;

    if (log->seen++ < log->shown)
        return;
    log->shown++;
    log->asking->how->line(log->asking->how->ctx, log->replica, text, n);
}

/* A log that is followed also ends if the connection does, or the node begins another file. */
static void on_log_end(void *ctx, const struct kube_answer *answer)
{
    struct log *log = ctx;
    struct asking *q = log->asking;

    log->call = NULL;
    log->done |= log->whole || !q->how->follow;
    if (answer->status == 401 || answer->status == 403) {
        refused(q, answer);
        return;
    }
    if (!kube_ok(answer) && log->done)
        q->how->noted(q->how->ctx, answer->message);
    stop_if_shown(q);
}

static void open_log(struct log *log)
{
    auto_arena struct arena *a = arena_new();
    struct asking *q = log->asking;

    if (log->call || log->done || !log->writes)
        return;
    log->whole = log->ended;
    log->seen = 0;
    log->call = kube_send(
        q->at.api,
        &(struct kube_request){
            .method = "GET",
            .path = arena_printf(a, "/api/v1/namespaces/%s/pods/%s/log?container=%s%s",
                                 q->at.access.namespace_, log->pod, kube_query(a, log->container),
                                 q->how->follow ? "&follow=true" : ""),
            .patience_s = LOG_PATIENCE_S,
            .done = on_log_end,
            .line = on_line,
            .ctx = log});
}

static void on_look(uv_timer_t *timer)
{
    struct asking *q = timer->data;

    for (size_t i = 0; i < q->n_logs; i++)
        open_log(q->logs[i]);
    stop_if_shown(q);
}

static void see_container(struct log *log, const struct node *pod)
{
    const struct node *all = node_find(pod, "status", "containerStatuses", NULL);

    for (size_t i = 0; all && all->type == NODE_SEQ && i < all->n; i++) {
        const struct node *state = node_get(all->items[i], "state");

        if (strcmp(node_text(node_get(all->items[i], "name"), ""), log->container) != 0)
            continue;
        log->ended = !node_absent(state, "terminated");
        log->writes = log->ended || !node_absent(state, "running");
    }
}

static struct log *log_of(struct asking *q, const struct node *pod)
{
    const struct node *labels = node_find(pod, "metadata", "labels", NULL);
    const char *attempt = node_text(node_get(labels, KUBE_LABELS "attempt"), "1");
    struct log *log;

    for (size_t i = 0; i < q->n_logs; i++)
        if (strcmp(q->logs[i]->pod, meta(pod, "name")) == 0)
            return q->logs[i];
    log = xcalloc(1, sizeof(*log));
    log->asking = q;
    log->pod = xstrdup(meta(pod, "name"));
    log->container = xstrdup(kube_container_name(pod));
    log->replica = xasprintf("%s-%s%s%s", node_text(node_get(labels, KUBE_LABELS "role"), "?"),
                             node_text(node_get(labels, KUBE_LABELS "index"), "?"),
                             strcmp(attempt, "1") == 0 ? "" : " attempt ",
                             strcmp(attempt, "1") == 0 ? "" : attempt);
    GROW(q->logs, q->n_logs, q->cap_logs);
    q->logs[q->n_logs++] = log;
    return log;
}

static void pod_changed(void *ctx, enum watch_change change, const struct node *pod)
{
    struct log *log = log_of(ctx, pod);

    if (change == WATCH_GONE)
        log->done = true;
    else
        see_container(log, pod);
    open_log(log);
}

static void pods_listed(void *ctx)
{
    struct asking *q = ctx;

    q->all_pods = true;
    stop_if_shown(q);
}

static void watch_pods(struct asking *q, const struct node *object)
{
    const struct watch_client client = {pod_changed, ignore, pods_listed, trouble, q, NULL};
    const char *run = kube_owned_run(q->arena, meta(object, "name"), meta(object, "uid"));

    if (q->how->follow)
        (void)uv_timer_start(&q->look, on_look, LOOK_MS, LOOK_MS);
    q->pods = kube_watch_new(
        q->at.api, &q->at.loop,
        arena_printf(q->arena, "/api/v1/namespaces/%s/pods", q->at.access.namespace_),
        arena_printf(q->arena, "labelSelector=%s",
                     kube_query(q->arena, arena_printf(q->arena, KUBE_LABELS "run=%s", run))),
        &client);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void job_changed(void *ctx, enum watch_change change, const struct node *object)
{
    struct asking *q = ctx;

    if (q->how->name && strcmp(meta(object, "name"), q->how->name) != 0)
        return;
    if (change == WATCH_GONE && q->how->ask == JOBS_LIST)
        return;
    if (change == WATCH_GONE) {
        stop(q, err_set(q->e, -ESRCH, "MusterJob %s was deleted", q->how->name));
        return;
    }
    q->found = true;
    q->ended = has_ended(object);
    if (q->ended && !q->ended_at)
        q->ended_at = clock_mono();
    if (q->how->ask != JOBS_LOGS)
        q->how->job(q->how->ctx, object);
    else if (!q->pods)
        watch_pods(q, object);
    else
        stop_if_shown(q);
    if (q->how->ask == JOBS_FOLLOW && q->ended)
        stop(q, 0);
}

static void jobs_listed(void *ctx)
{
    struct asking *q = ctx;

    if (q->how->name && !q->found)
        not_there(q);
    else if (q->how->ask == JOBS_LIST || q->how->ask == JOBS_GET)
        stop(q, 0);
}

static void watch_jobs(struct asking *q)
{
    const struct watch_client client = {job_changed, ignore, jobs_listed, trouble, q, NULL};
    const char *name = q->how->name ? kube_query(q->arena, q->how->name) : NULL;

    q->job = kube_watch_new(
        q->at.api, &q->at.loop, q->collection,
        name ? arena_printf(q->arena, "fieldSelector=metadata.name%%3D%s", name) : "", &client);
}

/* --- what is asked of one --------------------------------------------------------------------- */

static void answered(void *ctx, const struct kube_answer *answer)
{
    struct asking *q = ctx;

    if (kube_ok(answer))
        stop(q, 0);
    else
        refused(q, answer);
}

/* {"preconditions": …}: what is deleted is what was looked at. */
static const struct node *delete_options(struct asking *q, const struct node *object)
{
    struct node *body = make_map(q->arena), *what;
    const char *key = q->how->ask == JOBS_DELETE ? "resourceVersion" : "uid";

    make_put(q->arena, body, "apiVersion", make_text(q->arena, "v1"));
    make_put(q->arena, body, "kind", make_text(q->arena, "DeleteOptions"));
    what = make_below(q->arena, body, "preconditions");
    make_put(q->arena, what, key, make_text(q->arena, meta(object, key)));
    return body;
}

static const struct node *pause_patch(struct asking *q)
{
    struct node *body = make_map(q->arena);

    make_put(q->arena, make_below(q->arena, body, "spec"), "pause",
             make_bool(q->arena, q->how->ask == JOBS_PAUSE));
    return body;
}

static const char *path_of(const struct asking *q)
{
    return arena_printf(q->arena, "%s/%s", q->collection, kube_query(q->arena, q->how->name));
}

static void got(void *ctx, const struct kube_answer *answer)
{
    struct asking *q = ctx;
    bool deletes = q->how->ask == JOBS_DELETE || q->how->ask == JOBS_CANCEL;

    if (!kube_ok(answer)) {
        refused(q, answer);
        return;
    }
    q->found = true;
    if (q->how->ask == JOBS_DELETE && !has_ended(answer->body)) {
        stop(q, err_set(q->e, -EBUSY, "%s has not ended; muster cancel stops it", q->how->name));
        return;
    }
    if (q->how->ask != JOBS_DELETE && has_ended(answer->body)) {
        stop(q, err_set(q->e, -EBUSY, "%s has ended", q->how->name));
        return;
    }
    (void)kube_send(q->at.api,
                    &(struct kube_request){
                        .method = deletes ? "DELETE" : "PATCH",
                        .path = path_of(q),
                        .type = deletes ? NULL : "application/merge-patch+json",
                        .body = deletes ? delete_options(q, answer->body) : pause_patch(q),
                        .patience_s = PATIENCE_S,
                        .done = answered,
                        .ctx = q,
                    });
}

/* What has ended is not stopped, and what has not is not removed. */
static void change_job(struct asking *q)
{
    (void)kube_send(
        q->at.api,
        &(struct kube_request){
            .method = "GET", .path = path_of(q), .patience_s = PATIENCE_S, .done = got, .ctx = q});
}

/* --- all of it -------------------------------------------------------------------------------- */

static void release(struct asking *q)
{
    kube_watch_free(q->job);
    kube_watch_free(q->pods);
    for (size_t i = 0; i < q->n_logs; i++) {
        if (q->logs[i]->call)
            kube_cancel(q->logs[i]->call);
        free(q->logs[i]->pod);
        free(q->logs[i]->container);
        free(q->logs[i]->replica);
        free(q->logs[i]);
    }
    free(q->logs);
    kube_session_close(&q->at);
}

int kubernetes_jobs(const struct engine_jobs *how, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    struct asking q = {.how = how, .arena = a, .e = e};
    int r = kube_session_open(a, how->context, how->namespace_, &q.at, e);

    if (r < 0)
        return r;
    (void)uv_timer_init(&q.at.loop, &q.look);
    q.look.data = &q;
    q.collection = arena_printf(a, "/apis/" OWN_API_VERSION "/namespaces/%s/" OWN_PLURAL,
                                q.at.access.namespace_);
    if (how->ask >= JOBS_PAUSE)
        change_job(&q);
    else
        watch_jobs(&q);
    (void)uv_run(&q.at.loop, UV_RUN_DEFAULT);
    release(&q);
    return q.result;
}
