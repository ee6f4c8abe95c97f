/* exec.c - see exec.h: the client's side of the agents' socket. */
#include "engine/local/exec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"
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

struct engine_exec {
    uv_poll_t poll;
    int sock; /* closing it kills the command */
    struct exec_client client;
};

/* 1: the command has ended, *ret_status is its wait status. 0: not yet. -errno: e says what. */
static int read_end(int sock, int *ret_status, struct err *e)
{
    for (;;) {
        char buf[64];
        enum wire_type type;
        struct wire_reader body;
        ssize_t n = recv(sock, buf, sizeof(buf), 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return err_set(e, -ECONNRESET, "the job has ended; the command was killed");
        if (wire_frame_next(buf, (size_t)n, &type, &body) != n)
            return err_set(e, -EPROTO, "the job's supervisor sent an invalid message");
        if (type == WIRE_AGENT_NO_HOST)
            return err_set(e, -ENOENT, "the job's supervisor does not know this replica");
        if (type == WIRE_AGENT_EXITED) {
            *ret_status = (int)wire_get_u32(&body);
            return 1;
        }
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void exec_stop(struct engine_exec *x)
{
    uv_close((uv_handle_t *)&x->poll, on_closed);
    (void)close(TAKE_FD(x->sock));
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct engine_exec *x = poll->data;
    const struct exec_client client = x->client;
    struct err e;
    int wait_status = -1, r = read_end(x->sock, &wait_status, &e);

    (void)status;
    (void)events;
    if (r == 0)
        return;
    exec_stop(x);
    client.ended(client.ctx, r > 0 ? wait_status : -1, &e);
}

int exec_begin(uv_loop_t *loop, int scratch_fd, const char *replica, const char *command,
               const int fds[3], const struct exec_client *client, struct engine_exec **ret,
               struct err *e)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    auto_close int sock = connect_agents(scratch_fd);
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_RUN);

    if (sock < 0)
        return err_sys(e, sock, "the job's supervisor does not respond");
    wire_put_str(&frame, replica);
    wire_put_str(&frame, command);
    wire_put_u32(&frame, 1); /* an mpirun in it writes to the caller, not to the job's logs */
    wire_put_str(&frame, "");
    wire_frame_end(&frame, begin);
    int r = send_with_fds(sock, &frame, fds);
    if (r < 0)
        return err_sys(e, r, "cannot reach the job's supervisor");
    struct engine_exec *x = xcalloc(1, sizeof(*x));
    *x = (struct engine_exec){.sock = sock, .client = *client};
    r = uv_poll_init(loop, &x->poll, sock);
    if (r < 0) {
        free(x);
        return err_sys(e, r, "cannot watch the command");
    }
    (void)TAKE_FD(sock);
    x->poll.data = x;
    (void)uv_poll_start(&x->poll, UV_READABLE | UV_DISCONNECT, on_socket);
    *ret = x;
    return 0;
}
