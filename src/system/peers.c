/* peers.c - connections to the system daemon: any user's questions, and links of users' daemons.
 *
 * Who asks is known from the socket (SO_PEERCRED) and from nothing else. Nothing here waits; each
 * user has a bounded number of connections, and each of them bounded memory.
 *
 *     {"version":1,"request":"start","state_home"?}   when the caller's daemon has connected
 *     {…,"request":"list","id"?}  the body has all jobs, or one, each a line: what is public
 *     {…,"request":"cancel","id"}, "kill", "pause", "resume"     passed on to the job's daemon, for
 *                                 its user and root
 *     {…,"request":"member"}      makes the connection a link (parts.h); its answer has no body
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/protocol.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "system/parts.h"

struct peer {
    struct peers *peers;
    struct peer *next, *prev;
    int fd;
    uid_t uid;
    pid_t pid;
    uv_poll_t poll;
    struct strbuf in, out;
    ns_t since;         /* clock_mono() of its beginning */
    struct user *link;  /* it is the link of this user */
    struct user *waits; /* for the daemon of this user */
    bool answered;
    bool broken;
};

struct peers {
    struct system *sys;
    uv_poll_t poll;
    uv_timer_t timer;
    int fd, spare_fd;
    struct peer *peers;
    size_t n_peers;
};

/* --- connections ------------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void peer_close(struct peer *p)
{
    struct peers *sv = p->peers;
    struct user *u = p->link;

    if (p->prev)
        p->prev->next = p->next;
    else
        sv->peers = p->next;
    if (p->next)
        p->next->prev = p->prev;
    sv->n_peers--;
    uv_close((uv_handle_t *)&p->poll, on_closed);
    (void)close(p->fd);
    strbuf_release(&p->in);
    strbuf_release(&p->out);
    p->link = NULL;
    if (u && u->link == p)
        member_lost(u);
}

static void on_peer(uv_poll_t *poll, int status, int events);

/* Sends what can be sent. False: the connection is of no more use. */
static bool flush(struct peer *p)
{
    if (p->broken)
        return false;
    while (p->out.len > 0) {
        ssize_t n = send(p->fd, p->out.buf, p->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return false;
        strbuf_consume(&p->out, (size_t)n);
    }
    (void)uv_poll_start(&p->poll, p->out.len > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                        on_peer);
    return p->link || p->out.len > 0 || !p->answered;
}

/* One that does not read is closed with the next flush. */
void peer_send(struct peer *p, const struct strbuf *line)
{
    if (p->out.len + line->len > LIMIT_USER_UNREAD) {
        p->broken = true;
        return;
    }
    strbuf_add(&p->out, line->buf, line->len);
    strbuf_addch(&p->out, '\n');
}

static void answer(struct peer *p, const struct strbuf *head, const struct strbuf *body)
{
    uint32_t sizes[2] = {(uint32_t)head->len, body ? (uint32_t)body->len : 0};

    strbuf_add(&p->out, sizes, sizeof(sizes));
    strbuf_add(&p->out, head->buf, head->len);
    if (body)
        strbuf_add(&p->out, body->buf, body->len);
    p->answered = true;
    p->waits = NULL;
}

static void accept_request(struct peer *p, const struct strbuf *body)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;

    protocol_accept(&head);
    answer(p, &head, body);
}

static void __attribute__((format(printf, 2, 3))) refuse(struct peer *p, const char *fmt, ...)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    protocol_refuse(&head, fmt, ap);
    va_end(ap);
    answer(p, &head, NULL);
}

void peers_started(struct user *u, const char *why_not)
{
    for (struct peer *p = u->sys->peers ? u->sys->peers->peers : NULL; p; p = p->next) {
        if (p->waits != u)
            continue;
        if (why_not)
            refuse(p, "%s", why_not);
        else
            accept_request(p, NULL);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* Where the user has its state; it becomes a variable of the user's own daemon. */
static bool read_state_home(struct user *u, const struct node *root)
{
    const char *dir = node_text(node_get(root, "state_home"), "");
    size_t n = strlen(dir);

    if (n > 0 && (*dir != '/' || n > 512))
        return false;
    for (const char *c = dir; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    free(u->state_home);
    u->state_home = xstrdup(dir);
    return true;
}

static void serve_start(struct system *sys, struct peer *p, const struct node *root)
{
    struct user *u = user_get(sys, p->uid);
    struct err e;

    if (sys->leaving) {
        refuse(p, "the system daemon is ending");
        return;
    }
    if (u->link && u->told) {
        accept_request(p, NULL);
        return;
    }
    if (!u->link && !u->pid) {
        if (!read_state_home(u, root)) {
            refuse(p, "`state_home` must be an absolute path");
            return;
        }
        if (inherited_limits(p->pid, p->uid, &u->inherited, &e) < 0 || member_start(u, &e) < 0) {
            refuse(p, "%s", e.text);
            return;
        }
        sys_store_user(sys->store, u);
    }
    p->waits = u;
}

static void serve_list(struct system *sys, struct peer *p, const struct node *root)
{
    auto_strbuf struct strbuf body = STRBUF_INIT;

    const char *id = node_text(node_get(root, "id"), NULL);

    if (!sys->explained && !id)
        decide_explain(sys);
    book_list(sys, id, &body);
    accept_request(p, &body);
}

static void pass_on(struct user *u, const struct job_entry *job, const char *what)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;
    struct json j = JSON_COMPACT(&line);

    json_object(&j);
    json_kv_int(&j, "ask", job->number);
    json_kv_str(&j, "request", what);
    json_end(&j);
    peer_send(u->link, &line);
}

/* Ids are chosen by users' daemons: if two users have the same one, both are asked, so that nobody
 * can hide a job from root behind one that has its id. */
static void serve_pass_on(struct system *sys, struct peer *p, const struct node *root)
{
    const char *id = node_text(node_get(root, "id"), "");
    const struct user *others = NULL, *away = NULL;
    bool done = false;

    for (size_t i = 0; i < sys->n_users; i++) {
        struct user *u = sys->users[i];
        const struct job_entry *j = book_find(u, id);

        if (!j)
            continue;
        if (p->uid != 0 && p->uid != u->uid) {
            others = u;
        } else if (!u->link) {
            away = u;
        } else {
            pass_on(u, j, node_text(node_get(root, "request"), ""));
            done = true;
        }
    }
    if (away)
        refuse(p,
               "%s: the daemon of %s is not connected; if it stays away, that user runs another "
               "one (muster serve)",
               id, away->name);
    else if (done)
        accept_request(p, NULL);
    else if (others)
        refuse(p, "%s is a job of %s; only %s and root may do that", id, others->name,
               others->name);
    else
        refuse(p, "job \"%s\" not found among the jobs of all users that have not ended", id);
}

static void serve_member(struct system *sys, struct peer *p, const struct node *root)
{
    struct user *u = user_get(sys, p->uid);

    (void)root;
    if (u->link || sys->leaving) {
        refuse(p, u->link ? "another daemon of this user is connected"
                          : "the system daemon is ending");
        return;
    }
    accept_request(p, NULL);
    p->link = u;
    member_linked(u, p);
}

static const struct {
    const char *name;
    void (*serve)(struct system *sys, struct peer *p, const struct node *root);
} requests[] = {
    {"start", serve_start},   {"list", serve_list},     {"cancel", serve_pass_on},
    {"kill", serve_pass_on},  {"pause", serve_pass_on}, {"resume", serve_pass_on},
    {"member", serve_member},
};

static void serve(struct peer *p, const char *text, size_t len)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, text, len), *version = node_get(root, "version");
    const char *what = node_text(node_get(root, "request"), "");

    if (!version || version->type != NODE_INT || version->i != CONTROL_VERSION) {
        refuse(p, "the system daemon uses control protocol version %d; use the same muster",
               CONTROL_VERSION);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        if (strcmp(requests[i].name, what) == 0) {
            requests[i].serve(p->peers->sys, p, root);
            return;
        }
    refuse(p, "unknown request \"%s\"; ask your own daemon", what);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* False at the end of the connection. */
static bool receive(struct peer *p)
{
    char buf[16 * 1024];
    ssize_t n = recv(p->fd, buf, sizeof(buf), MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n > 0 && (p->link || (!p->answered && !p->waits)))
        strbuf_add(&p->in, buf, (size_t)n);
    return n > 0;
}

static void take_request(struct peer *p)
{
    uint32_t sizes[2];

    if (p->in.len < sizeof(sizes))
        return;
    memcpy(sizes, p->in.buf, sizeof(sizes));
    if (sizes[0] > LIMIT_USER_REQUEST || sizes[1] != 0) {
        refuse(p, "a request must have at most %d bytes", LIMIT_USER_REQUEST);
        return;
    }
    if (p->in.len < sizeof(sizes) + sizes[0])
        return;
    serve(p, p->in.buf + sizeof(sizes), sizes[0]);
    strbuf_consume(&p->in, sizeof(sizes) + sizes[0]);
}

/* False: what its daemon says cannot be understood. */
static bool take_lines(struct peer *p)
{
    size_t done = 0;
    const char *nl;

    while ((nl = memchr(p->in.buf + done, '\n', p->in.len - done))) {
        size_t len = (size_t)(nl - p->in.buf) - done;
        struct err e;

        if (book_line(p->link, p->in.buf + done, len, &e) < 0) {
            system_note(p->peers->sys, "the daemon of %s %s", p->link->name, e.text);
            return false;
        }
        done += len + 1;
    }
    if (done)
        strbuf_consume(&p->in, done);
    return p->in.len <= LIMIT_USER_LINE;
}

static void on_peer(uv_poll_t *poll, int status, int events)
{
    struct peer *p = poll->data;
    bool open = status == 0;

    if (open && (events & UV_READABLE))
        open = receive(p);
    if (open && !p->link && !p->answered && !p->waits)
        take_request(p);
    if (open && p->link && p->in.len > 0)
        open = take_lines(p);
    if (!open)
        peer_close(p);
    /* what is to be sent goes after the commit: peers_flush() */
}

void peers_flush(struct system *sys)
{
    struct peer *next;

    for (struct peer *p = sys->peers ? sys->peers->peers : NULL; p; p = next) {
        next = p->next;
        if ((p->out.len > 0 || p->broken || p->answered) && !flush(p))
            peer_close(p);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

static size_t connections_of(const struct peers *sv, uid_t uid)
{
    size_t n = 0;

    for (const struct peer *p = sv->peers; p; p = p->next)
        n += p->uid == uid && !p->link;
    return n;
}

/* Those that do not ask, and those that wait for a daemon that does not come. */
static void on_timer(uv_timer_t *timer)
{
    struct peers *sv = timer->data;
    struct peer *next;
    bool any = false;

    for (struct peer *p = sv->peers; p; p = next) {
        next = p->next;
        any |= !p->link;
        if (p->link || clock_mono() - p->since < LIMIT_USER_START_MS * NS_PER_MS)
            continue;
        if (p->waits)
            refuse(p, "the daemon of %s did not connect", p->waits->name);
        else
            peer_close(p);
    }
    if (!any)
        (void)uv_timer_stop(timer);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct peers *sv = poll->data;
    auto_close int fd = io_accept(sv->fd, &sv->spare_fd);
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    (void)status;
    (void)events;
    if (fd < 0 || sv->n_peers >= LIMIT_DAEMON_CLIENTS ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid == (uid_t)-1 ||
        connections_of(sv, peer.uid) >= LIMIT_USER_CLIENTS)
        return;
    struct peer *p = xcalloc(1, sizeof(*p));
    *p = (struct peer){.peers = sv,
                       .next = sv->peers,
                       .fd = TAKE_FD(fd),
                       .uid = peer.uid,
                       .pid = peer.pid,
                       .since = clock_mono(),
                       .in = STRBUF_INIT,
                       .out = STRBUF_INIT};
    if (p->next)
        p->next->prev = p;
    sv->peers = p;
    sv->n_peers++;
    (void)uv_poll_init(poll->loop, &p->poll, p->fd);
    p->poll.data = p;
    (void)uv_poll_start(&p->poll, UV_READABLE, on_peer);
    if (!uv_is_active((uv_handle_t *)&sv->timer))
        (void)uv_timer_start(&sv->timer, on_timer, 1000, 1000);
}

int peers_open(struct system *sys, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)unlinkat(sys->run_fd, CONTROL_SOCKET, 0); /* of one that was killed: we hold the lock */
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   sys->run_fd);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        fchmodat(sys->run_fd, CONTROL_SOCKET, 0666, 0) < 0 || listen(fd, SOMAXCONN) < 0)
        return err_sys(e, -errno, "cannot create %s/" CONTROL_SOCKET, sys->run);
    struct peers *sv = xcalloc(1, sizeof(*sv));
    *sv = (struct peers){.sys = sys, .fd = TAKE_FD(fd), .spare_fd = io_spare()};
    (void)uv_poll_init(&sys->loop, &sv->poll, sv->fd);
    (void)uv_timer_init(&sys->loop, &sv->timer);
    sv->poll.data = sv->timer.data = sv;
    (void)uv_poll_start(&sv->poll, UV_READABLE, on_connection);
    sys->peers = sv;
    return 0;
}

void peers_close(struct system *sys)
{
    struct peers *sv = sys->peers;

    if (!sv)
        return;
    /* The socket stays: that nobody listens there says that there is a system daemon, which is not
     * running. */
    while (sv->peers)
        peer_close(sv->peers);
    sys->peers = NULL;
    (void)close(sv->fd);
    if (sv->spare_fd >= 0)
        (void)close(sv->spare_fd);
    uv_close((uv_handle_t *)&sv->timer, NULL);
    uv_close((uv_handle_t *)&sv->poll, on_closed);
}
