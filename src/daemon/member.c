/* member.c - a daemon of one of many users who share a machine: the system daemon decides for all
 * of them who starts next (system/parts.h has what is said), this one does the rest.
 *
 * It announces its jobs, and starts those that are granted. While the system daemon is away its
 * jobs run on and none starts. A line is sent when something of it has changed; that is seen by a
 * hash, because a line for each of ten thousand waiting jobs takes longer than a decision.
 *
 * Not here: jobs that wait for another one of the same user (--after): they are announced as paused
 * until that one has ended.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/protocol.h"
#include "daemon/parts.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "rundir/places.h"

#define RETRY_MS 1000
#define REFUSED_RETRY_MS 5000

struct member {
    struct daemon *d;
    uv_timer_t retry;
    uv_poll_t *poll; /* NULL: not connected */
    int fd;
    bool accepted; /* the answer to the request has come */
    ns_t alone;    /* clock_mono() since when nobody listens; 0: somebody does */
    struct strbuf in, out;
};

static void connect_again(struct member *m, int64_t ms);

/* --- the connection --------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void disconnect(struct member *m)
{
    if (m->poll)
        uv_close((uv_handle_t *)m->poll, on_closed);
    if (m->fd >= 0)
        (void)close(m->fd);
    m->poll = NULL;
    m->fd = -1;
    m->accepted = false;
    strbuf_truncate(&m->in, 0);
    strbuf_truncate(&m->out, 0);
}

static void on_link(uv_poll_t *poll, int status, int events);

static void flush(struct member *m)
{
    while (m->poll && m->out.len > 0) {
        ssize_t n = send(m->fd, m->out.buf, m->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            disconnect(m);
            connect_again(m, RETRY_MS);
            return;
        }
        if (n < 0)
            break;
        strbuf_consume(&m->out, (size_t)n);
    }
    if (m->poll)
        (void)uv_poll_start(m->poll, m->out.len > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                            on_link);
}

/* --- what is said ----------------------------------------------------------------------------- */

/* FAILED before OPEN: such a job never starts. */
static enum queue_after_state after_of(const struct served *s, const struct queue_after **ret_which)
{
    auto_arena struct arena *a = arena_new();
    const struct queue_after *v = admit_afters(a, s);
    enum queue_after_state worst = QUEUE_AFTER_SUCCEEDED;

    for (uint32_t i = 0; i < s->common->n_afters; i++) {
        bool failed = v[i].state == QUEUE_AFTER_FAILED && !v[i].any;

        if (failed || (v[i].state == QUEUE_AFTER_OPEN && worst == QUEUE_AFTER_SUCCEEDED)) {
            worst = failed ? QUEUE_AFTER_FAILED : QUEUE_AFTER_OPEN;
            *ret_which = &s->common->afters[i];
        }
        if (failed)
            break;
    }
    return worst;
}

static enum queue_state state_of(const struct served *s)
{
    enum queue_state state = admit_state(s);
    const struct queue_after *which;

    if (state == QUEUE_WAITING && !s->act && s->common->n_afters > 0 &&
        after_of(s, &which) != QUEUE_AFTER_SUCCEEDED)
        return QUEUE_PAUSED;
    return state;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * UINT64_C(0x100000001b3); /* FNV-1a */
}

static uint64_t hash_of(const struct served *s, enum queue_state state)
{
    uint64_t h = mix(mix(UINT64_C(0xcbf29ce484222325), (uint64_t)state), s->grant);

    return mix(h, (uint64_t)s->row.priority) | 1; /* 0: nothing was said */
}

static void put_job(struct strbuf *out, const struct served *s, enum queue_state state)
{
    static const char *const words[] = {[QUEUE_WAITING] = "waiting",
                                        [QUEUE_RUNNING] = "running",
                                        [QUEUE_STOPPING] = "stopping",
                                        [QUEUE_PAUSED] = "paused"};
    int64_t most = s->common->max_duration / NS_PER_MS;
    struct json j = JSON_COMPACT(out);

    json_object(&j);
    json_kv_int(&j, "job", s->row.number);
    json_kv_str(&j, "id", s->row.id);
    json_kv_str(&j, "name", s->row.name);
    json_kv_str(&j, "queue", s->row.queue);
    json_kv_int(&j, "priority", s->row.priority);
    json_kv_str(&j, "state", words[state]);
    json_kv_int(&j, "grant", (int64_t)s->grant);
    json_kv_int(&j, "submitted", s->row.submitted);
    json_kv_int(&j, "max_ms", most < LIMIT_USER_DURATION_MS ? most : LIMIT_USER_DURATION_MS);
    json_key(&j, "roles");
    json_array(&j);
    for (uint32_t i = 0; i < s->common->n_roles; i++) {
        json_array(&j);
        json_int(&j, s->common->roles[i].replicas);
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            json_int(&j, s->common->roles[i].each.v[r]);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    strbuf_addch(out, '\n');
}

static void say_gone(struct member *m, int64_t number)
{
    strbuf_addf(&m->out, "{\"gone\":%lld}\n", (long long)number);
}

static void say(struct member *m)
{
    struct daemon *d = m->d;

    for (size_t i = 0; m->accepted && i < d->n; i++) {
        struct served *s = d->jobs[i];
        bool ended = s->row.state == STORED_ENDED && !s->act;

        if (s->is_new || (ended && !s->announced) || (!ended && !s->common)) /* its end is stored */
            continue;
        if (ended) {
            say_gone(m, s->row.number);
            s->announced = false;
            continue;
        }
        enum queue_state state = state_of(s);
        uint64_t hash = hash_of(s, state);
        if (hash == s->said)
            continue;
        put_job(&m->out, s, state);
        s->said = hash;
        s->announced = true;
    }
}

void member_dropped(struct served *s)
{
    struct member *m = s->d->member;

    if (!m || !m->accepted || !s->announced)
        return;
    say_gone(m, s->row.number);
    flush(m);
}

static void end_hopeless(struct daemon *d)
{
    for (size_t i = 0; i < d->n; i++) {
        struct served *s = d->jobs[i];
        const struct queue_after *which = NULL;
        struct err e;

        if (s->row.state != STORED_WAITING || s->is_new || s->act || s->common->n_afters == 0 ||
            after_of(s, &which) != QUEUE_AFTER_FAILED)
            continue;
        const struct served *other = daemon_number(d, (int64_t)which->id);
        (void)err_set(&e, -ECANCELED, "job %s, which it waits for, did not succeed",
                      other ? other->row.id : "(deleted)");
        served_refuse(s, &e);
    }
}

void member_admit(struct daemon *d)
{
    d->queue_wake = 0;
    end_hopeless(d);
    say(d->member);
    flush(d->member);
}

/* --- what is heard ---------------------------------------------------------------------------- */

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : 0;
}

static uint64_t gpus_of(const char *text)
{
    uint64_t gpus = 0;

    for (const char *p = text; *p;) {
        char *end;
        unsigned long bit = strtoul(p, &end, 10);

        if (end == p || bit >= LIMIT_QUEUE_GPUS)
            break;
        gpus |= UINT64_C(1) << bit;
        p = end + (*end == ',');
    }
    return gpus;
}

/* One that cannot start any more says so with its next line, which has the grant. */
static void hear_start(struct member *m, struct served *s, const struct node *root)
{
    const struct node *gpus = node_get(root, "gpus");

    s->grant = (uint64_t)int_of(root, "grant");
    s->said = 0;
    m->d->queue_changed = true;
    if (m->d->leaving || s->is_new || !s->common || state_of(s) != QUEUE_WAITING || !gpus ||
        gpus->type != NODE_SEQ || gpus->n != s->common->n_replicas)
        return;
    auto_free struct queue_place *places = xcalloc(gpus->n + 1, sizeof(*places));
    for (size_t i = 0; i < gpus->n; i++)
        places[i].gpus = gpus_of(node_text(gpus->items[i], ""));
    admit_places(s, places);
    if (s->act)
        preempt_resume(s);
    else
        served_start(s);
}

static void hear_stop(struct served *s, const struct node *root)
{
    const char *why = node_text(node_get(root, "why"), "");

    if (strcmp(why, "exceeded") == 0)
        s->stopping = true;
    else
        preempt_stop(s, node_text(node_get(root, "text"), ""), strcmp(why, "requeue") == 0);
    s->d->queue_changed = true;
}

static void hear_why(struct served *s, const struct node *root)
{
    free(s->why);
    s->why = xstrdup(node_text(node_get(root, "text"), ""));
}

static void pause_waiting(struct served *s, bool paused)
{
    s->row.paused = paused;
    store_update(s->d->store, &s->row);
    s->d->queue_changed = true;
}

/* Root asks; the job's own user asks us without the system daemon. */
static void hear_ask(struct served *s, const struct node *root)
{
    const char *what = node_text(node_get(root, "request"), "");
    bool kill = strcmp(what, "kill") == 0, live = s->act && s->act->turn && !s->act->told;

    if (s->row.state == STORED_ENDED || (s->act && !live))
        return;
    daemon_note(s->d, "%s: %s by root", s->row.id, what);
    if (kill || strcmp(what, "cancel") == 0) {
        if (kill && live)
            served_observe(s, OBS_CANCEL);
        if (live)
            served_observe(s, OBS_CANCEL);
        else
            served_cancel_waiting(s);
    } else if (strcmp(what, "pause") == 0) {
        if (!live)
            pause_waiting(s, true);
        else if (!s->act->job->pause_wanted)
            served_observe(s, OBS_PAUSE);
    } else if (strcmp(what, "resume") == 0) {
        if (!live)
            pause_waiting(s, false);
        else if (job_resumable(s->act->job))
            served_observe(s, OBS_RESUME);
    }
}

static void hear_line(struct member *m, const char *text, size_t len)
{
    static const char *const keys[] = {"start", "stop", "why", "ask"};
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, text, len);
    struct served *s = NULL;
    int64_t number = 0;

    if (node_get(root, "end")) {
        daemon_note(m->d, "the system daemon ends; jobs continue");
        daemon_leave(m->d);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys) && !number; i++)
        number = int_of(root, keys[i]);
    s = daemon_number(m->d, number);
    if (!s || (s->row.state == STORED_ENDED && !s->act)) {
        say_gone(m, number);
        return;
    }
    if (int_of(root, "start"))
        hear_start(m, s, root);
    else if (int_of(root, "stop"))
        hear_stop(s, root);
    else if (int_of(root, "ask"))
        hear_ask(s, root);
    else
        hear_why(s, root);
}

/* --- connecting ------------------------------------------------------------------------------- */

/* All jobs anew: whoever answers now may not be who answered before. */
static void begin(struct member *m)
{
    m->accepted = true;
    for (size_t i = 0; i < m->d->n; i++) {
        m->d->jobs[i]->said = 0;
        m->d->jobs[i]->announced = false;
    }
    say(m);
    strbuf_addstr(&m->out, "{\"told\":true}\n");
}

/* False: the answer is not complete. */
static bool take_answer(struct member *m)
{
    uint32_t sizes[2];

    if (m->in.len < sizeof(sizes))
        return false;
    memcpy(sizes, m->in.buf, sizeof(sizes));
    if (m->in.len - sizeof(sizes) < (size_t)sizes[0] + sizes[1])
        return false;
    auto_arena struct arena *a = arena_new();
    const struct node *head = json_node(a, m->in.buf + sizeof(sizes), sizes[0]);
    const struct node *ok = node_get(head, "ok");
    if (ok && ok->type == NODE_BOOL && ok->i) {
        strbuf_consume(&m->in, sizeof(sizes) + sizes[0] + sizes[1]);
        begin(m);
        return true;
    }
    daemon_note(m->d, "the system daemon refuses: %s", node_text(node_get(head, "error"), "?"));
    disconnect(m);
    connect_again(m, REFUSED_RETRY_MS);
    return false;
}

static void take_lines(struct member *m)
{
    size_t done = 0;
    const char *nl;

    while (m->poll && (nl = memchr(m->in.buf + done, '\n', m->in.len - done))) {
        hear_line(m, m->in.buf + done, (size_t)(nl - m->in.buf) - done);
        done = (size_t)(nl - m->in.buf) + 1;
    }
    if (m->poll && done)
        strbuf_consume(&m->in, done);
}

static void on_link(uv_poll_t *poll, int status, int events)
{
    struct member *m = poll->data;
    char buf[16 * 1024];
    ssize_t n = 1;

    if (status < 0)
        n = 0;
    else if (events & UV_READABLE) {
        n = recv(m->fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (n > 0)
            strbuf_add(&m->in, buf, (size_t)n);
        else if (n < 0 && (errno == EAGAIN || errno == EINTR))
            n = 1;
    }
    if (n <= 0) {
        if (m->accepted && !m->d->leaving)
            daemon_note(m->d, "the system daemon is gone; no job starts until it is back");
        disconnect(m);
        connect_again(m, RETRY_MS);
        return;
    }
    if (!m->accepted && !take_answer(m))
        return;
    take_lines(m);
    flush(m);
}

/* Only root may be asked: the socket of somebody else's would start what it likes. */
static int connect_system(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_free char *dir = places_system();
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto_close int at = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, at);
    if (fd < 0 || at < 0 || io_set_nonblock(fd) < 0 ||
        connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != 0)
        return -1;
    return TAKE_FD(fd);
}

static void try_to_connect(struct member *m)
{
    auto_strbuf struct strbuf request = STRBUF_INIT;
    struct json j = ask_begin(&request, "member");

    json_end(&j);
    m->fd = connect_system();
    if (m->fd >= 0)
        m->alone = 0;
    else if (!m->alone)
        m->alone = clock_mono();
    if (m->fd < 0) {
        connect_again(m, RETRY_MS);
        return;
    }
    const uint32_t sizes[2] = {(uint32_t)request.len, 0};
    m->poll = xcalloc(1, sizeof(*m->poll));
    (void)uv_poll_init(&m->d->loop, m->poll, m->fd);
    m->poll->data = m;
    strbuf_add(&m->out, sizes, sizeof(sizes));
    strbuf_add(&m->out, request.buf, request.len);
    flush(m);
}

static bool has_jobs(const struct daemon *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->jobs[i]->row.state != STORED_ENDED || d->jobs[i]->act)
            return true;
    return false;
}

/* Without jobs there is nothing to stay for; a new system daemon starts a new one of us. */
static void on_retry(uv_timer_t *timer)
{
    struct member *m = timer->data;

    if (m->alone && clock_mono() - m->alone > LIMIT_ALONE_MS * NS_PER_MS && !has_jobs(m->d)) {
        daemon_note(m->d, "no system daemon, and no jobs: ending");
        daemon_leave(m->d);
        return;
    }
    try_to_connect(m);
}

static void connect_again(struct member *m, int64_t ms)
{
    if (!m->d->leaving)
        (void)uv_timer_start(&m->retry, on_retry, (uint64_t)ms, 0);
}

void member_open(struct daemon *d)
{
    struct member *m = xcalloc(1, sizeof(*m));

    *m = (struct member){.d = d, .fd = -1, .in = STRBUF_INIT, .out = STRBUF_INIT};
    (void)uv_timer_init(&d->loop, &m->retry);
    m->retry.data = m;
    d->member = m;
    try_to_connect(m);
}

/* Its timer is the loop's until that has ended: see end() in daemon.c. */
void member_close(struct daemon *d)
{
    if (d->member)
        disconnect(d->member);
}

void member_free(struct daemon *d)
{
    if (!d->member)
        return;
    strbuf_release(&d->member->in);
    strbuf_release(&d->member->out);
    free(d->member);
    d->member = NULL;
}

/* --- explaining ------------------------------------------------------------------------------- */

static void explain_after(struct daemon *d, const struct queue_after *which, struct strbuf *out)
{
    const struct served *other = daemon_number(d, (int64_t)which->id);

    strbuf_addf(out, "waits for job %s to %s", other ? other->row.id : "(deleted)",
                which->any ? "end" : "succeed");
}

void member_explain(struct daemon *d, void (*fn)(void *ctx, struct served *s, const char *why),
                    void *ctx)
{
    for (size_t i = 0; i < d->n; i++) {
        struct served *s = d->jobs[i];
        auto_strbuf struct strbuf text = STRBUF_INIT;
        const struct queue_after *which = NULL;

        if ((s->row.state == STORED_ENDED && !s->act) || s->is_new)
            continue;
        enum queue_state state = admit_state(s);
        if ((state != QUEUE_WAITING && state != QUEUE_PAUSED) || (s->act && state == QUEUE_PAUSED))
            continue;
        if (!s->act && s->common->n_afters > 0 && after_of(s, &which) != QUEUE_AFTER_SUCCEEDED)
            explain_after(d, which, &text);
        else if (state == QUEUE_PAUSED)
            strbuf_addstr(&text, "paused");
        else if (!d->member->accepted)
            strbuf_addstr(&text, "the system daemon is not running");
        else
            strbuf_addstr(&text, s->why ? s->why : "waits for the system daemon");
        fn(ctx, s, text.buf);
    }
}
