/* packet.c - see packet.h. */
#include "shim/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/procs.h"

union control { /* room for descriptors, aligned as the kernel wants it */
    char bytes[CMSG_SPACE(PACKET_FDS * sizeof(int))];
    struct cmsghdr header;
};

/* A path below /proc/self/fd is short whatever the directory's is: sun_path has 108 bytes. */
static void name_socket(struct sockaddr_un *addr, int dir_fd, const char *name)
{
    *addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
}

static int listen_as(int type, int dir_fd, const char *name)
{
    auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un addr;

    name_socket(&addr, dir_fd, name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, SOMAXCONN) < 0)
        return -errno;
    return TAKE_FD(fd);
}

int packet_listen(int dir_fd, const char *name)
{
    return listen_as(SOCK_SEQPACKET, dir_fd, name);
}

int stream_listen(int dir_fd, const char *name)
{
    return listen_as(SOCK_STREAM, dir_fd, name);
}

int packet_connect(int dir_fd, const char *name)
{
    auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un addr;

    name_socket(&addr, dir_fd, name);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* A script may have cleared the environment (env -i): then the nearest ancestor that still has the
 * variable says where the run is, and what is started from here knows it again. */
static const char *find_run_dir(void)
{
    static const char name[] = "MUSTER_RUN_DIR";
    pid_t pid = getppid();

    for (int i = 0; i < LIMIT_ANCESTORS && pid > 0 && !getenv(name); i++) {
        auto_strbuf struct strbuf words = STRBUF_INIT;
        const char *dir = proc_environ(pid, &words) < 0 ? NULL : environ_value(&words, name);

        if (dir)
            (void)setenv(name, dir, 1);
        pid = proc_parent(pid);
    }
    return getenv(name);
}

int packet_connect_run(void)
{
    const char *run_dir = find_run_dir();
    auto_free char *path = NULL;
    auto_close int dir_fd = -1;

    if (!run_dir)
        return -ENOENT;
    path = xasprintf("%s/scratch", run_dir); /* a link to the run's short directory */
    dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -errno : packet_connect(dir_fd, WIRE_AGENT_SOCKET);
}

pid_t packet_peer(int sock, uid_t *ret_uid)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return -1;
    *ret_uid = peer.uid;
    return peer.pid;
}

int packet_send(int sock, const struct strbuf *frame, const int *fds, int n_fds)
{
    size_t bytes = (size_t)n_fds * sizeof(int);
    union control control = {
        .header = {.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec iov = {.iov_base = frame->buf, .iov_len = frame->len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (n_fds > 0) {
        memcpy(CMSG_DATA(&control.header), fds, bytes);
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(bytes);
    }
    while (sendmsg(sock, &msg, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* False if there were too many. The kernel aligns what it writes, so there is room for one more
 * than was meant; and a sender may put descriptors into several headers. */
static bool take_fds(struct msghdr *msg, struct packet *p)
{
    bool fits = !(msg->msg_flags & MSG_CTRUNC);

    for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
        size_t n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(int));
            if (p->n_fds < PACKET_FDS) {
                p->fds[p->n_fds++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits;
}

int packet_receive(int sock, char *buf, size_t size, struct packet *ret)
{
    union control control;
    struct iovec iov = {.iov_base = buf, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct packet p = {.fds = {-1, -1, -1}};
    bool fits;
    ssize_t n;

    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    fits = take_fds(&msg, &p);
    if (n == 0 || !fits || (msg.msg_flags & MSG_TRUNC) ||
        wire_frame_next(buf, (size_t)n, &p.type, &p.body) != n) {
        packet_close(&p);
        return n == 0 ? -ECONNRESET
                      : -EPROTO; /* an empty packet looks like the end, and is treated so */
    }
    *ret = p;
    return 0;
}

void packet_close(struct packet *p)
{
    for (int i = 0; i < PACKET_FDS; i++) {
        if (p->fds[i] >= 0)
            close(TAKE_FD(p->fds[i]));
    }
}
