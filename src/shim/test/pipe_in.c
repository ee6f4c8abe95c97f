/* pipe_in.c - a pipe is read as far as it is filled, and closed at its end. */
#include "shim/pipe_in.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/tap.h"

static struct {
    int from, to; /* the pipe; `to` is written again while it is read */
    struct strbuf got;
} t = {.got = STRBUF_INIT};

/* A writer that never stops. */
static size_t take(void *ctx)
{
    char buf[4];
    size_t n = pipe_take(&t.from, buf, sizeof(buf));

    (void)ctx;
    strbuf_add(&t.got, buf, n);
    if (t.to >= 0 && t.got.len < 100)
        (void)!write(t.to, "xxxx", 4);
    return n;
}

int main(void)
{
    int ends[2];

    ok(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
    t.from = ends[0];
    t.to = ends[1];
    pipe_drain(t.from, take, NULL);
    is_int((long long)t.got.len, 0, "an empty pipe has nothing");
    ok(write(t.to, "0123456789", 10) == 10, "something is written");
    pipe_drain(t.from, take, NULL);
    is_str(t.got.buf, "0123456789xx", "what was in it is read, and the rest of its last piece");
    is_int((long long)take(NULL), 4, "there is more");
    ok(t.from >= 0, "it stays open");
    close(TAKE_FD(t.to));
    while (take(NULL) > 0)
        ;
    is_int(t.from, -1, "at its end it is closed");
    pipe_drain(t.from, take, NULL);
    ok(fcntl(ends[0], F_GETFD) < 0, "and nothing is read from it");
    strbuf_release(&t.got);
    return tap_done();
}
