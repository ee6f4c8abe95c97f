/* owned.c - see owned.h. */
#include "engine/kubernetes/owned.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kubernetes/parts.h"
#include "engine/kubernetes/survey.h"
#include "shim/wire.h"

enum { LEAVE_S = 10 }; /* for shims to end; then their pods are deleted */

/* --- beginning -------------------------------------------------------------------------------- */

int kubernetes_open_owned(const struct engine_open *how, const struct kube_owned *owned,
                          struct engine **ret, struct err *e)
{
    struct engine_open open = *how;
    struct kubernetes *kb;
    int r;

    open.scratch_fd = open.logs_fd = -1;
    kb = kubernetes_new(&open);
    struct kube_owner *owner = ARENA_NEW(kb->arena, struct kube_owner);
    *owner = (struct kube_owner){arena_strdup(kb->arena, owned->owner.api_version),
                                 arena_strdup(kb->arena, owned->owner.kind),
                                 arena_strdup(kb->arena, owned->owner.name),
                                 arena_strdup(kb->arena, owned->owner.uid)};
    kb->owned = true;
    kb->run.owner = owner;
    kb->run.uid = owner->uid;
    kb->access = *owned->access;
    kb->code = owned->code;
    memcpy(kb->away.key, owned->key, sizeof(kb->away.key));
    attach_prepare(kb, how->job);
    if (owned->launches)
        attach_read_launches(kb, how->job, arena_strdup(kb->arena, owned->launches));
    r = cluster_open(kb, e);
    if (r == 0 && cluster_make_parts(kb))
        attach_find_pods(kb);
    return kubernetes_finish_open(kb, r, ret);
}

void kubernetes_owned_launches(const struct engine *en, struct strbuf *out)
{
    const struct kubernetes *kb = (const struct kubernetes *)en;

    launches_write(&kb->launches, kb->launches_of, out);
}

const char *kubernetes_owned_pod(const struct engine *en, uint32_t replica, uint32_t attempt,
                                 const char **ret_container)
{
    auto_arena struct arena *a = arena_new();
    const struct kubernetes *kb = (const struct kubernetes *)en;
    const struct pod *p = &kb->pods[replica];
    static char container[LIMIT_NAME + 1];

    if (!p->name || p->attempt != attempt)
        return NULL;
    (void)snprintf(container, sizeof(container), "%s",
                   kube_container_name(kube_pod(a, &kb->run, pod_replica(p), attempt, 1)));
    *ret_container = container;
    return p->name;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void all_left(struct kubernetes *kb)
{
    if (kb->released)
        return;
    kb->released = true;
    (void)uv_timer_stop(kb->heartbeat);
    kb->client->released(kb->client->ctx);
}

void owned_left(struct kubernetes *kb)
{
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].stream)
            return;
    all_left(kb);
}

/* A shim that has not ended by now does not answer: its pod would run for ever. */
static void on_late(uv_timer_t *timer)
{
    struct kubernetes *kb = timer->data;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].stream) {
            cluster_delete_pod(&kb->pods[i]);
            pod_close(&kb->pods[i]);
        }
    all_left(kb);
}

void owned_end(struct kubernetes *kb)
{
    bool waits = false;

    if (kb->releasing)
        return;
    kb->releasing = true;
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        if (p->stream && p->ready && kb->plan->spec->clean_up != CLEAN_UP_ALL) {
            wire_frame_end(pod_out(p), wire_frame_begin(pod_out(p), WIRE_END));
            pod_flush(p);
            waits = true;
            continue;
        }
        if (p->state != POD_ENDED || kb->plan->spec->clean_up == CLEAN_UP_ALL)
            cluster_delete_pod(p);
        pod_close(p);
    }
    /* the caller frees the engine when it is released, which must not happen in this call */
    (void)uv_timer_start(kb->heartbeat, on_late, waits ? LEAVE_S * 1000 : 0, 0);
}
