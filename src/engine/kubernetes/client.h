/* client.h - requests to one API server, on a libuv loop.
 *
 * Many requests are in flight at once; nothing waits. A request that got no answer, or was told to
 * come again (429, 503), is sent again after a pause that grows, until its time is over: all that
 * Muster asks is idempotent, because names are chosen by the client. `done` is called exactly once,
 * unless the call is cancelled before.
 *
 * Answers are trees in an arena of their own, valid during the callback.
 */
#ifndef ENGINE_KUBERNETES_CLIENT_H
#define ENGINE_KUBERNETES_CLIENT_H

#include <uv.h>

#include "base/err.h"
#include "doc/tree.h"
#include "engine/kubernetes/access.h"

struct kube_client;
struct kube_call;

/* acc must outlive the client. */
int kube_client_new(uv_loop_t *loop, const struct kube_access *acc, struct kube_client **ret,
                    struct err *e);
/* Cancels all calls. The loop must run once more afterwards. NULL is fine. */
void kube_client_free(struct kube_client *c);

struct kube_answer {
    int status;          /* of HTTP; 0: there was no answer */
    const char *reason;  /* the server's: "AlreadyExists", "Forbidden", …; "" if there is none */
    const char *message; /* one sentence, complete: with method, path and what went wrong */
    bool no_right;       /* 403 for want of a right; the message says which */
    const struct node *body; /* NULL if there is none, or of a stream */
};

#define KUBE_ROLE_HINT                                                                             \
    "; doc/kubernetes-role.yaml is a Role with the rights that muster run needs, "                 \
    "doc/kubernetes-submit-role.yaml one for muster submit"

static inline bool kube_ok(const struct kube_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

struct kube_request {
    const char *method, *path; /* path with its query; copied */
    const struct node *body;   /* or NULL; written at once */
    const char *type;          /* of the body; NULL: application/json */
    int patience_s;            /* how long it is tried; 0: 60 s */
    /* What is read of a good answer (json_pick.h); NULL: all. Must outlive the call. */
    const char *const *pick;
    void (*done)(void *ctx, const struct kube_answer *answer);
    /* A stream: each line as it comes. It is not repeated after its first line. */
    void (*line)(void *ctx, const char *line, size_t n);
    void *ctx;
};

struct kube_call *kube_send(struct kube_client *c, const struct kube_request *rq);
void kube_cancel(struct kube_call *call); /* its functions are not called any more */

struct kube_counts {
    uint64_t requests; /* that were sent; repetitions count */
    uint64_t answered, refused /* 4xx */, failed /* 5xx */, unanswered;
    unsigned under_way, waiting;
};
struct kube_counts kube_client_counts(const struct kube_client *c);

/* What is sent with every request, for others that speak to the same server (stream.h): an easy
 * handle with address, TLS and credentials for that path. */
void *kube_handle(struct kube_client *c, const char *path);
/* "Authorization: …", or NULL; good until the next call. */
const char *kube_authorization(struct kube_client *c);
const char *kube_host(struct arena *a, const struct kube_client *c); /* "HOST:PORT" */
const char *kube_server_path(const struct kube_client *c);           /* before every path, or "" */

/* Percent-encodes a value of a query; in the arena. */
const char *kube_query(struct arena *a, const char *text);

#endif
