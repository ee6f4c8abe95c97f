/* watch.h - a collection of objects as it is, and every change from then on.
 *
 * Lists page by page, then watches from there; when the watch ends it goes on where it was, and
 * when the server has forgotten that place (410) it lists again. It never gives up: while the
 * server does not answer, `trouble` says so once, and `synced` says that all is known again.
 */
#ifndef ENGINE_KUBERNETES_WATCH_H
#define ENGINE_KUBERNETES_WATCH_H

#include "engine/kubernetes/client.h"

enum watch_change { WATCH_THERE, WATCH_GONE };

struct watch_client {
    /* The object is there as `object` says (new, changed, or only listed again), or was removed. */
    void (*changed)(void *ctx, enum watch_change change, const struct node *object);
    void (*listing)(void *ctx); /* what is not reported before `synced` does not exist */
    void (*synced)(void *ctx);
    /* The server refuses it (a right is missing), or does not answer. */
    void (*trouble)(void *ctx, const struct kube_answer *answer);
    void *ctx;
    /* What is read of an object (json_pick.h), metadata.resourceVersion aside; NULL: all. */
    const char *const *pick;
};

struct kube_watch;

/* path: /api/v1/namespaces/NS/pods; query: "labelSelector=…", or "". */
struct kube_watch *kube_watch_new(struct kube_client *c, uv_loop_t *loop, const char *path,
                                  const char *query, const struct watch_client *client);
void kube_watch_free(struct kube_watch *w); /* NULL is fine; the loop must run once more */

#endif
