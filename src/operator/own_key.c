/* own_key.c - the key of the operators, from which those of jobs are made.
 *
 * Pods of one job prove to each other that they have the job's key (shim/peer.h), which comes to
 * them by exec. An operator that takes over has to know it, too: a pod that is made later gets the
 * same. So it is not random, but follows from the job's uid and a key in a Secret of the operator's
 * own namespace. No other object has it, and no right to read Secrets of jobs is needed.
 *
 * Without such a Secret (no right, or no namespace) the key is good for as long as this operator
 * lives; that is told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "doc/make.h"
#include "operator/own.h"

#define SECRET "muster-operator-key"
#define ENTRY "key"
enum { ASK_S = 20 };

static void ask(struct controller *op);

static const char *namespace_of(const struct controller *op)
{
    return op->lock_namespace ? op->lock_namespace : op->access.namespace_;
}

static void known(struct controller *op)
{
    op->key_known = true;
    for (size_t i = 0; i < op->n_jobs; i++)
        tend_soon(op->jobs[i]);
}

static void do_without(struct controller *op, const char *why)
{
    tell(NULL, "warning",
         "%s; MPI jobs that run when this operator ends cannot replace lost workers", why);
    arc4random_buf(op->key, sizeof(op->key));
    known(op);
}

static bool take(struct controller *op, const struct node *secret)
{
    const char *text = node_text(node_find(secret, "data", ENTRY, NULL), "");
    char bytes[BASE64_ROOM(2 * OWN_KEY_BYTES)];
    size_t n = 0;

    if (strlen(text) > 2 * OWN_KEY_BYTES || base64_decode(text, strlen(text), bytes, &n) < 0 ||
        n != OWN_KEY_BYTES)
        return false;
    memcpy(op->key, bytes, OWN_KEY_BYTES);
    return true;
}

static void made(void *ctx, const struct kube_answer *answer)
{
    struct controller *op = ctx;

    if (answer->status == 409)
        ask(op); /* another operator was quicker */
    else if (!kube_ok(answer))
        do_without(op, answer->message);
    else
        known(op);
}

static void make(struct controller *op)
{
    auto_arena struct arena *a = arena_new();
    struct node *secret = make_map(a), *meta = make_below(a, secret, "metadata");
    char text[BASE64_TEXT(OWN_KEY_BYTES)];

    arc4random_buf(op->key, sizeof(op->key));
    base64_encode(op->key, sizeof(op->key), text);
    make_put(a, secret, "apiVersion", make_text(a, "v1"));
    make_put(a, secret, "kind", make_text(a, "Secret"));
    make_put(a, meta, "name", make_text(a, SECRET));
    make_put(a, make_below(a, secret, "data"), ENTRY, make_text(a, text));
    (void)kube_send(op->api, &(struct kube_request){.method = "POST",
                                                    .path = arena_printf(a,
                                                                         "/api/v1/namespaces/%s/"
                                                                         "secrets",
                                                                         namespace_of(op)),
                                                    .body = secret,
                                                    .patience_s = ASK_S,
                                                    .done = made,
                                                    .ctx = op});
}

static void asked(void *ctx, const struct kube_answer *answer)
{
    struct controller *op = ctx;

    if (answer->status == 404)
        make(op);
    else if (!kube_ok(answer))
        do_without(op, answer->message);
    else if (take(op, answer->body))
        known(op);
    else
        do_without(op, "the Secret " SECRET " has no entry \"" ENTRY "\" of 32 bytes");
}

static void ask(struct controller *op)
{
    auto_arena struct arena *a = arena_new();

    (void)kube_send(op->api,
                    &(struct kube_request){.method = "GET",
                                           .path = arena_printf(a,
                                                                "/api/v1/namespaces/%s/secrets/"
                                                                "%s",
                                                                namespace_of(op), SECRET),
                                           .patience_s = ASK_S,
                                           .done = asked,
                                           .ctx = op});
}

void own_key_begin(struct controller *op)
{
    if (op->key_asked)
        return;
    op->key_asked = true;
    ask(op);
}

void own_key_of(const struct controller *op, const char *uid, unsigned char ret[OWN_KEY_BYTES])
{
    hmac_sha256(op->key, sizeof(op->key), uid, strlen(uid), ret);
}
