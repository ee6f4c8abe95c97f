/* ask.c - questions to control sockets (client/protocol.h) without waiting: the daemon's own, and
 * those of runs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/parts.h"
#include "base/mem.h"
#include "client/protocol.h"
#include "doc/json_read.h"

struct question {
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned handles;
    int fd;
    struct strbuf out, in;
    asked_fn *done; /* NULL: it was called */
    void *ctx;
    struct err refusal; /* before it was sent; code 0: none */
};

static void on_closed(uv_handle_t *handle)
{
    struct question *q = handle->data;

    if (--q->handles > 0)
        return;
    strbuf_release(&q->out);
    strbuf_release(&q->in);
    free(q);
}

static void finish(struct question *q, int r, const struct node *head, const struct err *e)
{
    asked_fn *done = q->done;

    if (!done)
        return;
    q->done = NULL;
    if (q->fd >= 0) {
        uv_close((uv_handle_t *)&q->poll, on_closed);
        (void)close(q->fd);
    }
    uv_close((uv_handle_t *)&q->timer, on_closed);
    done(q->ctx, r, head, e);
}

static void fail(struct question *q, int code, const char *text)
{
    struct err e;

    (void)err_set(&e, code, "%s", text);
    finish(q, code, NULL, &e);
}

static void on_time(uv_timer_t *timer)
{
    struct question *q = timer->data;

    if (q->refusal.code)
        finish(q, q->refusal.code, NULL, &q->refusal);
    else
        fail(q, -ETIMEDOUT, "its muster process does not respond");
}

static void read_answer(struct question *q)
{
    auto_arena struct arena *a = arena_new();
    uint32_t sizes[2];

    if (q->in.len < sizeof(sizes)) {
        fail(q, -ECONNRESET, "the run ended before it replied");
        return;
    }
    memcpy(sizes, q->in.buf, sizeof(sizes));
    if (q->in.len < sizeof(sizes) + sizes[0]) {
        fail(q, -ECONNRESET, "the run ended before it replied");
        return;
    }
    const struct node *head = json_node(a, q->in.buf + sizeof(sizes), sizes[0]);
    const struct node *ok = node_get(head, "ok");
    if (!ok || ok->type != NODE_BOOL)
        fail(q, -EPROTO, "the run sent an invalid reply");
    else if (!ok->i)
        fail(q, -EPERM, node_text(node_get(head, "error"), ""));
    else
        finish(q, 0, head, NULL);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct question *q = poll->data;
    char buf[16 * 1024];

    if (status < 0) {
        fail(q, status, "the run does not respond");
        return;
    }
    if ((events & UV_WRITABLE) && q->out.len > 0) {
        ssize_t n = send(q->fd, q->out.buf, q->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            strbuf_consume(&q->out, (size_t)n);
        if (q->out.len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            (void)uv_poll_start(poll, UV_READABLE, on_ready);
    }
    if (events & UV_READABLE) {
        ssize_t n = recv(q->fd, buf, sizeof(buf), MSG_DONTWAIT);

        if (n > 0 && q->in.len < LIMIT_PACKET_BYTES)
            strbuf_add(&q->in, buf, (size_t)n);
        else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || n > 0)
            read_answer(q);
    }
}

/* The socket does not wait; a full queue is as good as nobody. */
static int connect_to(const char *dir, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   dir_fd);
    if (dir_fd < 0 || fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return err_sys(e, -errno, "the run does not respond");
    return TAKE_FD(fd);
}

void ask_later(struct api *api, const char *dir, const struct strbuf *request, asked_fn *done,
               void *ctx)
{
    struct question *q = xcalloc(1, sizeof(*q));
    uint32_t sizes[2] = {(uint32_t)request->len, 0};

    *q = (struct question){.out = STRBUF_INIT, .in = STRBUF_INIT, .done = done, .ctx = ctx};
    q->handles = 1;
    (void)uv_timer_init(&api->d->loop, &q->timer);
    q->timer.data = q;
    q->fd = connect_to(dir, &q->refusal);
    if (q->fd < 0) {
        (void)uv_timer_start(&q->timer, on_time, 0, 0);
        return;
    }
    q->refusal.code = 0;
    q->handles = 2;
    strbuf_add(&q->out, sizes, sizeof(sizes));
    strbuf_add(&q->out, request->buf, request->len);
    (void)uv_poll_init(&api->d->loop, &q->poll, q->fd);
    q->poll.data = q;
    (void)uv_poll_start(&q->poll, UV_READABLE | UV_WRITABLE, on_ready);
    (void)uv_timer_start(&q->timer, on_time, LIMIT_ASK_MS, 0);
}
