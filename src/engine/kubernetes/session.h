/* session.h - a loop and a client for a verb that asks a cluster for something and is done. */
#ifndef ENGINE_KUBERNETES_SESSION_H
#define ENGINE_KUBERNETES_SESSION_H

#include <uv.h>

#include "base/arena.h"
#include "base/err.h"
#include "engine/kubernetes/client.h"

struct kube_session {
    struct kube_access access;
    uv_loop_t loop;
    struct kube_client *api;
};

/* context, namespace_: options, or NULL. Texts are in the arena. On -errno there is nothing to
 * close. */
int kube_session_open(struct arena *a, const char *context, const char *namespace_,
                      struct kube_session *ret, struct err *e);

/* Ends all calls and timers. What watches is freed before. */
void kube_session_close(struct kube_session *s);

#endif
