/* pod_events.c - events of the run's pods, and the pods in numbers.
 *
 * A pod's own status does not say that a volume cannot be mounted, which image is being pulled or
 * that the cluster is scaling up; its events do. They are read only once some pod has waited for a
 * moment, and a run goes on without them where the right to read them is missing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kubernetes/parts.h"

enum { MOMENT_MS = 3000 };

static struct pod *find_pod(struct kubernetes *kb, const char *name)
{
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].name && strcmp(kb->pods[i].name, name) == 0)
            return &kb->pods[i];
    return NULL;
}

static void answered(void *ctx, const struct kube_answer *answer)
{
    struct pod *p = ctx;
    const struct node *items = node_get(answer->body, "items");

    if (!kube_ok(answer) || !items || items->type != NODE_SEQ || items->n != 1 || p->kb->releasing)
        return;
    pod_look(p, items->items[0]);
    cluster_turn(p->kb);
}

/* What it changes is told when the pod is looked at again. */
static void changed(void *ctx, enum watch_change change, const struct node *event)
{
    struct kubernetes *kb = ctx;
    struct pod_news news;

    if (change == WATCH_GONE || kb->releasing || !pod_news(event, &news))
        return;
    struct pod *p = find_pod(kb, news.pod);
    if (!p || p->state != POD_CREATED || (p->news_text && strcmp(p->news_text, news.message) == 0))
        return;
    free(p->news_reason);
    free(p->news_text);
    p->news_reason = xstrdup(news.reason);
    p->news_text = xstrdup(news.message);
    p->pulls = strcmp(news.reason, "Pulling") == 0;
    cluster_ask_pod(p, answered);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (answer->status != 403 || kb->events_refused || kb->releasing)
        return;
    kb->events_refused = true;
    kb->client->note(
        kb->client->ctx,
        "no right to list and watch events: why a pod does not start may stay unknown");
}

static void on_time(uv_timer_t *timer)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = timer->data;
    bool any = false;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        any |= kb->pods[i].state == POD_CREATED;
    if (kb->events && kb->events_refused)
        events_end(kb);
    if (kb->events || kb->events_refused || kb->releasing || !any)
        return;
    kb->events = kube_watch_new(
        kb->api, kb->loop, kube_path(a, kb, "events"), "fieldSelector=involvedObject.kind%3DPod",
        &(struct watch_client){
            .changed = changed, .trouble = trouble, .ctx = kb, .pick = pod_news_pick});
    /* a refusal is told from inside the watch, which can only be freed later */
    (void)uv_timer_start(timer, on_time, 2 * MOMENT_MS, 0);
}

void events_wanted(struct kubernetes *kb)
{
    if (!kb->events && !kb->events_refused && !uv_is_active((uv_handle_t *)kb->events_timer))
        (void)uv_timer_start(kb->events_timer, on_time, MOMENT_MS, 0);
}

void events_end(struct kubernetes *kb)
{
    (void)uv_timer_stop(kb->events_timer);
    kube_watch_free(kb->events);
    kb->events = NULL;
}

/* --- in numbers ------------------------------------------------------------------------------- */

void pods_status(const struct kubernetes *kb, struct strbuf *out)
{
    enum { PENDING, PULLING, STARTING, RUNNING, N_WORDS };
    static const char *const words[] = {"pending", "pulling", "starting", "running"};
    auto_strbuf struct strbuf code = STRBUF_INIT;
    uint32_t n[N_WORDS] = {0};
    bool any = false;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        const struct pod *p = &kb->pods[i];

        if (p->state == POD_RUNS)
            n[RUNNING]++;
        else if (p->state == POD_WANTED || (p->state == POD_CREATED && p->stage == STAGE_PENDING))
            n[PENDING]++;
        else if (p->state == POD_CREATED)
            n[p->pulls ? PULLING : STARTING]++;
    }
    for (size_t i = 0; i < N_WORDS; i++) {
        if (n[i] == 0)
            continue;
        strbuf_addf(out, "%s%u %s%s", any ? ", " : "", n[i],
                    any         ? ""
                    : n[i] == 1 ? "pod "
                                : "pods ",
                    words[i]);
        any = true;
    }
    if (pod_code_progress(kb, &code))
        strbuf_addf(out, "%s%s", any ? "; " : "", code.buf);
}
