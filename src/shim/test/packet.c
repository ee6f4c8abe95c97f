/* packet.c - packets of a peer that means ill: empty, short, huge, garbage, with too many
 * descriptors. Whatever comes, no descriptor stays open that nobody owns. */
#include "shim/packet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"

enum { MANY = 200 };

static char room[4096];
static int null_fd;

static int n_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* One packet with so many descriptors, in one header or in one header each. */
static ssize_t send_raw(int sock, const void *data, size_t n, int n_fds, bool apart)
{
    static char control[MANY * CMSG_SPACE(sizeof(int))]
        __attribute__((aligned(__alignof__(struct cmsghdr))));
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = n};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
    char *at = control;

    for (int i = 0, per = apart ? 1 : n_fds; i < n_fds; i += per) {
        struct cmsghdr *cm = (struct cmsghdr *)at;

        *cm = (struct cmsghdr){.cmsg_len = CMSG_LEN((size_t)per * sizeof(int)),
                               .cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS};
        for (int k = 0; k < per; k++)
            memcpy(CMSG_DATA(cm) + (size_t)k * sizeof(int), &null_fd, sizeof(int));
        at += CMSG_SPACE((size_t)per * sizeof(int));
    }
    msg.msg_controllen = (size_t)(at - control);
    if (msg.msg_controllen == 0)
        msg.msg_control = NULL;
    return sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/* What comes of it; descriptors that the receiver owns are closed as a handler would. */
static int receive(int sock, int *ret_fds)
{
    struct packet p;
    int r = packet_receive(sock, room, sizeof(room), &p);

    *ret_fds = r == 0 ? p.n_fds : 0;
    if (r == 0)
        packet_close(&p);
    return r;
}

static void hostile(const char *name, const void *data, size_t n, int n_fds, bool apart, int want)
{
    int pair[2], got_fds = 0, before = n_open();

    (void)socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
    ok(send_raw(pair[1], data, n, n_fds, apart) == (ssize_t)n, "%s: is sent", name);
    is_int(receive(pair[0], &got_fds), want, "%s: what comes of it", name);
    is_int(got_fds, want == 0 ? n_fds : 0, "%s: descriptors", name);
    (void)close(pair[0]);
    (void)close(pair[1]);
    is_int(n_open(), before, "%s: none stays open", name);
}

int main(void)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    static char huge[LIMIT_PACKET_BYTES / 2];
    size_t begin = wire_frame_begin(&frame, WIRE_NOTE);

    wire_put_str(&frame, "text");
    wire_frame_end(&frame, begin);
    null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (int n = 0; n <= PACKET_FDS; n++)
        hostile("a packet as it should be", frame.buf, frame.len, n, false, 0);
    hostile("each descriptor with a header of its own", frame.buf, frame.len, 2, true, 0);
    hostile("too many headers", frame.buf, frame.len, MANY, true, -EPROTO);
    for (int n = PACKET_FDS + 1; n <= MANY; n += n < 8 ? 1 : 64)
        hostile("too many descriptors", frame.buf, frame.len, n, false, -EPROTO);
    for (size_t len = 1; len < frame.len; len++)
        hostile("a short packet", frame.buf, len, len % 5, false, -EPROTO);
    for (int n = 0; n <= PACKET_FDS + 1; n++) {
        hostile("an empty packet", frame.buf, 0, n, false, -ECONNRESET);
        hostile("a packet larger than its reader", huge, sizeof(huge), n, false, -EPROTO);
        hostile("garbage", "\377\377\377\377\377\377\377\377zz", 10, n, false, -EPROTO);
        hostile("a frame and more", frame.buf, frame.len, n, false, n > PACKET_FDS ? -EPROTO : 0);
    }
    (void)close(null_fd);
    return tap_done();
}
