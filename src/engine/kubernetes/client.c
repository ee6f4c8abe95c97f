/* client.c - see client.h: libcurl's multi interface on libuv.
 *
 * libcurl says which sockets it wants watched and when it wants to be called; each socket is a
 * uv_poll, the time one uv_timer.
 */
#include "engine/kubernetes/client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "doc/json_pick.h"
#include "doc/json_read.h"
#include "doc/json_write.h"

enum {
    CONNECTIONS = 32,      /* bulk creation is fastest over this many */
    UNDER_WAY = 64,        /* requests that libcurl has: each costs memory, also while it waits */
    PATIENCE_S = 60,       /* until a request that gets no answer has failed */
    PAUSE_MS = 200,        /* before the first repetition; then twice as long each time */
    PAUSE_MOST_MS = 10000, /* … up to this */
    CONNECT_S = 10,
    ANSWER_S = 60, /* for a whole answer, if it is tried for that long */
};

struct kube_client {
    uv_loop_t *loop;
    const struct kube_access *acc;
    CURLM *multi;
    uv_timer_t *timer;
    struct kube_call *calls;
    struct kube_call *first, *last; /* that wait for others to end */
    unsigned under_way;
    struct kube_counts counts;
    bool has_lines;                /* perhaps: some call has */
    char *token;                   /* as a header, or NULL */
    struct curl_slist *connect_to; /* the server, if its certificate has another name; else NULL */
    unsigned seed;
};

struct kube_call {
    struct kube_call *prev, *next;
    struct kube_client *client;
    CURL *easy; /* NULL while it waits to be repeated, or for others */
    struct kube_call
        *after;         /* the one that waits longer; `waits` says whether it is in that list */
    bool waits, counts; /* counts: among those under way */
    struct curl_slist *headers;
    uv_timer_t *pause;
    char *method, *path, *type;
    struct strbuf body, in;
    size_t sent; /* bytes of body */
    bool streams, streamed;
    bool has_lines;         /* perhaps: they are given outside of libcurl's calls */
    bool inside, cancelled; /* in a function of the caller; it is not wanted any more */
    int patience;           /* s, from its beginning on */
    const char *const *pick;
    ns_t give_up; /* clock_mono() */
    unsigned tries;
    long retry_after_s;
    char error[CURL_ERROR_SIZE];
    void (*done)(void *ctx, const struct kube_answer *answer);
    void (*line)(void *ctx, const char *line, size_t n);
    void *ctx;
};

struct watched { /* a socket */
    uv_poll_t poll;
    struct kube_client *client;
    curl_socket_t fd;
};

/* --- libuv ------------------------------------------------------------------------------------ */

static void look(struct kube_client *c);

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watched *w = poll->data;
    struct kube_client *c = w->client;
    int flags = 0, running;

    if (status < 0)
        flags = CURL_CSELECT_ERR;
    flags |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    (void)curl_multi_socket_action(c->multi, w->fd, flags, &running);
    look(c);
}

static void on_time(uv_timer_t *timer)
{
    struct kube_client *c = timer->data;
    int running;

    (void)curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    look(c);
}

static int want_time(CURLM *multi, long ms, void *ctx)
{
    struct kube_client *c = ctx;

    (void)multi;
    if (ms < 0)
        (void)uv_timer_stop(c->timer);
    else
        (void)uv_timer_start(c->timer, on_time, ms > 0 ? (uint64_t)ms : 1, 0);
    return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct kube_client *c = ctx;
    struct watched *w = socket_ctx;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w) {
            (void)uv_poll_stop(&w->poll);
            uv_close((uv_handle_t *)&w->poll, on_closed);
            (void)curl_multi_assign(c->multi, fd, NULL);
        }
        return 0;
    }
    if (!w) {
        w = xcalloc(1, sizeof(*w));
        *w = (struct watched){.client = c, .fd = fd};
        if (uv_poll_init_socket(c->loop, &w->poll, fd) != 0) {
            free(w);
            return -1;
        }
        w->poll.data = w;
        (void)curl_multi_assign(c->multi, fd, w);
    }
    events |= what & CURL_POLL_IN ? UV_READABLE : 0;
    events |= what & CURL_POLL_OUT ? UV_WRITABLE : 0;
    (void)uv_poll_start(&w->poll, events, on_poll);
    return 0;
}

/* --- one request ------------------------------------------------------------------------------ */

/* A token in a file is replaced before it expires. */
const char *kube_authorization(struct kube_client *c)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *token = c->acc->token;

    if (c->acc->token_file &&
        io_read_file(AT_FDCWD, c->acc->token_file, LIMIT_FILE_BYTES, &text, NULL) == 0) {
        while (text.len > 0 && strchr(" \t\r\n", text.buf[text.len - 1]))
            strbuf_truncate(&text, text.len - 1);
        token = text.buf;
    }
    free(c->token);
    c->token = token ? xasprintf("Authorization: Bearer %s", token) : NULL;
    return c->token;
}

static const char *after_scheme(const struct kube_client *c)
{
    const char *p = strstr(c->acc->server, "://");

    return p ? p + 3 : c->acc->server;
}

const char *kube_host(struct arena *a, const struct kube_client *c)
{
    const char *host = after_scheme(c);

    return arena_strndup(a, host, strcspn(host, "/"));
}

const char *kube_server_path(const struct kube_client *c)
{
    const char *host = after_scheme(c);

    return host + strcspn(host, "/");
}

static void set_blob(CURL *easy, CURLoption option, const struct pem *pem)
{
    struct curl_blob blob = {
        .data = (void *)(uintptr_t)pem->text, .len = pem->len, .flags = CURL_BLOB_NOCOPY};

    if (pem->text)
        (void)curl_easy_setopt(easy, option, &blob);
}

/* tls-server-name is what libcurl believes to speak to; it connects to the server all the same. */
static char *url_of(const struct kube_client *c, const char *path)
{
    const char *name = c->acc->tls_server_name, *host = after_scheme(c);
    size_t n = strcspn(host, "/");
    const char *port = memrchr(host, ':', n);

    if (!c->connect_to)
        return xasprintf("%s%s", c->acc->server, path);
    if (port && memchr(port, ']', (size_t)(host + n - port)))
        port = NULL; /* an IPv6 address without a port */
    return xasprintf("%.*s%s%s%s", (int)(host - c->acc->server), c->acc->server, name,
                     port ? port : host + n, path);
}

static struct curl_slist *connect_to(const struct kube_client *c)
{
    auto_arena struct arena *a = arena_new();
    const char *host = kube_host(a, c), *port = strrchr(host, ':');
    bool has_port = port && !strchr(port, ']');

    if (!c->acc->tls_server_name || strncmp(c->acc->server, "https:", 6) != 0)
        return NULL;
    return curl_slist_append(NULL, arena_printf(a, "::%s%s", host, has_port ? "" : ":"));
}

/* SSLKEY_BLOB and its likes copy nothing: the access outlives the client. */
void *kube_handle(struct kube_client *c, const char *path)
{
    const struct kube_access *acc = c->acc;
    auto_free char *url = url_of(c, path);
    CURL *easy = curl_easy_init();

    if (!easy)
        abort(); /* out of memory */
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    if (acc->insecure) {
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (c->connect_to)
        (void)curl_easy_setopt(easy, CURLOPT_CONNECT_TO, c->connect_to);
    if (acc->proxy)
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, acc->proxy);
    if (acc->user)
        (void)curl_easy_setopt(easy, CURLOPT_USERNAME, acc->user);
    if (acc->password)
        (void)curl_easy_setopt(easy, CURLOPT_PASSWORD, acc->password);
    set_blob(easy, CURLOPT_CAINFO_BLOB, &acc->ca);
    set_blob(easy, CURLOPT_SSLCERT_BLOB, &acc->cert);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, &acc->key);
    return easy;
}

static void call_free(struct kube_call *call);

static void give_lines(struct kube_call *call)
{
    size_t done = 0;
    char *end;

    call->has_lines = false;
    call->inside = true;
    while (!call->cancelled && (end = memchr(call->in.buf + done, '\n', call->in.len - done))) {
        size_t n = (size_t)(end - call->in.buf) - done;

        *end = '\0';
        call->streamed = true;
        call->line(call->ctx, call->in.buf + done, n);
        done += n + 1;
    }
    call->inside = false;
    strbuf_consume(&call->in, done);
    if (call->cancelled)
        call_free(call);
}

/* A line may make its receiver send or cancel other requests, which libcurl does not take inside
 * its own functions; so they are not given there. Anything may have changed after each. */
static void give_all_lines(struct kube_client *c)
{
    struct kube_call *call = c->has_lines ? c->calls : NULL;

    c->has_lines = false;
    while (call) {
        if (!call->has_lines) {
            call = call->next;
            continue;
        }
        give_lines(call);
        call = c->calls;
    }
}

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    struct kube_call *call = ctx;
    long status = 0;

    (void)size; /* 1, always */
    if (call->in.len + n > LIMIT_KUBE_ANSWER_BYTES)
        return 0;
    strbuf_add(&call->in, data, n);
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->has_lines = call->streams && status == 200;
    call->client->has_lines |= call->has_lines;
    return n;
}

static size_t on_send(char *data, size_t size, size_t n, void *ctx)
{
    struct kube_call *call = ctx;
    size_t left = call->body.len - call->sent, now = left < size * n ? left : size * n;

    memcpy(data, call->body.buf + call->sent, now);
    call->sent += now;
    return now;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct kube_call *call = ctx;

    if (origin != SEEK_SET || offset < 0 || (size_t)offset > call->body.len)
        return CURL_SEEKFUNC_CANTSEEK;
    call->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void set_body(struct kube_call *call)
{
    call->sent = 0;
    (void)curl_easy_setopt(call->easy, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(call->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->body.len);
    (void)curl_easy_setopt(call->easy, CURLOPT_READFUNCTION, on_send);
    (void)curl_easy_setopt(call->easy, CURLOPT_READDATA, call);
    (void)curl_easy_setopt(call->easy, CURLOPT_SEEKFUNCTION, on_seek);
    (void)curl_easy_setopt(call->easy, CURLOPT_SEEKDATA, call);
}

/* Also of a server that sends a byte now and then. */
static long time_for_answer(const struct kube_call *call)
{
    ns_t left = (call->give_up - clock_mono()) / NS_PER_MS;

    return left < 1000 ? 1000 : left < ANSWER_S * 1000 ? (long)left : ANSWER_S * 1000L;
}

static void begin(struct kube_call *call)
{
    struct kube_client *c = call->client;
    CURL *easy = kube_handle(c, call->path);

    call->easy = easy;
    call->counts = !call->streams;
    c->under_way += call->counts;
    c->counts.requests++;
    call->error[0] = '\0';
    strbuf_truncate(&call->in, 0);
    if (kube_authorization(c))
        call->headers = curl_slist_append(call->headers, c->token);
    call->headers = curl_slist_append(call->headers, "Accept: application/json");
    call->headers = curl_slist_append(call->headers, "Expect:");
    if (c->connect_to) {
        auto_arena struct arena *a = arena_new();
        call->headers =
            curl_slist_append(call->headers, arena_printf(a, "Host: %s", kube_host(a, c)));
    }
    if (call->type) {
        auto_free char *type = xasprintf("Content-Type: %s", call->type);
        call->headers = curl_slist_append(call->headers, type);
        set_body(call);
    }
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    if (call->streams) {
        /* streams are long and many: one connection carries them */
        (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    } else {
        (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, time_for_answer(call));
    }
    (void)curl_multi_add_handle(c->multi, easy);
}

static void drop_easy(struct kube_call *call)
{
    if (call->easy) {
        (void)curl_multi_remove_handle(call->client->multi, call->easy);
        curl_easy_cleanup(call->easy);
    }
    call->client->under_way -= call->counts;
    call->counts = false;
    curl_slist_free_all(call->headers);
    call->easy = NULL;
    call->headers = NULL;
}

/* Those under way are enough for all connections; what is asked first is begun first. */
static void wait_or_begin(struct kube_call *call)
{
    struct kube_client *c = call->client;

    if (call->streams || (c->under_way < UNDER_WAY && !c->first)) {
        begin(call);
        return;
    }
    call->waits = true;
    if (c->last)
        c->last->after = call;
    else
        c->first = call;
    c->last = call;
}

static void leave_list(struct kube_call *call)
{
    struct kube_client *c = call->client;
    struct kube_call *before = NULL;

    if (!call->waits)
        return;
    for (struct kube_call *w = c->first; w != call; w = w->after)
        before = w;
    if (before)
        before->after = call->after;
    else
        c->first = call->after;
    if (c->last == call)
        c->last = before;
    call->waits = false;
    call->after = NULL;
}

static void begin_waiting(struct kube_client *c)
{
    while (c->first && c->under_way < UNDER_WAY) {
        struct kube_call *call = c->first;

        leave_list(call);
        call->give_up = clock_mono() + call->patience * NS_PER_S;
        begin(call);
    }
}

static void call_free(struct kube_call *call)
{
    leave_list(call);
    drop_easy(call);
    if (call->prev)
        call->prev->next = call->next;
    else
        call->client->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    if (call->pause) {
        (void)uv_timer_stop(call->pause);
        uv_close((uv_handle_t *)call->pause, on_closed);
    }
    strbuf_release(&call->body);
    strbuf_release(&call->in);
    free(call->method);
    free(call->path);
    free(call->type);
    free(call);
}

static void on_pause_over(uv_timer_t *timer)
{
    begin(timer->data);
}

/* The pause is random between half and all of its length, so that many clients do not come at
 * once. */
static bool repeat(struct kube_call *call)
{
    struct kube_client *c = call->client;
    unsigned ms = PAUSE_MS << (call->tries < 6 ? call->tries : 6);

    ms = ms < PAUSE_MOST_MS ? ms : PAUSE_MOST_MS;
    ms = ms / 2 + (unsigned)rand_r(&c->seed) % (ms / 2);
    if (call->retry_after_s > 0 && call->retry_after_s < PATIENCE_S)
        ms = (unsigned)call->retry_after_s * 1000;
    if (clock_mono() + ms * NS_PER_MS > call->give_up)
        return false;
    call->tries++;
    drop_easy(call);
    if (!call->pause) {
        call->pause = xcalloc(1, sizeof(*call->pause));
        (void)uv_timer_init(c->loop, call->pause);
        call->pause->data = call;
    }
    (void)uv_timer_start(call->pause, on_pause_over, ms, 0);
    return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* libcurl has one code for all that can be wrong with a certificate. */
static const char *why_not_trusted(struct arena *a, const struct kube_call *call)
{
    enum { NOT_ASKED = 1, TOO_EARLY = 9, EXPIRED = 10 }; /* OpenSSL's X509_V_ERR_…, but the first */
    const struct kube_access *acc = call->client->acc;
    const char *host = kube_host(a, call->client);
    long result = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &result);
    if (result == EXPIRED || result == TOO_EARLY)
        return result == EXPIRED ? "its certificate has expired"
                                 : "its certificate is not valid yet";
    if (result > NOT_ASKED)
        return arena_printf(a, "its certificate is not signed by the certificate authority in %s",
                            acc->source);
    return arena_printf(a,
                        "its certificate is not valid for %s; if the certificate is right, set "
                        "`tls-server-name` in %s to the name in it",
                        acc->tls_server_name ? acc->tls_server_name : host, acc->source);
}

/* What curl says without its own jargon; the server is named by the caller. */
static const char *why_no_answer(struct arena *a, const struct kube_call *call, CURLcode code)
{
    const char *text = call->error;

    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        return why_not_trusted(a, call);
    case CURLE_SSL_CACERT_BADFILE:
        return arena_printf(a, "the certificate authority in %s is not a certificate",
                            call->client->acc->source);
    case CURLE_OPERATION_TIMEDOUT:
        return "it does not respond";
    case CURLE_COULDNT_RESOLVE_HOST:
        return "its host name cannot be resolved";
    case CURLE_COULDNT_CONNECT:
        return "connection refused or host unreachable";
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return "it closed the connection";
    default:
        return *text ? text : curl_easy_strerror(code);
    }
}

static bool comes_again(long status, CURLcode code)
{
    if (status == 429 || status == 502 || status == 503 || status == 504)
        return true;
    return status == 0 && code != CURLE_PEER_FAILED_VERIFICATION && code != CURLE_WRITE_ERROR &&
           code != CURLE_SSL_CACERT_BADFILE && code != CURLE_SSL_CERTPROBLEM &&
           code != CURLE_URL_MALFORMAT;
}

/* Quotas and admission refuse with 403, too. */
static bool is_right_missing(long status, const char *message)
{
    return status == 403 && strstr(message, " cannot ");
}

static const struct node *read_body(struct arena *a, const struct kube_call *call, long status)
{
    auto_strbuf struct strbuf picked = STRBUF_INIT;

    if (status < 300 && call->pick && json_pick(call->in.buf, call->in.len, call->pick, &picked))
        return json_node(a, picked.buf, picked.len);
    return json_node(a, call->in.buf, call->in.len);
}

static void count(struct kube_counts *counts, long status)
{
    counts->answered += status > 0;
    counts->refused += status >= 400 && status < 500;
    counts->failed += status >= 500;
    counts->unanswered += status == 0;
}

struct kube_counts kube_client_counts(const struct kube_client *c)
{
    struct kube_counts counts = c->counts;

    counts.under_way = c->under_way;
    for (const struct kube_call *w = c->first; w; w = w->after)
        counts.waiting++;
    return counts;
}

static void finish(struct kube_call *call, CURLcode code)
{
    auto_arena struct arena *a = arena_new();
    struct kube_answer answer = {.reason = "", .message = ""};
    const char *server = call->client->acc->server;
    curl_off_t after = 0;
    long status = 0;

    if (call->cancelled) {
        call_free(call);
        return;
    }
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &after);
    call->retry_after_s = (long)after;
    if (code != CURLE_OK && !(call->streamed && status == 200))
        status = 0;
    count(&call->client->counts, status);
    if (!call->streamed && comes_again(status, code) && repeat(call))
        return;
    if (code == CURLE_OK && status == 200 && call->streams && call->in.len > 0) {
        strbuf_addch(&call->in, '\n'); /* the last line of a log need not have one */
        give_lines(call);
        if (call->cancelled) {
            call_free(call);
            return;
        }
    }
    answer.status = (int)status;
    if (code == CURLE_WRITE_ERROR)
        answer.message = arena_printf(a, "%s %s: the answer is larger than %d MiB", call->method,
                                      call->path, LIMIT_KUBE_ANSWER_BYTES >> 20);
    else if (status == 0)
        answer.message = arena_printf(a, "no answer from the API server %s: %s", server,
                                      why_no_answer(a, call, code));
    if (status != 0 && call->in.len > 0)
        answer.body = read_body(a, call, status);
    if (status >= 300) {
        answer.reason = node_text(node_get(answer.body, "reason"), "");
        answer.message = node_text(node_get(answer.body, "message"), "");
        answer.no_right = is_right_missing(status, answer.message);
        answer.message = arena_printf(a, "%s %s: %s (%ld%s%s)%s", call->method, call->path,
                                      *answer.message ? answer.message : "refused", status,
                                      *answer.reason ? " " : "", answer.reason,
                                      answer.no_right ? KUBE_ROLE_HINT : "");
    }
    if (status == 401)
        answer.message = arena_printf(a,
                                      "the API server %s does not accept the credentials in %s "
                                      "(401 Unauthorized); they may have expired",
                                      server, call->client->acc->source);
    /* it may send others, or free the client */
    void (*done)(void *, const struct kube_answer *) = call->done;
    void *ctx = call->ctx;
    call_free(call);
    if (done)
        done(ctx, &answer);
}

static void look(struct kube_client *c)
{
    CURLMsg *msg;
    int left;

    give_all_lines(c);
    while ((msg = curl_multi_info_read(c->multi, &left))) {
        char *call;

        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode code = msg->data.result;
        (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &call);
        finish((struct kube_call *)(void *)call, code);
    }
    begin_waiting(c);
}

/* ---------------------------------------------------------------------------------------------- */

struct kube_call *kube_send(struct kube_client *c, const struct kube_request *rq)
{
    struct kube_call *call = xcalloc(1, sizeof(*call));
    int patience = rq->patience_s ? rq->patience_s : PATIENCE_S;

    *call = (struct kube_call){
        .next = c->calls,
        .client = c,
        .method = xstrdup(rq->method),
        .path = xstrdup(rq->path),
        .type = rq->body ? xstrdup(rq->type ? rq->type : "application/json") : NULL,
        .body = STRBUF_INIT,
        .in = STRBUF_INIT,
        .streams = rq->line,
        .patience = patience,
        .pick = rq->pick,
        .give_up = clock_mono() + patience * NS_PER_S,
        .done = rq->done,
        .line = rq->line,
        .ctx = rq->ctx,
    };
    if (rq->body)
        json_write(&call->body, rq->body);
    if (c->calls)
        c->calls->prev = call;
    c->calls = call;
    wait_or_begin(call);
    return call;
}

void kube_cancel(struct kube_call *call)
{
    if (!call)
        return;
    if (call->inside)
        call->cancelled = true;
    else {
        struct kube_client *c = call->client;

        call_free(call);
        begin_waiting(c);
    }
}

int kube_client_new(uv_loop_t *loop, const struct kube_access *acc, struct kube_client **ret,
                    struct err *e)
{
    struct kube_client *c;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return err_set(e, -ENOMEM, "cannot initialize libcurl");
    c = xcalloc(1, sizeof(*c));
    c->loop = loop;
    c->acc = acc;
    c->connect_to = connect_to(c);
    c->seed = (unsigned)clock_mono();
    c->multi = curl_multi_init();
    c->timer = xcalloc(1, sizeof(*c->timer));
    (void)uv_timer_init(loop, c->timer);
    c->timer->data = c;
    (void)curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    (void)curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    (void)curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_time);
    (void)curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    (void)curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    (void)curl_multi_setopt(c->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)CONNECTIONS);
    *ret = c;
    return 0;
}

void kube_client_free(struct kube_client *c)
{
    if (!c)
        return;
    while (c->calls)
        call_free(c->calls);
    curl_slist_free_all(c->connect_to);
    (void)curl_multi_cleanup(c->multi);
    (void)uv_timer_stop(c->timer);
    uv_close((uv_handle_t *)c->timer, on_closed);
    free(c->token);
    free(c);
}

const char *kube_query(struct arena *a, const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    const char *copy = arena_strdup(a, escaped ? escaped : "");

    curl_free(escaped);
    return copy;
}
