/* control.c - the control socket's connections, in the loop of the run.
 *
 * Nothing here waits: a client that does not read its answer keeps its own connection busy, nobody
 * else. What a request means for the job is decided by the core; it gets observations like any
 * other.
 *
 * Not here: the other end (ask.c), finding the socket of a run (runs.c).
 */
#include "foreground/control.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/protocol.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "doc/json_read.h"
#include "job/report.h"
#include "rundir/evidence.h"
#include "rundir/outputs.h"

struct client {
    struct control *control;
    struct client *next, *prev;
    int fd;
    struct engine_exec *exec; /* the command that runs for it, or NULL */
    bool busy;                /* it has asked for one */
    uv_poll_t poll;
    struct strbuf in, out;
    int fds[3], n_fds; /* what came along, for exec */
    bool answered;     /* only the rest of `out` is still to be sent */
};

struct control {
    uv_poll_t poll;
    int fd;
    struct control_host host;
    int spare_fd; /* see io_accept() */
    struct client *clients;
    size_t n_clients;
};

/* --- connections ------------------------------------------------------------------------------ */

static void close_fd(int *fd)
{
    if (*fd < 0)
        return;
    (void)close(*fd);
    *fd = -1;
}

static void on_client_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void client_close(struct client *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        c->control->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->control->n_clients--;
    uv_close((uv_handle_t *)&c->poll, on_client_closed);
    if (c->exec)
        c->control->host.engine->ops->exec_stop(c->exec);
    close_fd(&c->fd);
    for (int i = 0; i < c->n_fds; i++)
        close_fd(&c->fds[i]);
    strbuf_release(&c->in);
    strbuf_release(&c->out);
}

static void on_client(uv_poll_t *poll, int status, int events);

/* Sends what can be sent. Returns false if the connection is of no more use. */
static bool flush(struct client *c)
{
    while (c->out.len > 0) {
        ssize_t n = send(c->fd, c->out.buf, c->out.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return false;
        strbuf_consume(&c->out, (size_t)n);
    }
    (void)uv_poll_start(&c->poll, c->out.len > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                        on_client);
    return c->out.len > 0 || !c->answered;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer(struct client *c, const struct strbuf *head, const struct strbuf *body)
{
    uint32_t sizes[2] = {(uint32_t)head->len, body ? (uint32_t)body->len : 0};

    strbuf_add(&c->out, sizes, sizeof(sizes));
    strbuf_add(&c->out, head->buf, head->len);
    if (body)
        strbuf_add(&c->out, body->buf, body->len);
    c->answered = true;
}

static void refuse(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void refuse(struct client *c, const char *fmt, ...)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    protocol_refuse(&head, fmt, ap);
    va_end(ap);
    answer(c, &head, NULL);
}

/* Of a run whose supervisor is stopped the state is that of the moment when it was. */
static pid_t stopped(const struct client *c)
{
    const struct control_host *host = &c->control->host;

    return host->stopped ? host->stopped(host->ctx) : 0;
}

static void answer_state(struct client *c, const struct strbuf *body)
{
    const struct job *job = c->control->host.job;
    auto_strbuf struct strbuf head = STRBUF_INIT;
    struct json j = JSON_COMPACT(&head);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_bool(&j, "ok", true);
    json_kv_str(&j, "id", job->plan->facts->site.run_id);
    json_kv_str(&j, "name", job->plan->spec->name);
    json_kv_str(&j, "dialect", job->plan->spec->dialect);
    json_kv_str(&j, "phase", job_live_state_name(job));
    json_kv_str(&j, "remark", stopped(c) ? "supervisor stopped" : "");
    json_kv_int(&j, "started", job->created);
    json_kv_int(&j, "now", clock_run());
    json_kv_str(&j, "run_dir", plan_records(job->plan));
    json_end(&j);
    answer(c, &head, body);
}

/* --- requests --------------------------------------------------------------------------------- */

static void serve_state(struct client *c, const struct node *head)
{
    (void)head;
    answer_state(c, NULL);
}

static void serve_show(struct client *c, const struct node *head)
{
    auto_strbuf struct strbuf body = STRBUF_INIT;
    auto_strvec struct strvec outputs = STRVEC_INIT;
    struct json j = JSON_PRETTY(&body);
    const char *dir = plan_records(c->control->host.job->plan);
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_close int logs_fd = fd < 0 ? -1 : openat(fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(evidence_release) struct evidence ev;

    (void)head;
    if (fd >= 0)
        outputs_find(fd, dir, &outputs);
    evidence_gather(&ev, logs_fd, c->control->host.job);
    struct report_context ctx = {.engine = c->control->host.engine_name,
                                 .outputs = (const char *const *)outputs.v,
                                 .aside =
                                     stopped(c) ? "the supervisor (muster-shim) is stopped" : NULL};
    evidence_report(&ev, &ctx);
    report_write(c->control->host.job, &ctx, &j);
    strbuf_addch(&body, '\n');
    answer_state(c, &body);
}

static void post(const struct client *c, enum obs_kind kind, int sig)
{
    const struct control_host *host = &c->control->host;
    const struct observation o = {
        .kind = kind, .at = clock_run(), .signal = sig, .asked = kind == OBS_CANCEL};

    host->post(host->ctx, &o);
}

static void serve_cancel(struct client *c, const struct node *head)
{
    (void)head;
    post(c, OBS_CANCEL, SIGTERM);
    answer_state(c, NULL);
}

static void serve_kill(struct client *c, const struct node *head)
{
    post(c, OBS_CANCEL, SIGTERM);
    serve_cancel(c, head);
}

/* The core ignores a request that makes no sense now; a person is told. */
static void serve_pause(struct client *c, const struct node *head)
{
    const struct job *job = c->control->host.job;

    (void)head;
    if (job->phase == JOB_ENDED || job->cancel_signal) {
        refuse(c, "%s is already ending", job->plan->spec->name);
        return;
    }
    if (job->pause_wanted) {
        refuse(c, "%s is already paused", job->plan->spec->name);
        return;
    }
    if (job->phase == JOB_HELD) {
        refuse(c, "%s has failed and is held; resume or cancel it", job->plan->spec->name);
        return;
    }
    post(c, OBS_PAUSE, 0);
    answer_state(c, NULL);
}

static void serve_resume(struct client *c, const struct node *head)
{
    const struct job *job = c->control->host.job;

    (void)head;
    if (!job_resumable(job)) {
        refuse(c, "%s is not paused, held or debugged", job->plan->spec->name);
        return;
    }
    post(c, OBS_RESUME, 0);
    answer_state(c, NULL);
}

static void put_words(struct json *j, const char *key, const char *const *words)
{
    json_key(j, key);
    json_array(j);
    for (; words && *words; words++)
        json_str(j, *words);
    json_end(j);
}

/* As the run was started with them, whatever its file says today. */
static void serve_resume_specs(struct client *c, const struct node *head)
{
    const struct job_spec *spec = c->control->host.job->plan->spec;
    auto_strbuf struct strbuf body = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);

    (void)head;
    json_array(&j);
    for (size_t i = 0; i < spec->n_resume_roles; i++) {
        const struct debug_role *r = &spec->resume_roles[i];
        json_object(&j);
        json_kv_str(&j, "type", r->role);
        json_kv_bool(&j, "skipInitContainer", r->skip_init);
        put_words(&j, "command", r->command);
        put_words(&j, "args", r->args);
        json_end(&j);
    }
    json_end(&j);
    answer_state(c, &body);
}

static void serve_signal(struct client *c, const struct node *head)
{
    const struct node *sig = node_get(head, "signal");
    const struct control_host *host = &c->control->host;

    if (!sig || sig->type != NODE_INT || sig->i < 1 || sig->i >= NSIG) {
        refuse(c, "the signal must be a number from 1 to %d", NSIG - 1);
        return;
    }
    host->signal(host->ctx, (int)sig->i);
    answer_state(c, NULL);
}

/* --- exec ------------------------------------------------------------------------------------- */

static void answer_status(struct client *c, int status)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    struct json j = JSON_COMPACT(&head);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_bool(&j, "ok", true);
    json_kv_int(&j, "status", status);
    json_end(&j);
    answer(c, &head, NULL);
}

static void on_exec_ended(void *ctx, int status, const struct err *e)
{
    struct client *c = ctx;

    c->exec = NULL;
    if (status >= 0)
        answer_status(c, status);
    else
        refuse(c, "%s", e->text);
    if (!flush(c))
        client_close(c);
}

/* Can a command run in it? In a job that is held, in every replica that was there. */
static bool is_host(const struct job *job, uint32_t replica)
{
    enum proc_state state = job_replica(job, replica).state;

    return state == PROC_RUNNING || (job->phase == JOB_HELD && state == PROC_ENDED);
}

static const struct replica *find_replica(struct client *c, const char *name)
{
    const struct job *job = c->control->host.job;
    const struct plan *plan = job->plan;
    auto_free const char **names = xcalloc(plan->n_replicas, sizeof(*names));

    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        names[i] = plan->replicas[i].name;
        if (strcmp(names[i], name) != 0)
            continue;
        if (is_host(job, i))
            return &plan->replicas[i];
        refuse(c, "%s is not running", name);
        return NULL;
    }
    const char *near = nearest_word(name, names, plan->n_replicas);
    if (near)
        refuse(c, "%s has no replica \"%s\"; did you mean %s?", plan->spec->name, name, near);
    else
        refuse(c, "%s has no replica \"%s\"; its first replica is %s", plan->spec->name, name,
               names[0]);
    return NULL;
}

static void serve_exec(struct client *c, const struct node *head)
{
    const struct node *name = node_get(head, "replica"), *command = node_get(head, "command");
    const struct exec_client client = {.ended = on_exec_ended, .ctx = c};
    struct engine *en = c->control->host.engine;
    struct err e;

    if (!name || name->type != NODE_STRING || !command || command->type != NODE_STRING ||
        c->n_fds != 3) {
        refuse(c, "exec requires a replica, a command and three descriptors");
        return;
    }
    const struct replica *r = find_replica(c, name->text);
    if (!r)
        return;
    if (!en->ops->exec) {
        refuse(c, "engine %s cannot run a command in a replica", c->control->host.engine_name);
        return;
    }
    if (stopped(c)) { /* it could only be waited for */
        refuse(c,
               "the supervisor (muster-shim, pid %d) is stopped; continue it with `kill -CONT %d`",
               (int)stopped(c), (int)stopped(c));
        return;
    }
    int code = en->ops->exec(en, r->id, command->text, c->fds, &client, &c->exec, &e);
    for (int i = 0; i < c->n_fds; i++)
        close_fd(&c->fds[i]); /* the command has its own now; a pipe must not stay open with us */
    c->busy = code == 0;
    if (code < 0)
        refuse(c, "%s", e.text);
}

static const struct {
    const char *name;
    void (*serve)(struct client *c, const struct node *head);
} requests[] = {
    {"state", serve_state},   {"show", serve_show},   {"cancel", serve_cancel},
    {"kill", serve_kill},     {"pause", serve_pause}, {"resume", serve_resume},
    {"signal", serve_signal}, {"exec", serve_exec},   {"resume-specs", serve_resume_specs},
};

static void serve(struct client *c, const char *text, size_t len)
{
    auto_arena struct arena *a = arena_new();
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    json_read(a, "request", text, len, false, &ds, &doc);
    const struct node *root = doc.broken ? NULL : doc.roots[0];
    const struct node *version = node_get(root, "version"), *what = node_get(root, "request");
    diags_release(&ds);
    if (!version || version->type != NODE_INT || !what || what->type != NODE_STRING) {
        refuse(c, "invalid request");
        return;
    }
    if (version->i != CONTROL_VERSION) {
        refuse(c,
               "the run uses control protocol version %d, not %lld; use the muster that started it",
               CONTROL_VERSION, (long long)version->i);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        if (strcmp(requests[i].name, what->text) == 0) {
            requests[i].serve(c, root);
            return;
        }
    refuse(c, "unknown request \"%s\"", what->text);
}

/* --- receiving -------------------------------------------------------------------------------- */

static void take_fds(struct client *c, struct msghdr *msg)
{
    for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
        if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(int));
            if (c->n_fds < (int)ARRAY_SIZE(c->fds))
                c->fds[c->n_fds++] = fd;
            else
                (void)close(fd);
        }
    }
}

/* False at the end of the connection. */
static bool receive(struct client *c)
{
    char buf[4096];
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr header;
    } room;
    struct iovec iov = {.iov_base = buf, .iov_len = sizeof(buf)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = room.bytes,
                         .msg_controllen = sizeof(room.bytes)};
    ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    take_fds(c, &msg);
    if (n > 0 && !c->answered && !c->busy)
        strbuf_add(&c->in, buf, (size_t)n);
    return n > 0;
}

static void take_request(struct client *c)
{
    uint32_t sizes[2];

    if (c->answered || c->busy || c->in.len < sizeof(sizes))
        return;
    memcpy(sizes, c->in.buf, sizeof(sizes));
    if (sizes[0] > LIMIT_PACKET_BYTES || sizes[1] != 0)
        refuse(c, "a request must have at most %d bytes and no body", LIMIT_PACKET_BYTES);
    else if (c->in.len >= sizeof(sizes) + sizes[0])
        serve(c, c->in.buf + sizeof(sizes), sizes[0]);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
    struct client *c = poll->data;
    bool open = status == 0;

    if (open && (events & UV_READABLE))
        open = receive(c);
    if (open)
        take_request(c);
    if (!open || !flush(c))
        client_close(c);
}

static void check_peer(struct client *c)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0))
        refuse(c, "only uid %u and root may control this run", geteuid());
}

/* Makes room: the one that has been there longest without a command that runs. Whoever connects and
 * says nothing must not keep others out. */
static void drop_idle(struct control *ctl)
{
    struct client *oldest = NULL;

    for (struct client *c = ctl->clients; c; c = c->next)
        if (!c->exec)
            oldest = c;
    if (oldest)
        client_close(oldest);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct control *ctl = poll->data;
    auto_close int fd = io_accept(ctl->fd, &ctl->spare_fd);

    (void)status;
    (void)events;
    if (ctl->n_clients >= LIMIT_CONTROL_CLIENTS)
        drop_idle(ctl);
    if (fd < 0 || ctl->n_clients >= LIMIT_CONTROL_CLIENTS)
        return;
    struct client *c = xcalloc(1, sizeof(*c));
    *c = (struct client){.control = ctl,
                         .next = ctl->clients,
                         .fd = TAKE_FD(fd),
                         .in = STRBUF_INIT,
                         .out = STRBUF_INIT};
    if (c->next)
        c->next->prev = c;
    ctl->clients = c;
    ctl->n_clients++;
    (void)uv_poll_init(poll->loop, &c->poll, c->fd);
    c->poll.data = c;
    check_peer(c);
    if (!flush(c))
        client_close(c);
}

/* --- beginning and end ------------------------------------------------------------------------ */

int control_open(uv_loop_t *loop, const struct control_host *host, struct control **ret,
                 struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* By way of /proc: sun_path is short, and nobody can move the directory from under us. */
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   host->scratch_fd);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        fchmodat(host->scratch_fd, CONTROL_SOCKET, 0600, 0) < 0 || listen(fd, SOMAXCONN) < 0)
        return err_sys(e, -errno, "the run cannot be controlled: cannot create " CONTROL_SOCKET);
    struct control *c = xcalloc(1, sizeof(*c));
    c->host = *host;
    c->fd = TAKE_FD(fd);
    c->spare_fd = io_spare();
    (void)uv_poll_init(loop, &c->poll, c->fd);
    c->poll.data = c;
    (void)uv_poll_start(&c->poll, UV_READABLE, on_connection);
    *ret = c;
    return 0;
}

static void on_control_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void control_free(struct control *c)
{
    if (!c)
        return;
    (void)unlinkat(c->host.scratch_fd, CONTROL_SOCKET, 0);
    while (c->clients)
        client_close(c->clients);
    uv_close((uv_handle_t *)&c->poll, on_control_closed);
    close_fd(&c->fd);
    close_fd(&c->spare_fd);
}
