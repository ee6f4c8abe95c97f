/* session.c - see session.h. */
#include "engine/kubernetes/session.h"

#include "engine/kubernetes/survey.h"

int kube_session_open(struct arena *a, const char *context, const char *namespace_,
                      struct kube_session *ret, struct err *e)
{
    int r = kubernetes_access(a, context, namespace_, &ret->access, e);

    if (r < 0)
        return r;
    if (uv_loop_init(&ret->loop) < 0)
        return err_set(e, -ENOMEM, "cannot make a loop");
    r = kube_client_new(&ret->loop, &ret->access, &ret->api, e);
    if (r < 0)
        (void)uv_loop_close(&ret->loop);
    return r;
}

static void close_any(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void kube_session_close(struct kube_session *s)
{
    kube_client_free(s->api);
    (void)uv_run(&s->loop, UV_RUN_NOWAIT);
    uv_walk(&s->loop, close_any, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s->loop);
}
