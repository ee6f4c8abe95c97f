/* webhook.c - see webhook.h. */
#include "operator/webhook.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "doc/make.h"
#include "operator/cert.h"
#include "http/http.h"
#include "operator/review.h"

enum { LOOK_SOON_S = 10, LOOK_AGAIN_S = 300, ASK_S = 10 };
#define CONFIGURATION                                                                              \
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/muster-operator"
#define CERT "tls.crt"
#define KEY "tls.key"

struct webhook {
    struct controller *op;
    struct http_server *server; /* NULL: there is no certificate yet */
    char *host;                 /* SERVICE.NAMESPACE.svc */
    char *cert;                 /* that is used; NULL: none */
    uv_timer_t *look;
    bool asking; /* a request has no answer yet */
    bool told;   /* that it does not work, in the log */
};

static const char *secret_name(const struct controller *op)
{
    return op->flags->webhook_secret ? op->flags->webhook_secret : "muster-operator-webhook";
}

/* --- reviews ---------------------------------------------------------------------------------- */

static void handle(void *ctx, struct http_exchange *x, const struct http_request *rq,
                   struct http_answer *answer)
{
    const struct webhook *w = ctx;
    struct err e;

    (void)x;
    if (strcmp(rq->path, WEBHOOK_PATH) != 0) {
        answer->status = 404;
        strbuf_addstr(&answer->body, "Not Found\n");
    } else if (strcmp(rq->method, "POST") != 0) {
        answer->status = 405;
        strbuf_addstr(&answer->body, "Method Not Allowed\n");
    } else if (review_answer(&w->op->options, w->op->namespace_, rq->body, rq->body_len,
                             &answer->body, &e) < 0) {
        answer->status = 400;
        strbuf_addf(&answer->body, "%s\n", e.text);
    } else {
        answer->type = "application/json";
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

static void on_look(uv_timer_t *timer);

static void look_in(struct webhook *w, int seconds)
{
    w->asking = false;
    (void)uv_timer_start(w->look, on_look, (uint64_t)seconds * 1000, 0);
}

/* Once, until it works again: it is asked every ten seconds. */
static void not_now(struct webhook *w, const char *why)
{
    if (!w->told)
        tell(NULL, "warning", "the webhook does not work: %s", why);
    w->told = true;
    look_in(w, LOOK_SOON_S);
}

static struct kube_request request(struct webhook *w, const char *method, const char *path,
                                   void (*done)(void *, const struct kube_answer *))
{
    return (struct kube_request){
        .method = method, .path = path, .patience_s = ASK_S, .done = done, .ctx = w};
}

/* --- the configuration ------------------------------------------------------------------------ */

const struct node *webhook_patch(struct arena *a, const struct node *configuration,
                                 const char *bundle)
{
    const struct node *list = node_get(configuration, "webhooks");
    struct node *patch = make_seq(a);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *has = node_find(list->items[i], "clientConfig", "caBundle", NULL);
        struct node *put;

        if (strcmp(node_text(has, ""), bundle) == 0)
            continue;
        put = make_map(a);
        make_put(a, put, "op", make_text(a, "add"));
        make_put(a, put, "path",
                 make_text(a, arena_printf(a, "/webhooks/%zu/clientConfig/caBundle", i)));
        make_put(a, put, "value", make_text(a, bundle));
        make_add(a, patch, put);
    }
    return patch->n > 0 ? patch : NULL;
}

static void works(struct webhook *w)
{
    w->told = false;
    look_in(w, LOOK_AGAIN_S);
}

static void configuration_patched(void *ctx, const struct kube_answer *answer)
{
    struct webhook *w = ctx;

    if (!kube_ok(answer)) {
        not_now(w, answer->message);
        return;
    }
    tell(NULL, "info", "the API server asks the webhook about new jobs");
    works(w);
}

static const char *as_base64(struct arena *a, const char *text)
{
    char *out = ARENA_ARRAY(a, char, BASE64_TEXT(strlen(text)));

    base64_encode(text, strlen(text), out);
    return out;
}

static void configuration_seen(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct webhook *w = ctx;
    const struct node *patch = NULL;
    struct kube_request rq = request(w, "PATCH", CONFIGURATION, configuration_patched);

    if (!kube_ok(answer)) {
        not_now(w, answer->message);
        return;
    }
    patch = webhook_patch(a, answer->body, as_base64(a, w->cert));
    if (!patch) {
        works(w);
        return;
    }
    rq.type = "application/json-patch+json";
    rq.body = patch;
    (void)kube_send(w->op->api, &rq);
}

/* --- the certificate -------------------------------------------------------------------------- */

/* New connections are served with it. */
static int use(struct webhook *w, const char *cert, const char *key, struct err *e)
{
    struct tls_config *tls = NULL;
    int r;

    if (w->cert && strcmp(w->cert, cert) == 0)
        return 0;
    r = tls_config_new(cert, key, &tls, e);
    if (r == 0 && !w->server)
        r = http_server_new(
            w->op->loop, w->op->flags->webhook,
            &(struct http_service){.handle = handle, .ctx = w, .body_limit = LIMIT_HTTP_BODY_BYTES},
            &w->server, e);
    if (r < 0) {
        tls_config_free(tls);
        return r;
    }
    http_server_set_tls(w->server, tls);
    free(w->cert);
    w->cert = xstrdup(cert);
    tell(NULL, "info", "the webhook listens on port %d for %s", http_server_port(w->server),
         w->host);
    return 0;
}

static const char *from_base64(struct arena *a, const struct node *data, const char *key)
{
    const char *text = node_text(node_get(data, key), "");
    char *out = ARENA_ARRAY(a, char, BASE64_ROOM(strlen(text)) + 1);
    size_t n = 0;

    if (base64_decode(text, strlen(text), out, &n) < 0)
        return "";
    out[n] = '\0';
    return out;
}

/* Good for some time? *ret_cert and *ret_key are what the Secret has. */
static bool is_good(struct arena *a, const struct webhook *w, const struct node *secret,
                    const char **ret_cert, const char **ret_key)
{
    const struct node *data = node_get(secret, "data");
    int64_t days = 0;
    struct err e;

    *ret_cert = from_base64(a, data, CERT);
    *ret_key = from_base64(a, data, KEY);
    return cert_check(*ret_cert, *ret_key, w->host, &days, &e) == 0 && days >= CERT_RENEW_DAYS;
}

static void secret_written(void *ctx, const struct kube_answer *answer)
{
    struct webhook *w = ctx;

    if (kube_ok(answer) || answer->status == 409) /* another one was quicker */
        look_in(w, 0);
    else
        not_now(w, answer->message);
}

static const char *secrets_path(struct arena *a, const struct webhook *w)
{
    return arena_printf(a, "/api/v1/namespaces/%s/secrets", w->op->access.namespace_);
}

/* A new one: of `old`, if there is a Secret, its version says that nobody else has written it. */
static void write_secret(struct arena *a, struct webhook *w, const struct node *old)
{
    struct node *secret = make_map(a), *meta = make_below(a, secret, "metadata");
    struct node *data = make_below(a, secret, "data");
    const char *cert = NULL, *key = NULL, *path = secrets_path(a, w);
    const struct node *version = node_find(old, "metadata", "resourceVersion", NULL);
    struct kube_request rq;
    struct err e;

    if (cert_make(a, w->host, &cert, &key, &e) < 0) {
        not_now(w, e.text);
        return;
    }
    make_put(a, data, CERT, make_text(a, as_base64(a, cert)));
    make_put(a, data, KEY, make_text(a, as_base64(a, key)));
    if (version) {
        make_put(a, meta, "resourceVersion", version);
        rq =
            request(w, "PATCH", arena_printf(a, "%s/%s", path, secret_name(w->op)), secret_written);
        rq.type = "application/merge-patch+json";
    } else {
        make_put(a, secret, "apiVersion", make_text(a, "v1"));
        make_put(a, secret, "kind", make_text(a, "Secret"));
        make_put(a, secret, "type", make_text(a, "kubernetes.io/tls"));
        make_put(a, meta, "name", make_text(a, secret_name(w->op)));
        rq = request(w, "POST", path, secret_written);
    }
    rq.body = secret;
    (void)kube_send(w->op->api, &rq);
}

static void secret_seen(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct webhook *w = ctx;
    struct kube_request rq = request(w, "GET", CONFIGURATION, configuration_seen);
    const char *cert, *key;
    struct err e;

    if (!kube_ok(answer) && answer->status != 404) {
        not_now(w, answer->message);
    } else if (answer->status == 404 || !is_good(a, w, answer->body, &cert, &key)) {
        write_secret(a, w, kube_ok(answer) ? answer->body : NULL);
    } else if (use(w, cert, key, &e) < 0) {
        not_now(w, e.text);
    } else {
        (void)kube_send(w->op->api, &rq);
    }
}

static void on_look(uv_timer_t *timer)
{
    auto_arena struct arena *a = arena_new();
    struct webhook *w = timer->data;
    struct kube_request rq;

    if (w->asking)
        return;
    w->asking = true;
    rq = request(w, "GET", arena_printf(a, "%s/%s", secrets_path(a, w), secret_name(w->op)),
                 secret_seen);
    (void)kube_send(w->op->api, &rq);
}

/* --- beginning and end ------------------------------------------------------------------------ */

int webhook_begin(struct controller *op, struct err *e)
{
    const struct operator_flags *f = op->flags;
    struct http_server *probe = NULL;
    struct webhook *w;
    int r;

    if (!f->webhook || strcmp(f->webhook, "0") == 0)
        return 0;
    /* an address that cannot be had is told now, not when there is a certificate */
    r = http_server_new(op->loop, f->webhook, &(struct http_service){0}, &probe, e);
    if (r < 0)
        return err_wrap(e, r, "--webhook");
    http_server_free(probe);
    w = xcalloc(1, sizeof(*w));
    w->op = op;
    w->host = xasprintf("%s.%s.svc", f->webhook_service ? f->webhook_service : "muster-operator",
                        op->access.namespace_);
    w->look = xcalloc(1, sizeof(*w->look));
    (void)uv_timer_init(op->loop, w->look);
    w->look->data = w;
    op->webhook = w;
    (void)uv_timer_start(w->look, on_look, 0, 0);
    return 0;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void webhook_end(struct controller *op)
{
    struct webhook *w = op->webhook;

    if (!w)
        return;
    op->webhook = NULL;
    (void)uv_timer_stop(w->look);
    uv_close((uv_handle_t *)w->look, free_handle);
    http_server_free(w->server);
    free(w->host);
    free(w->cert);
    free(w);
}
