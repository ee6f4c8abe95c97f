/* ask.c - see ask.h: one blocking question. */
#include "run/ask.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "doc/json_read.h"
#include "run/control.h"

#define ANSWER_HEAD (64 * 1024)
#define ANSWER_S 10 /* how long an answer may be awaited */

struct json ask_begin(struct strbuf *sb, const char *request)
{
    struct json j = JSON_COMPACT(sb);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_str(&j, "request", request);
    return j;
}

/* A run that is stopped must not stop whoever lists it. A command may take any time. */
static int connect_run(int dir_fd, bool patient)
{
    const struct timeval most = {.tv_sec = ANSWER_S};
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   dir_fd);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    if (!patient)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    return TAKE_FD(fd);
}

/* The descriptors go with the first byte. A run that refuses us need not read to the end: what it
 * says then is in the answer, so a broken pipe is none of ours. */
static int send_request(int fd, const struct strbuf *request, bool with_fds)
{
    const int ours[3] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    uint32_t sizes[2] = {(uint32_t)request->len, 0};
    union {
        char bytes[CMSG_SPACE(sizeof(ours))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(ours)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    auto_strbuf struct strbuf all = STRBUF_INIT;

    memcpy(CMSG_DATA(&control.header), ours, sizeof(ours));
    strbuf_add(&all, sizes, sizeof(sizes));
    strbuf_add(&all, request->buf, request->len);
    while (all.len > 0) {
        struct iovec iov = {.iov_base = all.buf, .iov_len = all.len};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = with_fds ? control.bytes : NULL,
                             .msg_controllen = with_fds ? sizeof(control.bytes) : 0};
        ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EPIPE ? 0 : -errno;
        with_fds = false;
        strbuf_consume(&all, (size_t)n);
    }
    return 0;
}

static int receive(int fd, struct strbuf *ret)
{
    for (;;) {
        char buf[16 * 1024];
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != ECONNRESET ? -errno : 0;
        if (ret->len + (size_t)n > LIMIT_CONTROL_ANSWER)
            return -EFBIG;
        strbuf_add(ret, buf, (size_t)n);
    }
}

static int parse_head(struct arena *a, const char *text, size_t n, struct answer *ret,
                      struct err *e)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    json_read(a, "answer", text, n, false, &ds, &doc);
    diags_release(&ds);
    ret->head = doc.broken ? NULL : doc.roots[0];
    const struct node *ok = node_get(ret->head, "ok");
    if (!ok || ok->type != NODE_BOOL)
        return err_set(e, -EPROTO, "the run gave no answer of the control protocol");
    return ok->i ? 0 : err_set(e, -EPERM, "%s", answer_str(ret, "error"));
}

int ask(struct arena *a, int dir_fd, const struct strbuf *request, bool with_fds,
        struct answer *ret, struct err *e)
{
    auto_close int fd = connect_run(dir_fd, with_fds);
    auto_strbuf struct strbuf in = STRBUF_INIT;
    uint32_t sizes[2];

    if (fd < 0)
        return err_sys(e, fd, "the run does not answer");
    int r = send_request(fd, request, with_fds);
    if (r == 0)
        r = receive(fd, &in);
    if (r < 0)
        return err_sys(e, r, "the run cannot be asked");
    if (in.len >= sizeof(sizes))
        memcpy(sizes, in.buf, sizeof(sizes));
    if (in.len < sizeof(sizes) || in.len < sizeof(sizes) + sizes[0] + (size_t)sizes[1])
        return err_set(e, -ECONNRESET, "the run ended before it had answered");
    if (sizes[0] > ANSWER_HEAD)
        return err_set(e, -EPROTO, "the run's answer has a head of more than %d bytes",
                       ANSWER_HEAD);
    r = parse_head(a, in.buf + sizeof(sizes), sizes[0], ret, e);
    if (r == 0) {
        ret->body = (struct strbuf)STRBUF_INIT;
        strbuf_add(&ret->body, in.buf + sizeof(sizes) + sizes[0], sizes[1]);
    }
    return r;
}

const char *answer_str(const struct answer *an, const char *key)
{
    const struct node *node = node_get(an->head, key);

    return node && node->type == NODE_STRING ? node->text : "";
}

int64_t answer_int(const struct answer *an, const char *key)
{
    const struct node *node = node_get(an->head, key);

    return node && node->type == NODE_INT ? node->i : 0;
}
