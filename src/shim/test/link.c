/* link.c - frames through a socketpair: in pieces, with a slow reader, to the end. */
#include "shim/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/tap.h"

static void put_note(struct strbuf *sb, const char *text)
{
    size_t begin = wire_frame_begin(sb, WIRE_NOTE);

    wire_put_str(sb, text);
    wire_frame_end(sb, begin);
}

static void in_pieces(struct link *l, int other)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    enum wire_type type = 0;
    struct wire_reader r;
    int early = 0;

    put_note(&sb, "hello");
    put_note(&sb, "again");
    for (size_t i = 0; i + 1 < sb.len; i++) {
        ok(send(other, sb.buf + i, 1, 0) == 1 && link_fill(l) == 0, "byte %zu", i);
        early += link_next(l, &type, &r) > 0;
    }
    is_int(early, 1, "one frame was whole before the last byte");
    (void)send(other, sb.buf + sb.len - 1, 1, 0);
    is_int(link_fill(l), 0, "the last byte");
    ok(link_next(l, &type, &r) > 0, "the second frame");
    is_str(wire_get_str(&r), "again", "its text");
    is_int(link_next(l, &type, &r), 0, "no third");
    is_int(link_fill(l), 0, "nothing to read is no error");
}

static void slow_reader(struct link *l, int other)
{
    static char text[64 * 1024];
    size_t sent = 0, got = 0;
    char buf[8192];
    ssize_t n;

    memset(text, 'x', sizeof(text) - 1);
    while (!link_is_full(l)) {
        put_note(&l->out, text);
        sent += WIRE_HEADER + sizeof(text);
        if (link_flush(l) < 0)
            break;
    }
    ok(link_is_full(l), "what is not read is kept, up to the limit");
    is_int(link_flush_wait(l, 20), -ETIMEDOUT, "waiting has an end");
    while (link_pending(l)) {
        n = recv(other, buf, sizeof(buf), MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        if (link_flush(l) < 0)
            break;
    }
    while ((n = recv(other, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
        got += (size_t)n;
    ok(got == sent, "every byte arrives (%zu of %zu)", got, sent);
}

int main(void)
{
    struct link l;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        tap_skip_all("no socketpair");
    link_init(&l, pair[0]);
    in_pieces(&l, pair[1]);
    slow_reader(&l, pair[1]);
    close(pair[1]);
    is_int(link_fill(&l), -ECONNRESET, "the other side is gone");
    put_note(&l.out, "x");
    is_int(link_flush(&l), -EPIPE, "and cannot be sent to; no signal");
    link_release(&l);
    return tap_done();
}
