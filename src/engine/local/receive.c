/* receive.c - the shim's frames, as they come: observations, notes, and what is about the shim
 * itself.
 *
 * What they hold is in frames.c.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "engine/frames.h"
#include "engine/local/init.h"
#include "engine/local/parts.h"

#define READ_BYTES                                                                                 \
    (1024 * 1024) /* in one turn: output without a log may come as fast as we read  \
                                  */

static void keep_cgroups(struct local *lo, struct wire_reader *r)
{
    const char **dirs = wire_get_strs(r);
    size_t n = 0;

    while (dirs && dirs[n])
        n++;
    lo->cgroups = xcalloc(n + 1, sizeof(*lo->cgroups));
    for (size_t i = 0; i < n; i++)
        lo->cgroups[i] = xstrdup(dirs[i]);
    free(dirs);
}

static int read_ready(struct local *lo, struct wire_reader *r, struct err *e)
{
    uint32_t version = wire_get_u32(r);

    if (version != WIRE_VERSION)
        return err_set(
            e, -EPROTO,
            "muster-shim has protocol version %u, muster %d; install both from the same release",
            version, WIRE_VERSION);
    lo->attempt = wire_get_u32(r);
    keep_cgroups(lo, r);
    if (!wire_done(r))
        return err_set(e, -EPROTO, "muster-shim sent a malformed reply");
    lo->ready = lo->was_ready = true;
    return 0;
}

static int read_refused(struct wire_reader *r, struct err *e)
{
    int code = (int)wire_get_u32(r);

    return err_set(e, code < 0 ? code : -EPERM, "%s", wire_get_str(r));
}

/* What comes before READY: 0, or -errno if the shim cannot be used. */
static int take_answer(struct local *lo, enum wire_type type, struct wire_reader *r, struct err *e)
{
    if (type == WIRE_READY)
        return read_ready(lo, r, e);
    if (type == WIRE_REFUSED)
        return read_refused(r, e);
    if (type != WIRE_NOTE)
        return err_set(e, -EPROTO, "muster-shim sent an unexpected reply (%d)", (int)type);
    lo->client->note(lo->client->ctx, wire_get_str(r));
    return 0;
}

static bool take_unlogged(struct local *lo, struct wire_reader *r)
{
    struct unlogged u = {.log = wire_get_str(r), .error = (int)wire_get_u32(r)};

    u.is_err = wire_get_u32(r);
    u.missing = wire_get_i64(r);
    u.data = wire_get_bytes(r, &u.n);
    if (wire_done(r) && lo->client->unlogged)
        lo->client->unlogged(lo->client->ctx, &u);
    return wire_done(r);
}

static bool take_tried(struct local *lo, struct wire_reader *r)
{
    struct net_tried t;

    if (!frame_tried(r, &t))
        return false;
    t.address = lo->plan->replicas[t.id % lo->plan->n_replicas].address;
    if (lo->client->tried)
        lo->client->tried(lo->client->ctx, &t);
    return true;
}

/* Returns false if the frame makes no sense. */
static bool take_frame(struct local *lo, enum wire_type type, struct wire_reader *r)
{
    struct observation o = {0};

    if (type == WIRE_NOTE) {
        const char *text = wire_get_str(r);
        if (wire_done(r))
            lo->client->note(lo->client->ctx, text);
        return wire_done(r);
    }
    if (type == WIRE_UNLOGGED)
        return take_unlogged(lo, r);
    if (type == WIRE_TRIED)
        return take_tried(lo, r);
    if (type == WIRE_HEARD) {
        lo->killing = false;
        return true;
    }
    if (type == WIRE_BYE) {
        lo->bye = true;
        return true;
    }
    if (!frame_observation(type, r, &o, NULL))
        return false;
    o.attempt = lo->attempt;
    if (lo->inits && inits_observed(lo->inits, &o))
        return true;
    lo->client->observed(lo->client->ctx, &o);
    return true;
}

/* Reads what is there. 1 = the stream goes on, 0 = it has ended. */
static int fill(struct local *lo)
{
    size_t most = lo->in.len + READ_BYTES;

    while (lo->in.len < most) {
        strbuf_reserve(&lo->in, 64 * 1024);
        ssize_t n = recv(lo->shim.sock, lo->in.buf + lo->in.len, 64 * 1024, MSG_DONTWAIT);
        if (n > 0) {
            lo->in.len += (size_t)n;
            lo->asked_at = clock_mono();
        } else if (n < 0 && errno == EAGAIN)
            return 1;
        else if (n == 0 || errno != EINTR)
            return 0;
    }
    return 1;
}

/* 0; -EPROTO if a frame makes no sense; before READY also why the shim cannot be used, in e. */
static int take_frames(struct local *lo, struct err *e)
{
    size_t used = 0;
    int r = 0;

    while (r == 0) {
        enum wire_type type;
        struct wire_reader body;
        long n = wire_frame_next(lo->in.buf + used, lo->in.len - used, &type, &body);
        if (n == 0)
            break;
        if (n < 0)
            r = err_set(e, -EPROTO, "muster-shim sent an invalid message");
        else if (!lo->ready)
            r = take_answer(lo, type, &body, e);
        else if (!take_frame(lo, type, &body))
            r = -EPROTO;
        used += r == 0 ? (size_t)n : 0;
    }
    strbuf_consume(&lo->in, used);
    return r;
}

void local_on_socket(uv_poll_t *poll, int status, int events)
{
    struct local *lo = poll->data;
    bool goes_on = true;
    struct err e;

    if (status == 0 && (events & UV_WRITABLE))
        local_flush(lo);
    if (status < 0 || (events & UV_READABLE))
        goes_on = fill(lo) != 0;
    int r = take_frames(lo, &e);
    if (r < 0 && !lo->ready) {
        shim_not_ready(lo, &e);
        return;
    }
    if (!goes_on || r < 0 || lo->bye) {
        bool over = lo->releasing;
        shim_stream_ended(lo);
        if (over)
            return;
    }
    lo->client->turn(lo->client->ctx);
}
