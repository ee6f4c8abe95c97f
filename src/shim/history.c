/* history.c - see history.h. */
#include "shim/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A new report takes the place of those with its subject, as far as it makes them old. */
enum subject { OF_REPLICA, OF_PROCESS, OF_RANK, OF_LAUNCH };

struct record {
    enum subject subject;
    uint32_t id; /* replica, process or launch */
    uint32_t rank;
    uint32_t instance; /* OF_PROCESS */
    bool starts;       /* what went before it does not matter any more */
    struct strbuf frame;
};

/* Their bodies begin with: OPENED replica; STARTED, SPAWN_FAILED, EXITED process, instance; RANK_*
 * replica, launch, rank; LAUNCH_* launch, which is a number and two texts. */
static bool read_record(const char *frame, size_t n, struct record *ret)
{
    struct wire_reader r;
    enum wire_type type;

    if (wire_frame_next(frame, n, &type, &r) != (long)n)
        return false;
    *ret = (struct record){.frame = STRBUF_INIT, .id = wire_get_u32(&r)};
    switch (type) {
    case WIRE_OPENED:
        ret->subject = OF_REPLICA;
        ret->starts = true;
        return true;
    case WIRE_STARTED:
    case WIRE_SPAWN_FAILED:
    case WIRE_EXITED:
        ret->subject = OF_PROCESS;
        ret->instance = wire_get_u32(&r);
        ret->starts = type == WIRE_STARTED;
        return true;
    case WIRE_RANK_STARTED:
    case WIRE_RANK_EXITED:
        ret->subject = OF_RANK;
        ret->id = wire_get_u32(&r);
        (void)wire_get_str(&r);
        (void)wire_get_str(&r);
        ret->rank = wire_get_u32(&r);
        ret->starts = type == WIRE_RANK_STARTED;
        return true;
    case WIRE_LAUNCH_BLAMED:
    case WIRE_LAUNCH_OVER:
        ret->subject = OF_LAUNCH;
        return true;
    default:
        return false;
    }
}

static bool is_old(const struct record *r, const struct record *now)
{
    if (!now->starts)
        return false;
    if (now->subject == OF_RANK && (r->subject == OF_RANK || r->subject == OF_LAUNCH) &&
        r->id + 1 < now->id)
        return true;
    return r->subject == now->subject && r->id == now->id && r->rank == now->rank;
}

static void forget_old(struct history *h, const struct record *now)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->n; i++)
        if (is_old(&h->v[i], now))
            strbuf_release(&h->v[i].frame);
        else
            h->v[kept++] = h->v[i];
    h->n = kept;
}

void history_add(struct history *h, const char *frame, size_t n)
{
    struct record r;

    if (!read_record(frame, n, &r))
        return;
    forget_old(h, &r);
    strbuf_add(&r.frame, frame, n);
    GROW(h->v, h->n, h->cap);
    h->v[h->n++] = r;
}

uint32_t history_instance(const struct history *h, uint32_t process)
{
    uint32_t last = 0;

    for (size_t i = 0; i < h->n; i++)
        if (h->v[i].subject == OF_PROCESS && h->v[i].id == process)
            last = h->v[i].instance;
    return last;
}

void history_put(const struct history *h, struct strbuf *out)
{
    for (size_t i = 0; i < h->n; i++)
        strbuf_add(out, h->v[i].frame.buf, h->v[i].frame.len);
}

void history_put_process(const struct history *h, uint32_t process, struct strbuf *out)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->v[i].subject == OF_PROCESS && h->v[i].id == process)
            strbuf_add(out, h->v[i].frame.buf, h->v[i].frame.len);
}

void history_release(struct history *h)
{
    for (size_t i = 0; i < h->n; i++)
        strbuf_release(&h->v[i].frame);
    free(h->v);
    *h = (struct history){0};
}
