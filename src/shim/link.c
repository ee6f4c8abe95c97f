/* link.c - see link.h. Buffers that have run empty are given back: an idle supervisor is small. */
#include "shim/link.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"

enum { READ_CHUNK = 32 * 1024 };

void link_init(struct link *l, int fd)
{
    *l = (struct link){.fd = fd, .in = STRBUF_INIT, .out = STRBUF_INIT};
    (void)io_set_nonblock(fd);
}

void link_release(struct link *l)
{
    strbuf_release(&l->in);
    strbuf_release(&l->out);
    (void)close(l->fd);
    l->fd = -1;
}

int link_fill(struct link *l)
{
    ssize_t n;

    strbuf_consume(&l->in, l->in_done);
    l->in_done = 0;
    strbuf_reserve(&l->in, READ_CHUNK);
    n = recv(l->fd, l->in.buf + l->in.len, l->in.cap - l->in.len - 1, MSG_DONTWAIT);
    if (n == 0)
        return -ECONNRESET;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    l->in.len += (size_t)n;
    return 0;
}

long link_next(struct link *l, enum wire_type *ret_type, struct wire_reader *ret)
{
    long n = wire_frame_next(l->in.buf + l->in_done, l->in.len - l->in_done, ret_type, ret);

    if (n > 0)
        l->in_done += (size_t)n;
    if (n == 0 && l->in_done == l->in.len) {
        strbuf_release(&l->in);
        l->in_done = 0;
    }
    return n;
}

int link_flush(struct link *l)
{
    while (link_pending(l)) {
        ssize_t n = send(l->fd, l->out.buf + l->out_done, l->out.len - l->out_done,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -errno;
        if (n < 0) {
            strbuf_consume(&l->out, l->out_done);
            l->out_done = 0;
            return 0;
        }
        l->out_done += (size_t)n;
    }
    strbuf_release(&l->out);
    l->out_done = 0;
    return 0;
}

int link_flush_wait(struct link *l, int timeout_ms)
{
    ns_t deadline = clock_mono() + timeout_ms * NS_PER_MS;

    for (;;) {
        struct pollfd pfd = {.fd = l->fd, .events = POLLOUT};
        ns_t left = deadline - clock_mono();
        int r = link_flush(l);

        if (r < 0 || !link_pending(l))
            return r;
        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&pfd, 1, (int)(left / NS_PER_MS) + 1) < 0 && errno != EINTR)
            return -errno;
    }
}

bool link_is_full(const struct link *l)
{
    return l->out.len - l->out_done > LIMIT_LINK_QUEUE_BYTES;
}
