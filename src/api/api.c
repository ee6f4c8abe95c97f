/* api.c - see api.h: the listeners, and who may.
 *
 * SCRATCH/daemon/http.sock is always there. The page has a port of 127.0.0.1 while somebody has a
 * session or a key. What is served by TLS is served to those with a token of the token file.
 */
#include "api/api.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"

#define SOCKET "http.sock"
#define SESSIONS "sessions"
#define TIDY_MS 10000

/* --- who may ---------------------------------------------------------------------------------- */

static bool is_token(const struct api *api, const char *token)
{
    unsigned char hash[SHA256_BYTES];
    struct sha256 h;
    bool found = false;

    sha256_begin(&h);
    sha256_add(&h, token, strlen(token));
    sha256_end(&h, hash);
    for (size_t i = 0; i < api->n_tokens; i++)
        found |= same_bytes(api->tokens[i], hash, sizeof(hash));
    return found;
}

/* A page of somebody else's whose name leads to this address has its own name in Host. */
static bool host_is_ours(const struct listener *l, const char *host)
{
    auto_free char *local = NULL, *name = NULL;
    size_t n = strlen(host);

    if (l->kind == LISTEN_UNIX)
        return true;
    local = xasprintf("127.0.0.1:%d", http_server_port(l->server));
    if (strcmp(host, local) == 0)
        return true;
    name = xasprintf("localhost:%d", http_server_port(l->server));
    if (strcmp(host, name) == 0)
        return true;
    if (l->kind != LISTEN_TLS)
        return false;
    free(local);
    local = xasprintf(":%d", http_server_port(l->server));
    size_t m = strlen(local);
    if (n > m && strcmp(host + n - m, local) == 0)
        n -= m;
    else if (http_server_port(l->server) != 443)
        return false;
    free(name);
    name = host[0] == '[' && n > 2 ? xstrndup(host + 1, n - 2) : xstrndup(host, n);
    return tls_config_is_for(l->api->names, name);
}

static bool may(const struct listener *l, struct http_exchange *x, const struct http_request *rq)
{
    uid_t uid = http_peer(x);

    switch (l->kind) {
    case LISTEN_UNIX:
        return uid == geteuid() || uid == 0;
    case LISTEN_LOCAL:
        return sessions_check(&l->api->sessions, rq->token, clock_real());
    default:
        return is_token(l->api, rq->token);
    }
}

void add_safe_headers(struct http_answer *a)
{
    strbuf_addstr(&a->headers, "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                               "Cross-Origin-Resource-Policy: same-origin\r\n");
}

#define PAI "/rest-server/"

static bool is_pai(const struct http_request *rq)
{
    return strncmp(rq->path, PAI, strlen(PAI)) == 0;
}

static ssize_t admit_call(void *ctx, struct http_exchange *x, const struct http_request *rq,
                          struct http_answer *answer)
{
    struct listener *l = ctx;
    auto_strbuf struct strbuf allow = STRBUF_INIT;
    struct call c = {.api = l->api, .x = x, .rq = rq, .answer = answer, .from = l->kind};
    const struct route *r = route_find(rq->method, rq->path, &c, &allow);
    bool open = r && (r->flags & ROUTE_OPEN) && l->kind != LISTEN_UNIX;

    add_safe_headers(answer);
    if (!host_is_ours(l, rq->host))
        answer_error(answer, 403, NULL, "the host \"%s\" is not this server", rq->host);
    else if (!open && !may(l, x, rq) && l->kind == LISTEN_UNIX)
        answer_error(answer, 403, NULL, "only uid %u and root may use this daemon", geteuid());
    else if (!open && !may(l, x, rq))
        answer_error(answer, 401,
                     l->kind == LISTEN_LOCAL ? "run `muster open` for a new link"
                                             : "send a token of the token file",
                     "the request has no valid token");
    else
        return r ? (ssize_t)r->body : 0;
    if (answer->status == 401)
        strbuf_addstr(&answer->headers, "WWW-Authenticate: Bearer\r\n");
    if (is_pai(rq))
        pai_reshape(answer);
    return -1;
}

static void handle_call(void *ctx, struct http_exchange *x, const struct http_request *rq,
                        struct http_answer *answer)
{
    struct listener *l = ctx;
    auto_strbuf struct strbuf allow = STRBUF_INIT;
    struct call c = {.api = l->api, .x = x, .rq = rq, .answer = answer, .from = l->kind};
    const struct route *r = route_find(rq->method, rq->path, &c, &allow);

    add_safe_headers(answer);
    l->api->n_requests++;
    if (r) {
        if (!r->query || call_query(&c, r->query))
            r->serve(&c);
    } else if (allow.len > 0) {
        answer_error(answer, 405, NULL, "%s is not allowed here, only %s", rq->method, allow.buf);
        strbuf_addf(&answer->headers, "Allow: %s\r\n", allow.buf);
    } else {
        answer_error(answer, 404, NULL, "path %s not found", rq->path);
    }
    if (is_pai(rq))
        pai_reshape(answer);
}

static void refuse_call(void *ctx, int status, size_t limit, struct http_answer *answer)
{
    (void)ctx;
    add_safe_headers(answer);
    if (limit)
        answer_error(answer, status, NULL, "%s: the limit is %zu bytes", http_reason(status),
                     limit);
    else
        answer_error(answer, status, NULL, "%s", http_reason(status));
}

static struct http_service service_of(struct listener *l)
{
    return (struct http_service){.handle = handle_call,
                                 .admit = admit_call,
                                 .refuse = refuse_call,
                                 .ctx = l,
                                 .body_limit = LIMIT_API_BODY_BYTES,
                                 .connections = LIMIT_API_CONNECTIONS};
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Beside the socket: it is gone when the machine starts again. */
static void keep_sessions(struct api *api)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct http_server *server = api->at[LISTEN_LOCAL].server;
    struct err e;

    if (!server) {
        (void)unlinkat(api->dir_fd, SESSIONS, 0);
        return;
    }
    strbuf_addf(&text, "%d\n", http_server_port(server));
    sessions_write(&api->sessions, &text);
    if (io_write_atomic(api->dir_fd, SESSIONS, text.buf, text.len, &e) < 0)
        daemon_note(api->d, "sessions of the page will end with this daemon: %s", e.text);
}

static int listen_here(struct api *api, int port, struct err *e)
{
    struct listener *l = &api->at[LISTEN_LOCAL];
    const struct http_service service = service_of(l);
    char address[32];

    (void)snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    return l->server ? 0 : http_server_new(&api->d->loop, address, &service, &l->server, e);
}

static void restore_sessions(struct api *api)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *end;
    struct err e;

    if (io_read_regular(api->dir_fd, SESSIONS, 64 * 1024, &text, NULL) < 0)
        return;
    long port = strtol(text.buf, &end, 10);
    if (*end != '\n' || port < 1 || port > 65535 ||
        sessions_read(&api->sessions, end + 1, clock_real()) < 0) {
        api->sessions.n = 0;
        return;
    }
    if (api->sessions.n > 0 && listen_here(api, (int)port, &e) < 0) {
        daemon_note(api->d, "pages that are open must be opened again: %s", e.text);
        api->sessions.n = 0;
    }
}

static void on_tidy(uv_timer_t *timer)
{
    struct api *api = timer->data;

    if (sessions_expire(&api->sessions, clock_real()) > 0)
        return;
    (void)uv_timer_stop(&api->tidy);
    http_server_free(api->at[LISTEN_LOCAL].server);
    api->at[LISTEN_LOCAL].server = NULL;
    keep_sessions(api);
}

static void tidy_later(struct api *api)
{
    (void)uv_timer_start(&api->tidy, on_tidy, TIDY_MS, TIDY_MS);
}

void serve_session(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    const struct node *body = call_body(c, a), *once = node_get(body, "once");
    char token[SESSION_TEXT];
    ns_t expires;

    if (!body || !call_keys(c, body, "once"))
        return;
    if (!once || once->type != NODE_STRING) {
        answer_error(c->answer, 400, NULL, "`once` is required");
        return;
    }
    if (!sessions_redeem(&c->api->sessions, once->text, clock_real(), token, &expires)) {
        answer_error(c->answer, 410, "run `muster open` for a new link",
                     "the link was used before or has expired");
        return;
    }
    struct json j = answer_json(c->answer, 200);
    json_kv_str(&j, "token", token);
    kv_time(&j, "expires", expires);
    json_end(&j);
    keep_sessions(c->api);
}

static int make_link(void *front, const char *job, struct strbuf *ret, struct err *e)
{
    struct api *api = front;
    char key[SESSION_TEXT];
    int r = listen_here(api, 0, e);

    if (r < 0)
        return r;
    if (!sessions_new_key(&api->sessions, clock_real(), key))
        return err_set(e, -EAGAIN, "cannot make a key");
    tidy_later(api);
    strbuf_addf(ret, "http://127.0.0.1:%d/#once=%s", http_server_port(api->at[LISTEN_LOCAL].server),
                key);
    if (*job && strspn(job, "0123456789abcdefghijklmnopqrstuvwxyz-") == strlen(job))
        strbuf_addf(ret, "&job=%s", job);
    return 0;
}

/* --- small routes ----------------------------------------------------------------------------- */

void serve_version(struct call *c)
{
    struct json j = answer_json(c->answer, 200);

    json_kv_str(&j, "version", c->api->o->version);
    kv_text(&j, "commit", c->api->o->commit);
    json_kv_int(&j, "api", 1);
    json_kv_str(&j, "user", c->api->user);
    json_kv_str(&j, "host", c->api->host);
    kv_time(&j, "now", clock_real());
    json_end(&j);
}

void serve_health(struct call *c)
{
    strbuf_addstr(&c->answer->body, "ok\n");
}

void serve_ready(struct call *c)
{
    if (c->api->d->stuck)
        c->answer->status = 503;
    strbuf_addstr(&c->answer->body, c->api->d->stuck ? "the database cannot be written\n" : "ok\n");
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int bind_socket(int dir_fd, struct err *e)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)unlinkat(dir_fd, SOCKET, 0); /* of one that was killed: the daemon holds the lock */
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" SOCKET, dir_fd);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
        fchmodat(dir_fd, SOCKET, 0600, 0) < 0)
        return err_sys(e, -errno, "cannot create the daemon's " SOCKET);
    return TAKE_FD(fd);
}

static int open_socket(struct api *api, struct err *e)
{
    struct listener *l = &api->at[LISTEN_UNIX];
    const struct http_service service = service_of(l);
    int fd = bind_socket(api->dir_fd, e);

    return fd < 0 ? fd : http_server_unix(&api->d->loop, fd, &service, &l->server, e);
}

/* A line each; those that are empty or begin with # are none. */
static int read_tokens(struct api *api, struct err *e)
{
    enum { LEAST = 16 };
    const char *path = api->o->tokens;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(e, -errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return err_set(e, -EPERM, "%s must be a file of uid %u with mode 0600", path, geteuid());
    if (io_read_fd(fd, path, 64 * 1024, &text, e) < 0)
        return e->code;
    for (const char *line = text.buf; *line; line += strcspn(line, "\n")) {
        struct sha256 h;

        line += strspn(line, " \t\r\n");
        size_t n = *line == '#' ? 0 : strcspn(line, " \t\r\n");
        if (n == 0)
            continue;
        if (n < LEAST)
            return err_set(e, -EINVAL, "%s: a token must have at least %d characters", path, LEAST);
        api->tokens = xrealloc_array(api->tokens, api->n_tokens + 1, sizeof(*api->tokens));
        sha256_begin(&h);
        sha256_add(&h, line, n);
        sha256_end(&h, api->tokens[api->n_tokens++]);
    }
    explicit_bzero(text.buf, text.len);
    return api->n_tokens ? 0 : err_set(e, -EINVAL, "%s has no token", path);
}

static int open_tls(struct api *api, struct err *e)
{
    const struct api_options *o = api->o;
    struct listener *l = &api->at[LISTEN_TLS];
    const struct http_service service = service_of(l);
    auto_strbuf struct strbuf cert = STRBUF_INIT, key = STRBUF_INIT;
    struct tls_config *tls = NULL;
    int r = read_tokens(api, e);

    if (r < 0)
        return err_wrap(e, r, "--token-file");
    r = io_read_file(AT_FDCWD, o->cert, 1 << 20, &cert, e);
    if (r < 0)
        return err_wrap(e, r, "--tls-cert");
    r = io_read_file(AT_FDCWD, o->key, 1 << 20, &key, e);
    if (r < 0)
        return err_wrap(e, r, "--tls-key");
    r = tls_config_new(cert.buf, key.buf, &tls, e);
    explicit_bzero(key.buf, key.len);
    if (r < 0)
        return r;
    r = http_server_new(&api->d->loop, o->listen, &service, &l->server, e);
    if (r < 0) {
        tls_config_free(tls);
        return err_wrap(e, r, "--listen");
    }
    http_server_set_tls(l->server, tls);
    api->names = tls;
    daemon_note(api->d, "HTTPS on port %d", http_server_port(l->server));
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct api *api = handle->data;

    if (--api->closing > 0)
        return;
    found_free(api->found);
    logs_forget_all();
    entries_forget(api);
    free(api->tokens);
    free(api);
}

static void front_close(void *front)
{
    struct api *api = front;

    if (!api)
        return;
    streams_end(api);
    if (api->at[LISTEN_LOCAL].server)
        keep_sessions(api);
    for (size_t i = 0; i < LISTENERS; i++) {
        http_server_free(api->at[i].server);
        api->at[i].server = NULL;
    }
    work_end_all(api);
    (void)unlinkat(api->dir_fd, SOCKET, 0);
    api->closing = 2;
    uv_close((uv_handle_t *)&api->tidy, on_closed);
    uv_close((uv_handle_t *)&api->tick, on_closed);
}

static int front_open(struct daemon *d, const void *options, int dir_fd, void **ret, struct err *e)
{
    struct api *api = xcalloc(1, sizeof(*api));
    const struct passwd *pw = getpwuid(geteuid());

    *api = (struct api){.d = d, .o = options, .dir_fd = dir_fd, .found = found_new()};
    for (size_t i = 0; i < LISTENERS; i++)
        api->at[i] = (struct listener){.api = api, .kind = (enum listener_kind)i};
    (void)uv_timer_init(&d->loop, &api->tidy);
    (void)uv_timer_init(&d->loop, &api->tick);
    api->tidy.data = api->tick.data = api;
    (void)gethostname(api->host, sizeof(api->host) - 1);
    (void)snprintf(api->user, sizeof(api->user), "%s", pw ? pw->pw_name : "");
    int r = open_socket(api, e);
    if (r == 0 && api->o->listen)
        r = open_tls(api, e);
    if (r < 0) {
        front_close(api);
        return r;
    }
    restore_sessions(api);
    if (api->sessions.n > 0)
        tidy_later(api);
    *ret = api;
    return 0;
}

const struct daemon_front *api_front(const struct api_options *o)
{
    static struct daemon_front front = {
        .open = front_open, .close = front_close, .link = make_link};

    front.options = o;
    return &front;
}
