/* stream.c - see stream.h. */
#include "engine/kubernetes/stream.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "doc/json_read.h"
#include "engine/kubernetes/websocket.h"

enum {
    PING_S = 15,              /* a silent server is asked after this */
    SILENCE_S = 45,           /* and is lost after this */
    ANSWER_BYTES = 64 * 1024, /* of the answer to the upgrade */
    CHANNEL_STATUS = 3,
    CHANNEL_CLOSE = 255, /* v5: one byte with the channel that ends */
    PIECE = 32 * 1024,
    LITTLE = 64 * 1024, /* as much as a connection has to have while more is fetched */
};

enum state { CONNECTING, UPGRADING, OPEN, ENDED };

struct kube_stream {
    uv_work_t work; /* first: freed with it */
    uv_loop_t *loop;
    struct stream_client to;
    CURL *easy;
    CURLcode connected;
    char error[CURL_ERROR_SIZE];
    uv_poll_t *poll;
    uv_timer_t *timer;
    enum state state;
    bool freed; /* by its owner, while it connects */
    bool inside;
    struct strbuf in, out, message;
    /* What was given to TLS and not taken whole: it must be given again as it is, at the same
     * address. The first `gone` bytes have been taken. */
    struct strbuf going;
    size_t gone;
    bool asked; /* for room */
    ns_t heard;
    bool input_ended, paused;
    int status; /* of the command; -1: not known yet */
    struct err e;
    char *request;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void drop(struct kube_stream *s)
{
    if (s->poll) {
        (void)uv_poll_stop(s->poll);
        uv_close((uv_handle_t *)s->poll, on_closed);
    }
    if (s->timer) {
        (void)uv_timer_stop(s->timer);
        uv_close((uv_handle_t *)s->timer, on_closed);
    }
    s->poll = NULL;
    s->timer = NULL;
}

static void release(struct kube_stream *s)
{
    drop(s);
    if (s->easy)
        curl_easy_cleanup(s->easy);
    strbuf_release(&s->in);
    strbuf_release(&s->out);
    strbuf_release(&s->going);
    strbuf_release(&s->message);
    free(s->request);
    free(s);
}

static void end(struct kube_stream *s)
{
    if (s->state == ENDED)
        return;
    s->state = ENDED;
    drop(s);
    s->to.ended(s->to.ctx, s->status, &s->e);
    s->freed = true;
    if (!s->inside)
        release(s);
}

static void lose(struct kube_stream *s, const char *why)
{
    s->status = -1;
    (void)err_set(&s->e, -ECONNRESET, "%s", why);
    end(s);
}

static uint32_t mask(void)
{
    uint32_t key = 0;

    (void)!getrandom(&key, sizeof(key), 0);
    return key;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void on_socket(uv_poll_t *poll, int status, int events);

static void swap_out(struct kube_stream *s)
{
    struct strbuf empty = s->going;

    s->going = s->out;
    s->gone = 0;
    s->out = empty;
    strbuf_truncate(&s->out, 0);
}

static void flush(struct kube_stream *s)
{
    size_t n;

    while (kube_stream_pending(s) > 0) {
        if (s->gone == s->going.len)
            swap_out(s);
        CURLcode code = curl_easy_send(s->easy, s->going.buf + s->gone, s->going.len - s->gone, &n);

        if (code == CURLE_AGAIN)
            break;
        if (code != CURLE_OK) { /* its end is seen by reading */
            strbuf_truncate(&s->out, 0);
            s->gone = s->going.len;
            break;
        }
        s->gone += n;
    }
    bool writes = kube_stream_pending(s) > 0 || s->asked;
    if (s->poll)
        (void)uv_poll_start(s->poll, (s->paused ? 0 : UV_READABLE) | (writes ? UV_WRITABLE : 0),
                            on_socket);
}

static void put_message(struct kube_stream *s, int channel, const char *data, size_t n)
{
    auto_strbuf struct strbuf message = STRBUF_INIT;

    strbuf_addch(&message, (char)channel);
    strbuf_add(&message, data, n);
    ws_write(&s->out, WS_BINARY, message.buf, message.len, mask());
}

void kube_stream_send(struct kube_stream *s, const char *data, size_t n)
{
    for (size_t done = 0; done < n; done += PIECE)
        put_message(s, STREAM_IN, data + done, n - done < PIECE ? n - done : PIECE);
    if (s->state == OPEN)
        flush(s);
}

void kube_stream_end_input(struct kube_stream *s)
{
    if (!s->input_ended)
        put_message(s, CHANNEL_CLOSE, "", 1); /* stdin is channel 0, the byte behind "" */
    s->input_ended = true;
    if (s->state == OPEN)
        flush(s);
}

static void fill_again(struct kube_stream *s);

void kube_stream_pause(struct kube_stream *s, bool pause)
{
    bool goes_on = s->paused && !pause;

    s->paused = pause;
    if (s->state != OPEN)
        return;
    s->heard = pause ? INT64_MAX : goes_on ? clock_mono() : s->heard;
    if (goes_on)
        fill_again(s); /* what TLS has read already makes no event */
    else if (pause)
        flush(s);
}

size_t kube_stream_pending(const struct kube_stream *s)
{
    return s->out.len + s->going.len - s->gone;
}

void kube_stream_ask(struct kube_stream *s)
{
    s->asked = true;
    if (s->state == OPEN && s->poll)
        (void)uv_poll_start(s->poll, (s->paused ? 0 : UV_READABLE) | UV_WRITABLE, on_socket);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Status: Success, or a Failure whose causes have the exit code. */
static void read_status(struct kube_stream *s, const char *text, size_t n)
{
    auto_arena struct arena *a = arena_new();
    const struct node *status = json_node(a, text, n);
    const struct node *causes = node_find(status, "details", "causes", NULL);

    if (strcmp(node_text(node_get(status, "status"), ""), "Success") == 0) {
        s->status = 0;
        return;
    }
    for (size_t i = 0; causes && causes->type == NODE_SEQ && i < causes->n; i++)
        if (strcmp(node_text(node_get(causes->items[i], "reason"), ""), "ExitCode") == 0)
            s->status =
                (int)strtol(node_text(node_get(causes->items[i], "message"), "-1"), NULL, 10);
    if (s->status < 0)
        (void)err_set(&s->e, -EIO, "%s",
                      node_text(node_get(status, "message"), "the command could not be run"));
}

static void take_message(struct kube_stream *s, const char *data, size_t n)
{
    int channel = n ? (unsigned char)data[0] : -1;

    if (channel == STREAM_OUT || channel == STREAM_ERR)
        s->to.data(s->to.ctx, channel, data + 1, n - 1);
    else if (channel == CHANNEL_STATUS && n > 1)
        read_status(s, data + 1, n - 1);
}

static void take_frame(struct kube_stream *s, const struct ws_frame *f)
{
    switch (f->kind) {
    case WS_PING:
        ws_write(&s->out, WS_PONG, f->data, f->n, mask());
        break;
    case WS_CLOSE:
        if (s->status < 0 && !s->e.code)
            (void)err_set(&s->e, -ECONNRESET, "the API server closed the connection");
        end(s);
        break;
    case WS_PONG:
        break;
    default:
        if (f->last && s->message.len == 0) {
            take_message(s, f->data, f->n);
            break;
        }
        strbuf_add(&s->message, f->data, f->n);
        if (s->message.len > LIMIT_FRAME_BYTES) {
            lose(s, "the API server sent a message that is too long");
        } else if (f->last) {
            take_message(s, s->message.buf, s->message.len);
            strbuf_truncate(&s->message, 0);
        }
    }
}

static void take_frames(struct kube_stream *s)
{
    size_t done = 0;

    while (s->state == OPEN && !s->freed) {
        struct ws_frame f;
        long n = ws_read(s->in.buf + done, s->in.len - done, &f);

        if (n < 0)
            lose(s, "the API server sent an invalid frame");
        if (n <= 0)
            break;
        done += (size_t)n;
        take_frame(s, &f);
    }
    strbuf_consume(&s->in, done);
}

/* "HTTP/1.1 101 …", and what follows the headers is frames. Anything else says why not. */
static void take_upgrade(struct kube_stream *s)
{
    char *body = memmem(s->in.buf, s->in.len, "\r\n\r\n", 4);
    int code = 0;

    if (!body) {
        if (s->in.len > ANSWER_BYTES)
            lose(s, "the API server sent no valid answer");
        return;
    }
    if (strncmp(s->in.buf, "HTTP/1.", 7) == 0)
        code = (int)strtol(s->in.buf + strlen("HTTP/1.1 "), NULL, 10);
    if (code != 101) {
        auto_arena struct arena *a = arena_new();
        const struct node *status = json_node(a, body + 4, strlen(body + 4));

        s->status = -1;
        (void)err_set(&s->e,
                      code == 404   ? -ENOENT
                      : code == 403 ? -EACCES
                                    : -EIO,
                      "%s (%d)%s", node_text(node_get(status, "message"), "the API server refused"),
                      code, code == 403 ? KUBE_ROLE_HINT : "");
        end(s);
        return;
    }
    strbuf_consume(&s->in, (size_t)(body - s->in.buf) + 4);
    s->state = OPEN;
    if (s->to.opened)
        s->to.opened(s->to.ctx);
}

static void fill(struct kube_stream *s)
{
    while (s->state != ENDED && !s->freed && !s->paused) {
        size_t n = 0;

        strbuf_reserve(&s->in, PIECE);
        CURLcode code = curl_easy_recv(s->easy, s->in.buf + s->in.len, PIECE, &n);
        if (code == CURLE_AGAIN)
            return;
        if (code != CURLE_OK || n == 0) {
            if (s->status >= 0)
                end(s);
            else
                lose(s, "the connection to the API server was lost");
            return;
        }
        s->in.len += n;
        s->heard = clock_mono();
        if (s->state == UPGRADING)
            take_upgrade(s);
        take_frames(s);
    }
}

static void attend(struct kube_stream *s, int events)
{
    s->inside = true;
    if (events & UV_WRITABLE)
        flush(s);
    fill(s);
    if (s->state == OPEN && !s->freed && s->asked && kube_stream_pending(s) < LITTLE) {
        s->asked = false;
        s->to.room(s->to.ctx);
    }
    if (s->state == OPEN && !s->freed)
        flush(s);
    s->inside = false;
    if (s->freed)
        release(s);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    (void)status;
    attend(poll->data, events);
}

static void fill_again(struct kube_stream *s)
{
    (void)uv_poll_start(s->poll, UV_READABLE | (s->out.len ? UV_WRITABLE : 0), on_socket);
    attend(s, 0);
}

static void on_time(uv_timer_t *timer)
{
    struct kube_stream *s = timer->data;
    ns_t silent = clock_mono() - s->heard;

    if (silent > SILENCE_S * NS_PER_S) {
        lose(s, "the API server does not respond");
        return;
    }
    if (s->state == OPEN && silent > PING_S * NS_PER_S) {
        ws_write(&s->out, WS_PING, "", 0, mask());
        flush(s);
    }
}

/* --- connecting ------------------------------------------------------------------------------- */

static void connect_it(uv_work_t *work)
{
    struct kube_stream *s = (struct kube_stream *)work;

    s->connected = curl_easy_perform(s->easy);
}

static void connected(uv_work_t *work, int status)
{
    struct kube_stream *s = (struct kube_stream *)work;
    curl_socket_t fd = CURL_SOCKET_BAD;

    (void)status;
    if (s->freed) {
        release(s);
        return;
    }
    if (s->connected == CURLE_OK)
        (void)curl_easy_getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (fd == CURL_SOCKET_BAD) {
        (void)err_set(&s->e, -ECONNREFUSED, "no answer from the API server: %s",
                      *s->error ? s->error : curl_easy_strerror(s->connected));
        end(s);
        return;
    }
    s->poll = xcalloc(1, sizeof(*s->poll));
    (void)uv_poll_init_socket(s->loop, s->poll, fd);
    s->poll->data = s;
    s->timer = xcalloc(1, sizeof(*s->timer));
    (void)uv_timer_init(s->loop, s->timer);
    s->timer->data = s;
    s->heard = clock_mono();
    (void)uv_timer_start(s->timer, on_time, PING_S * 1000, PING_S * 1000);
    /* what was to be sent meanwhile comes after it */
    auto_strbuf struct strbuf later = s->out;
    s->out = (struct strbuf)STRBUF_INIT;
    strbuf_addstr(&s->out, s->request);
    strbuf_add(&s->out, later.buf, later.len);
    s->state = UPGRADING;
    flush(s);
}

static char *upgrade_request(struct kube_client *c, const char *path)
{
    auto_arena struct arena *a = arena_new();
    const char *authorization = kube_authorization(c);

    /* the key only has to be 16 bytes in base64; its answer proves nothing behind TLS */
    return xasprintf(
        "GET %s%s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bXVzdGVyLW11c3Rlci1tdQ==\r\n"
        "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nUser-Agent: muster\r\n"
        "%s%s\r\n",
        kube_server_path(c), path, kube_host(a, c), authorization ? authorization : "",
        authorization ? "\r\n" : "");
}

struct kube_stream *kube_stream_new(struct kube_client *c, uv_loop_t *loop, const char *path,
                                    const struct stream_client *client)
{
    struct kube_stream *s = xcalloc(1, sizeof(*s));

    s->loop = loop;
    s->to = *client;
    s->status = -1;
    s->in = s->out = s->going = s->message = (struct strbuf)STRBUF_INIT;
    s->request = upgrade_request(c, path);
    s->easy = kube_handle(c, path);
    (void)curl_easy_setopt(s->easy, CURLOPT_CONNECT_ONLY, 1L);
    (void)curl_easy_setopt(s->easy, CURLOPT_SSL_ENABLE_ALPN, 0L); /* or h2 may be chosen */
    (void)curl_easy_setopt(s->easy, CURLOPT_ERRORBUFFER, s->error);
    (void)uv_queue_work(loop, &s->work, connect_it, connected);
    return s;
}

void kube_stream_free(struct kube_stream *s)
{
    if (!s)
        return;
    if (s->state == CONNECTING || s->inside) {
        s->freed = true;
        drop(s);
        s->state = s->state == CONNECTING ? CONNECTING : ENDED;
        return;
    }
    release(s);
}
