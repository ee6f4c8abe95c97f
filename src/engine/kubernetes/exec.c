/* exec.c - a command in a replica, for somebody outside the job: `muster exec`.
 *
 * It is started by the pod's supervisor, as an rsh agent's command is, so that it has the replica's
 * environment and directory and dies with the connection. `muster-shim exec` in the container
 * stands between: frames over its stdin and stdout (shim/wire.h: AGENT_RUN and PEER_DATA there,
 * PEER_DATA and AGENT_EXITED back), because a WebSocket alone says neither which signal ended the
 * command nor that we are gone.
 *
 * The caller's descriptors are its own: they are neither made non-blocking nor waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/kubernetes/parts.h"
#include "shim/wire.h"

enum {
    PIECE = 16 * 1024,
    PENDING = 256 * 1024, /* not sent yet: nothing more is read */
    BEHIND = 1024 * 1024, /* not taken by the caller yet: nothing more is received */
    AGAIN_MS = 20,
};

struct out_fd {
    struct engine_exec *x;
    uv_poll_t *poll; /* while the caller does not take it; NULL: a file */
    int fd;          /* -1: closed */
    struct strbuf buf;
};

struct engine_exec {
    struct kube_stream *stream; /* NULL: it has ended */
    struct exec_client client;
    struct err e;
    int status;         /* wait status; -1: not known */
    int in;             /* -1: at its end */
    uv_poll_t *poll_in; /* NULL: a file */
    uv_timer_t *timer;
    struct out_fd out[2];
    struct strbuf request; /* until the connection is open */
    struct strbuf frames;  /* from the other end */
};

/* --- its end ---------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void close_poll(uv_poll_t **poll)
{
    if (!*poll)
        return;
    (void)uv_poll_stop(*poll);
    uv_close((uv_handle_t *)*poll, on_closed);
    *poll = NULL;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void kubernetes_exec_stop(struct engine_exec *x)
{
    kube_stream_free(x->stream);
    close_poll(&x->poll_in);
    close_fd(&x->in);
    for (int i = 0; i < 2; i++) {
        close_poll(&x->out[i].poll);
        close_fd(&x->out[i].fd);
        strbuf_release(&x->out[i].buf);
    }
    (void)uv_timer_stop(x->timer);
    uv_close((uv_handle_t *)x->timer, on_closed);
    strbuf_release(&x->request);
    strbuf_release(&x->frames);
    free(x);
}

/* When the connection has ended and the caller has all of it. */
static bool end_if_over(struct engine_exec *x)
{
    const struct exec_client client = x->client;
    struct err e = x->e;
    int status = x->status;

    if (x->stream || x->out[0].buf.len > 0 || x->out[1].buf.len > 0)
        return false;
    kubernetes_exec_stop(x);
    client.ended(client.ctx, status, &e);
    return true;
}

/* --- output ----------------------------------------------------------------------------------- */

/* So much can be written without waiting: a pipe that poll() calls writable has room for that. */
static void write_some(struct out_fd *o)
{
    size_t most = o->poll ? PIPE_BUF : o->buf.len;
    ssize_t n = write(o->fd, o->buf.buf, o->buf.len < most ? o->buf.len : most);

    if (n > 0)
        strbuf_consume(&o->buf, (size_t)n);
    if (n >= 0 || errno == EAGAIN || errno == EINTR)
        return;
    /* nobody reads it: on one machine the command would get SIGPIPE at its next word */
    strbuf_truncate(&o->buf, 0);
    kube_stream_free(o->x->stream);
    o->x->stream = NULL;
    o->x->status = SIGPIPE;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct out_fd *o = poll->data;

    (void)status;
    (void)events;
    write_some(o);
    if (o->buf.len == 0)
        (void)uv_poll_stop(poll);
    (void)end_if_over(o->x);
}

static void put_out(struct engine_exec *x, uint32_t which, const char *data, size_t n)
{
    struct out_fd *o = &x->out[which];

    strbuf_add(&o->buf, data, n);
    if (o->poll)
        (void)uv_poll_start(o->poll, UV_WRITABLE, on_writable);
    else
        while (o->buf.len > 0 && x->stream)
            write_some(o);
}

/* --- input ------------------------------------------------------------------------------------ */

static void put_input(struct engine_exec *x, const char *data, size_t n)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_PEER_DATA);

    wire_put_u32(&frame, 0);
    wire_put_bytes(&frame, data, n); /* none: its end */
    wire_frame_end(&frame, begin);
    kube_stream_send(x->stream, frame.buf, frame.len);
}

static void take_input(struct engine_exec *x)
{
    char piece[PIECE];
    ssize_t n = read(x->in, piece, sizeof(piece));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    put_input(x, piece, n > 0 ? (size_t)n : 0);
    if (n > 0)
        return;
    close_poll(&x->poll_in);
    close_fd(&x->in);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct engine_exec *x = poll->data;

    (void)status;
    (void)events;
    if (x->stream && kube_stream_pending(x->stream) < PENDING)
        take_input(x);
    else
        (void)uv_poll_stop(poll); /* until on_time() goes on */
}

/* Files are always readable; what was put off goes on. */
static void on_time(uv_timer_t *timer)
{
    struct engine_exec *x = timer->data;

    if (!x->stream) {
        (void)end_if_over(x);
        return;
    }
    if (x->request.len > 0)
        return; /* not connected yet */
    if (x->poll_in)
        (void)uv_poll_start(x->poll_in, UV_READABLE, on_readable);
    while (!x->poll_in && x->in >= 0 && kube_stream_pending(x->stream) < PENDING)
        take_input(x);
    /* last: what it has waited with may be the end */
    kube_stream_pause(x->stream, x->out[0].buf.len + x->out[1].buf.len > BEHIND);
}

static void on_opened(void *ctx)
{
    struct engine_exec *x = ctx;

    kube_stream_send(x->stream, x->request.buf, x->request.len);
    strbuf_truncate(&x->request, 0);
}

/* --- the other end ---------------------------------------------------------------------------- */

static bool take_frame(struct engine_exec *x, enum wire_type type, struct wire_reader *r)
{
    uint32_t stream;
    const char *data;
    size_t n;

    switch (type) {
    case WIRE_PEER_DATA:
        stream = wire_get_u32(r);
        data = wire_get_bytes(r, &n);
        if (!wire_done(r) || stream < 1 || stream > 2)
            return false;
        if (n > 0)
            put_out(x, stream - 1, data, n);
        return true;
    case WIRE_AGENT_EXITED:
        x->status = (int)wire_get_u32(r);
        return wire_done(r);
    case WIRE_AGENT_NO_HOST:
        (void)err_set(&x->e, -ENOENT, "the replica's supervisor does not know it");
        return true;
    default:
        return false;
    }
}

static void on_data(void *ctx, int channel, const char *data, size_t n)
{
    struct engine_exec *x = ctx;
    size_t used = 0;

    if (channel == STREAM_ERR) /* what muster-shim itself has to say */
        put_out(x, 1, data, n);
    if (channel != STREAM_OUT)
        return;
    strbuf_add(&x->frames, data, n);
    for (;;) {
        struct wire_reader body;
        enum wire_type type;
        long len = wire_frame_next(x->frames.buf + used, x->frames.len - used, &type, &body);

        if (len <= 0 || !x->stream || !take_frame(x, type, &body))
            break;
        used += (size_t)len;
    }
    strbuf_consume(&x->frames, used);
}

static void on_ended(void *ctx, int status, const struct err *e)
{
    struct engine_exec *x = ctx;

    (void)status;
    x->stream = NULL;
    if (x->status < 0 && !x->e.code)
        (void)err_set(&x->e, e->code ? e->code : -ECONNRESET, "%s",
                      e->code ? e->text : "the job has ended; the command was killed");
    (void)end_if_over(x);
}

/* --- its beginning ---------------------------------------------------------------------------- */

/* A poll handle of its own for a copy of the descriptor; NULL for a file. */
static uv_poll_t *poll_new(uv_loop_t *loop, int fd, void *data)
{
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || uv_poll_init(loop, poll, fd) < 0) {
        free(poll);
        return NULL;
    }
    (void)fcntl(fd, F_SETFL, flags); /* libuv makes it non-blocking, for all who share it */
    poll->data = data;
    return poll;
}

static void put_request(struct engine_exec *x, const char *host, const char *command)
{
    size_t begin = wire_frame_begin(&x->request, WIRE_AGENT_RUN);

    wire_put_str(&x->request, host);
    wire_put_str(&x->request, command);
    wire_put_u32(&x->request, 1); /* an mpirun in it writes to the caller, not to the job's logs */
    wire_put_str(&x->request, "");
    wire_frame_end(&x->request, begin);
}

int kubernetes_exec(struct engine *en, uint32_t replica, const char *command, const int fds[3],
                    const struct exec_client *client, struct engine_exec **ret, struct err *e)
{
    struct kubernetes *kb = (struct kubernetes *)en;
    auto_arena struct arena *a = arena_new();
    struct pod *p = &kb->pods[replica];

    if (p->state != POD_RUNS || !p->is_set_up)
        return err_set(e, -EAGAIN, "the pod of %s is not running", pod_replica(p)->name);
    const struct node *pod = kube_pod(a, &kb->run, pod_replica(p), p->attempt, p->generation);
    const char *path = arena_printf(
        a, "pods/%s/exec?container=%s&command=%s&command=exec&command=%s&stdin=1&stdout=1&stderr=1",
        p->name, kube_container_name(pod), kube_query(a, POD_SHIM), kube_query(a, POD_RUN_DIR));
    struct engine_exec *x = xcalloc(1, sizeof(*x));

    *x = (struct engine_exec){
        .client = *client, .status = -1, .request = STRBUF_INIT, .frames = STRBUF_INIT};
    put_request(x, pod_replica(p)->host, command);
    (void)signal(SIGTTIN,
                 SIG_IGN); /* the caller's terminal may be ours, and we in the background */
    x->in = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
    x->poll_in = poll_new(kb->loop, x->in, x);
    for (int i = 0; i < 2; i++) {
        x->out[i] = (struct out_fd){
            .x = x, .fd = fcntl(fds[1 + i], F_DUPFD_CLOEXEC, 3), .buf = STRBUF_INIT};
        x->out[i].poll = poll_new(kb->loop, x->out[i].fd, &x->out[i]);
    }
    x->timer = xcalloc(1, sizeof(*x->timer));
    (void)uv_timer_init(kb->loop, x->timer);
    x->timer->data = x;
    (void)uv_timer_start(x->timer, on_time, AGAIN_MS, AGAIN_MS);
    x->stream = kube_stream_new(
        kb->api, kb->loop, kube_path(a, kb, path),
        &(struct stream_client){.opened = on_opened, .data = on_data, .ended = on_ended, .ctx = x});
    *ret = x;
    return 0;
}
