/* stream.h - a command in a container, its streams over one WebSocket (v5.channel.k8s.io).
 *
 * libcurl makes the connection, in a thread of libuv's, and encrypts; the frames are read and
 * written here. A server that is silent for too long is asked, and given up if it stays so: a
 * half-open connection looks like a quiet one.
 */
#ifndef ENGINE_KUBERNETES_STREAM_H
#define ENGINE_KUBERNETES_STREAM_H

#include "engine/kubernetes/client.h"

struct kube_stream;

enum { STREAM_IN, STREAM_OUT, STREAM_ERR };

struct stream_client {
    void (*opened)(void *ctx);
    void (*data)(void *ctx, int channel, const char *data, size_t n); /* STREAM_OUT, STREAM_ERR */
    /* Called once; the stream is freed afterwards. status: the command's exit status, or -1 with e:
     * it was not run, or the connection is lost. */
    void (*ended)(void *ctx, int status, const struct err *e);
    /* After kube_stream_ask(): the connection can take more. Called once for each. */
    void (*room)(void *ctx);
    void *ctx;
};

/* path: /api/v1/namespaces/NS/pods/POD/exec?container=…&command=…&stdin=1&stdout=1&stderr=1 */
struct kube_stream *kube_stream_new(struct kube_client *c, uv_loop_t *loop, const char *path,
                                    const struct stream_client *client);
void kube_stream_send(struct kube_stream *s, const char *data, size_t n); /* to its stdin */
void kube_stream_end_input(struct kube_stream *s);
/* Nothing is received meanwhile; the server waits. It is not given up for its silence then. */
void kube_stream_pause(struct kube_stream *s, bool pause);
/* Calls `room` from the loop as soon as little is left to be sent. For what is too much to be
 * handed over at once. */
void kube_stream_ask(struct kube_stream *s);
size_t kube_stream_pending(const struct kube_stream *s); /* bytes not sent yet */
void kube_stream_free(struct kube_stream *s);            /* `ended` is not called; NULL is fine */

#endif
