/* ask.c - see ask.h: one blocking question. */
#include "client/ask.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clock.h"
#include "client/protocol.h"
#include "base/io.h"
#include "base/procs.h"
#include "base/num.h"
#include "doc/json_read.h"

#define ANSWER_HEAD (64 * 1024)

struct json ask_begin(struct strbuf *sb, const char *request)
{
    struct json j = JSON_COMPACT(sb);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_str(&j, "request", request);
    return j;
}

static struct timeval limit_of(int ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
}

/* The limit of sending is connect()'s too: the queue of a run that is stopped may be full. */
static int connect_run(int dir_fd, bool patient, int limit_ms)
{
    const struct timeval most = limit_of(limit_ms);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   dir_fd);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    if (!patient)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* The process that listens, or 0. */
static pid_t peer_of(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ? 0 : peer.pid;
}

/* A debugger's stop (t) counts only after the limit: strace stops a process at every call. */
static bool is_stopped(pid_t pid, bool waited)
{
    char state = proc_state(pid);

    return state == 'T' || (waited && state == 't');
}

static int no_answer(struct answer *ret, int limit_ms, struct err *e)
{
    char most[DURATION_TEXT];

    ret->stopped = ret->stopped || is_stopped(ret->pid, true);
    if (ret->stopped)
        return err_set(e, -ETIMEDOUT,
                       "its muster process (pid %d) is stopped; continue it with `kill -CONT %d`, "
                       "or with `fg` in its terminal",
                       (int)ret->pid, (int)ret->pid);
    return err_set(e, -ETIMEDOUT, "its muster process (pid %d) has not responded for %s",
                   (int)ret->pid, duration_text(limit_ms, most));
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

/* limit_ms is for the whole answer; 0 = none. */
static int receive(int fd, int limit_ms, struct strbuf *ret)
{
    ns_t end = clock_mono() + limit_ms * NS_PER_MS;

    for (;;) {
        char buf[16 * 1024];
        if (limit_ms && clock_mono() > end)
            return -EAGAIN;
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
        return err_set(e, -EPROTO, "the run sent an invalid reply");
    return ok->i ? 0 : err_set(e, -EPERM, "%s", answer_str(ret, "error"));
}

int ask(struct arena *a, int dir_fd, const struct strbuf *request, bool with_fds, int limit_ms,
        struct answer *ret, struct err *e)
{
    auto_close int fd = connect_run(dir_fd, with_fds, limit_ms);
    auto_strbuf struct strbuf in = STRBUF_INIT;
    uint32_t sizes[2];

    if (fd == -EAGAIN)
        return err_set(e, -ETIMEDOUT, "its muster process does not accept connections");
    if (fd < 0)
        return err_sys(e, fd, "the run does not respond");
    ret->pid = peer_of(fd);
    ret->stopped = is_stopped(ret->pid, false);
    int r = ret->stopped ? -EAGAIN : send_request(fd, request, with_fds);
    if (r == 0)
        r = receive(fd, with_fds ? 0 : limit_ms, &in);
    if (r == -EAGAIN)
        return no_answer(ret, limit_ms, e);
    if (r < 0)
        return err_sys(e, r, "cannot send a request to the run");
    if (in.len >= sizeof(sizes))
        memcpy(sizes, in.buf, sizeof(sizes));
    if (in.len < sizeof(sizes) || in.len < sizeof(sizes) + sizes[0] + (size_t)sizes[1])
        return err_set(e, -ECONNRESET, "the run ended before it replied");
    if (sizes[0] > ANSWER_HEAD)
        return err_set(e, -EPROTO, "the run's reply has a header of more than %d bytes",
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

void answer_lines(struct arena *a, const struct answer *an, struct answer_lines *ret)
{
    size_t lines = 0;

    for (size_t i = 0; i < an->body.len; i++)
        lines += an->body.buf[i] == '\n';
    *ret = (struct answer_lines){.v = ARENA_ARRAY(a, const struct node *, lines + 1)};
    for (const char *p = an->body.buf; ret->n < lines;) {
        const char *nl = strchr(p, '\n');

        ret->v[ret->n++] = json_node(a, p, (size_t)(nl - p));
        p = nl + 1;
    }
}
