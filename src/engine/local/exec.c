/* exec.c - see exec.h: the client's side of the agents' socket. */
#include "engine/local/exec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/strbuf.h"
#include "shim/wire.h"

/* By way of /proc, because sun_path is short and a directory's path need not be. */
static int connect_agents(int scratch_fd)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" WIRE_AGENT_SOCKET,
                   scratch_fd);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    return TAKE_FD(fd);
}

static int send_with_fds(int sock, const struct strbuf *frame, const int fds[3])
{
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_len = CMSG_LEN(3 * sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec iov = {.iov_base = frame->buf, .iov_len = frame->len};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};

    memcpy(CMSG_DATA(&control.header), fds, 3 * sizeof(int));
    return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int exec_begin(int scratch_fd, const char *replica, const char *command, const int fds[3],
               struct err *e)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    auto_close int sock = connect_agents(scratch_fd);
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_RUN);

    if (sock < 0)
        return err_sys(e, sock, "the job's supervisor does not answer");
    wire_put_str(&frame, replica);
    wire_put_str(&frame, command);
    wire_put_u32(&frame, 1); /* an mpirun in it writes to the caller, not to the job's logs */
    wire_frame_end(&frame, begin);
    int r = send_with_fds(sock, &frame, fds);
    if (r < 0)
        return err_sys(e, r, "the job's supervisor cannot be asked");
    return TAKE_FD(sock);
}

int exec_poll(int sock, int *ret_status, struct err *e)
{
    for (;;) {
        char buf[64];
        enum wire_type type;
        struct wire_reader body;
        ssize_t n = recv(sock, buf, sizeof(buf), 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return err_set(e, -ECONNRESET, "the job has ended, and the command with it");
        if (wire_frame_next(buf, (size_t)n, &type, &body) != n)
            return err_set(e, -EPROTO, "the job's supervisor sent no frame of ours");
        if (type == WIRE_AGENT_NO_HOST)
            return err_set(e, -ENOENT, "the job's supervisor knows no such replica");
        if (type == WIRE_AGENT_EXITED) {
            *ret_status = (int)wire_get_u32(&body);
            return 1;
        }
    }
}
