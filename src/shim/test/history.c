/* history.c - what the next master of a shim hears: what is true now, in its order, and no more. */
#include "shim/history.h"

#include <stdio.h>

#include "base/tap.h"

static struct history h;

/* A launch is a number and two texts. */
static bool is_rank(enum wire_type type)
{
    return type == WIRE_RANK_STARTED || type == WIRE_RANK_EXITED;
}

static void add(enum wire_type type, uint32_t a, uint32_t b, uint32_t c)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    size_t at = wire_frame_begin(&sb, type);

    wire_put_u32(&sb, a);
    wire_put_u32(&sb, b);
    if (is_rank(type)) {
        wire_put_str(&sb, "launcher-0/7/100");
        wire_put_str(&sb, "1234");
    }
    wire_put_u32(&sb, c);
    wire_frame_end(&sb, at);
    history_add(&h, sb.buf, sb.len);
}

static const char *words(const struct strbuf *frames, char out[512])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t at = 0; at < frames->len;) {
        struct wire_reader r;
        enum wire_type type;
        long len = wire_frame_next(frames->buf + at, frames->len - at, &type, &r);

        if (len <= 0)
            return "no frame";
        uint32_t a = wire_get_u32(&r), b = wire_get_u32(&r), c;

        for (int i = 0; is_rank(type) && i < 2; i++)
            (void)wire_get_str(&r);
        c = wire_get_u32(&r);
        n += (size_t)snprintf(out + n, 512 - n, "%d:%u,%u,%u ", (int)type - WIRE_READY, a, b, c);
        at += (size_t)len;
    }
    return out;
}

static const char *all(char out[512])
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    history_put(&h, &sb);
    return words(&sb, out);
}

int main(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char out[512];

    is_str(all(out), "", "nothing has happened");
    is_int(history_instance(&h, 0), 0, "no process is known");
    add(WIRE_OPENED, 0, 0, 0);
    add(WIRE_STARTED, 0, 1, 0);
    add(WIRE_STARTED, 1, 1, 0);
    add(WIRE_EXITED, 0, 1, 9);
    add(WIRE_NOTE, 0, 0, 0);
    is_str(all(out), "9:0,0,0 3:0,1,0 3:1,1,0 5:0,1,9 ", "reports, in their order, and no notes");
    add(WIRE_STARTED, 0, 2, 0);
    is_str(all(out), "9:0,0,0 3:1,1,0 3:0,2,0 ", "another start of a process ends the one before");
    is_int(history_instance(&h, 0), 2, "this instance is known");
    add(WIRE_SPAWN_FAILED, 0, 3, 0);
    is_int(history_instance(&h, 0), 3, "and one that could not be started");
    history_put_process(&h, 0, &sb);
    is_str(words(&sb, out), "3:0,2,0 4:0,3,0 ", "what is about one process");
    history_release(&h);

    add(WIRE_RANK_STARTED, 0, 1, 0);
    add(WIRE_RANK_EXITED, 0, 1, 0);
    add(WIRE_RANK_STARTED, 0, 1, 0);
    is_str(all(out), "6:0,1,0 ", "a rank that was started anew");
    add(WIRE_LAUNCH_BLAMED, 1, 0, 0);
    add(WIRE_RANK_STARTED, 0, 2, 0);
    is_str(all(out), "6:0,1,0 12:1,0,0 6:0,2,0 ", "the mpirun before the last is kept");
    add(WIRE_RANK_STARTED, 0, 3, 0);
    is_str(all(out), "6:0,2,0 6:0,3,0 ", "older ones are not");
    history_release(&h);
    return tap_done();
}
