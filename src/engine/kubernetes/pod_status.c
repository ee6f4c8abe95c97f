/* pod_status.c - what is new of the run's pods becomes observations.
 *
 * A pod that waits says for what (pod_facts.h), and may be given up: an image that cannot be had is
 * refused after a while, or at once if no later try can succeed. A pod that somebody removes is
 * remembered as such, so that the ends of its processes, which the shim reports with the signal
 * that they got, are told with the reason. A pod whose container has ended says how; that counts
 * where the shim, which was in it, could not.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/kubernetes/parts.h"

static struct pod *find_pod(struct kubernetes *kb, const struct node *object)
{
    const char *name = node_text(node_find(object, "metadata", "name", NULL), "");

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].name && strcmp(kb->pods[i].name, name) == 0)
            return &kb->pods[i];
    return NULL; /* an earlier attempt's, or an earlier generation */
}

static void set(char **p, const char *text)
{
    free(*p);
    *p = text ? xstrdup(text) : NULL;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void tell_waiting(struct pod *p, const char *why, enum cause_kind fate)
{
    struct kubernetes *kb = p->kb;
    struct observation o = {.kind = OBS_WAITING,
                            .at = clock_run(),
                            .attempt = p->attempt,
                            .replica = p->replica,
                            .text = why,
                            .free = -1,
                            .end.fate = fate};

    if (!why ? !p->waits_for : p->waits_for && strcmp(p->waits_for, why) == 0)
        return;
    set(&p->waits_for, why);
    kb->client->observed(kb->client->ctx, &o);
}

void pod_refuse(struct pod *p, enum cause_kind fate, const char *why)
{
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);

    kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_REFUSED,
                                                                .at = clock_run(),
                                                                .attempt = p->attempt,
                                                                .replica = p->replica,
                                                                .text = why,
                                                                .end.fate = fate});
    for (uint32_t i = 0; i < rp->n_processes; i++)
        kb->running[rp->first_process + i] = false;
    cluster_delete_pod(p);
    pod_close(p);
    p->state = POD_ENDED;
}

void pod_unwanted(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);

    p->ours = true;
    if ((p->state != POD_CREATED && p->state != POD_WANTED) || p->is_set_up)
        return;
    cluster_delete_pod(p);
    pod_close(p);
    p->state = POD_ENDED;
    for (uint32_t i = 0; i < rp->n_processes; i++)
        kb->running[rp->first_process + i] = false;
    kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_GONE,
                                                                .at = clock_run(),
                                                                .attempt = p->attempt,
                                                                .replica = p->replica});
}

static void pulled_for_too_long(uv_timer_t *timer)
{
    struct pod *p = timer->data;

    if (p->state != POD_CREATED || !p->pull_failed || p->kb->releasing)
        return;
    pod_refuse(p, CAUSE_IMAGE, p->waits_for);
    cluster_turn(p->kb);
}

/* Between two tries the kubelet may only say that it waits for the next. */
static const char *words_of_pull(const struct pod *p, const char *waits)
{
    return p->pull_failed && p->waits_for && strstr(waits, ": Back-off") ? p->waits_for : waits;
}

/* What the pod's own status does not say, an event may. */
static const char *reason_of(struct arena *a, const struct pod *p, const struct pod_facts *f)
{
    const char *reason = p->news_reason ? p->news_reason : "";

    if (f->trouble == TROUBLE_PULL)
        return words_of_pull(p, f->waits);
    if (f->waits && strcmp(reason, "TriggeredScaleUp") == 0)
        return arena_printf(a, "%s; the cluster is scaling up (%s)", f->waits, p->news_text);
    if (f->waits)
        return f->waits;
    if (f->stage == STAGE_PENDING)
        return "no node is assigned yet";
    if (strncmp(reason, "Failed", 6) == 0)
        return arena_printf(a, "%s: %s", reason, p->news_text);
    return p->pulls ? p->news_text : "its container is being created";
}

static void look_at_waiting(struct arena *a, struct pod *p, const struct pod_facts *f)
{
    const char *why = reason_of(a, p, f);

    events_wanted(p->kb);
    tell_waiting(p, why, f->fate);
    if (f->trouble == TROUBLE_FOREVER) {
        pod_refuse(p, f->fate, why);
    } else if (f->trouble == TROUBLE_PULL && !p->pull_failed) {
        p->pull_failed = clock_mono();
        (void)uv_timer_start(p->timer, pulled_for_too_long, LIMIT_IMAGE_WAIT_S * 1000, 0);
    } else if (f->trouble == TROUBLE_NONE && p->pull_failed) {
        p->pull_failed = 0;
        (void)uv_timer_stop(p->timer);
    }
}

/* --- removed, or out of sight ----------------------------------------------------------------- */

/* The core hears of it at once: mpirun may fail because of it long before the pod has ended. */
static void look_at_removal(struct pod *p, const struct pod_facts *f)
{
    struct kubernetes *kb = p->kb;
    ns_t now = clock_run();

    if (!f->removed || p->ours || p->removed == CAUSE_EVICTED || p->removed == f->removed)
        return;
    if (!p->removed)
        p->removed_at = p->ended_at && p->ended_at < now ? p->ended_at : now;
    p->removed = f->removed;
    p->gone_by = clock_mono() + (f->grace_s + LIMIT_REMOVAL_S) * NS_PER_S;
    set(&p->why, f->why);
    kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_REMOVAL,
                                                                .at = p->removed_at,
                                                                .attempt = p->attempt,
                                                                .replica = p->replica,
                                                                .text = p->why,
                                                                .end.fate = p->removed});
}

void pod_tell_sight(struct pod *p, bool unseen)
{
    struct kubernetes *kb = p->kb;
    struct observation o = {.kind = unseen ? OBS_UNKNOWN : OBS_WAITING, /* it waits for nothing */
                            .at = clock_run(),
                            .attempt = p->attempt,
                            .replica = p->replica,
                            .free = -1};

    if (p->unseen == unseen)
        return;
    p->unseen = unseen;
    kb->client->observed(kb->client->ctx, &o);
}

/* --- what it is ------------------------------------------------------------------------------- */

enum { GENERATIONS = 5 };

/* Nothing had begun in it: another one takes its place. */
static bool replace(struct pod *p)
{
    struct kubernetes *kb = p->kb;

    if (p->is_set_up || p->ours || p->generation >= GENERATIONS)
        return false;
    auto_free char *text = xasprintf("pod %s was removed before it started; creating it again%s%s",
                                     p->name, p->removed == CAUSE_EVICTED ? ": " : "",
                                     p->removed == CAUSE_EVICTED ? p->why : "");
    kb->client->note(kb->client->ctx, text);
    kube_stream_free(p->stream);
    p->stream = NULL;
    p->state = POD_ENDED;
    set(&p->ip, NULL);
    cluster_want_pod(p, p->attempt);
    return true;
}

static void look_at_end(struct pod *p, const struct pod_facts *f)
{
    if (p->init_call || (p->removed && replace(p)))
        return;
    p->container_ended = true;
    p->end = f->end;
    p->end.at = clock_run();
    if (p->end.oom)
        p->end.memory_limit = pod_replica(p)->role->res.memory_limit;
    if (*p->end.init)
        pod_fetch_init_log(p);
    else
        pod_container_ended(p);
}

void pod_look(struct pod *p, const struct node *object)
{
    auto_arena struct arena *a = arena_new();
    const struct pod_facts f = pod_facts(a, object);

    if (p->state == POD_NONE || p->state == POD_WANTED || p->state == POD_ENDED)
        return;
    p->seen = true;
    if (*f.ip && !p->ip)
        p->ip = xstrdup(f.ip);
    p->stage = f.stage;
    look_at_removal(p, &f);
    switch (f.stage) {
    case STAGE_ENDED:
        look_at_end(p, &f);
        break;
    case STAGE_RUNS:
        if (p->state == POD_CREATED) {
            tell_waiting(p, NULL, CAUSE_NONE);
            (void)uv_timer_stop(p->timer);
            p->state = POD_RUNS;
            pod_connect(p);
        }
        if (f.out_of_sight || !p->lost_at)
            pod_tell_sight(p, f.out_of_sight);
        break;
    default:
        if (p->state == POD_CREATED)
            look_at_waiting(a, p, &f);
        break;
    }
}

/* The shim may have more to say: its container can outlive the object. */
void pod_is_missing(struct pod *p)
{
    auto_free char *why =
        xasprintf("its pod %s was deleted; the API server does not say by whom", p->name);

    if (p->state == POD_NONE || p->state == POD_WANTED || p->state == POD_ENDED || p->init_call ||
        replace(p))
        return;
    look_at_removal(p, &(struct pod_facts){.removed = CAUSE_GONE, .why = why});
    if (!p->container_ended) {
        p->container_ended = true;
        p->end = ENDING_UNKNOWN;
    }
    pod_container_ended(p);
}

static void changed(void *ctx, enum watch_change change, const struct node *object)
{
    struct kubernetes *kb = ctx;
    struct pod *p = find_pod(kb, object);

    if (!p || kb->releasing)
        return;
    if (change == WATCH_THERE || p->is_set_up)
        pod_look(p, object);
    if (change == WATCH_GONE)
        pod_is_missing(p);
    cluster_turn(kb);
}

static void trouble(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (answer->no_right)
        cluster_lacks_right(kb, answer->message);
    else if (!kb->releasing)
        kb->client->note(kb->client->ctx, answer->message);
}

static void synced(void *ctx)
{
    attach_synced(ctx);
}

void pods_watch(struct kubernetes *kb)
{
    auto_arena struct arena *a = arena_new();

    kb->watch = kube_watch_new(
        kb->api, kb->loop, kube_path(a, kb, "pods"),
        arena_printf(a, "labelSelector=%s", kube_query(a, kube_selector(a, &kb->run))),
        &(struct watch_client){
            .changed = changed,
            .synced = synced,
            .trouble = trouble,
            .ctx = kb,
            .pick = pod_facts_pick,
        });
}
