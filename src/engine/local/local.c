/* local.c - the local engine: the wire to one shim, turned into calls and observations.
 *
 * Everything about processes is the shim's business; what its frames hold is in frames.c. Its death is
 * noticed by its pidfd and by the end of the stream: without a BYE before it, the job is lost.
 *
 * Each attempt of a job has a shim of its own, so that nothing of one reaches the next. While one is
 * ending, what is asked for the next is kept in `later`.
 */
#include "engine/local/local.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/mem.h"
#include "base/procs.h"
#include "engine/local/frames.h"
#include "engine/local/init.h"
#include "engine/local/launch.h"

#define READY_TIMEOUT_MS 60000 /* a shim that says nothing at all for so long is broken */

struct local {
    struct engine engine;
    const struct plan *plan;
    const struct engine_client *client;
    uv_loop_t *loop;
    int stdin_fd;
    struct shim_process shim; /* pid 0: there is none */
    uv_poll_t *poll;          /* of its socket, or NULL; libuv keeps it for a while after that */
    struct strbuf in, out, later;
    char **cgroups;         /* directories to remove if the shim cannot */
    bool ending;            /* the shim was asked to end */
    bool releasing;         /* for good */
    bool bye;               /* it has said that all of it has ended */
    bool lost;              /* and nothing can be started any more */
    uint32_t attempt, next; /* of the shim; of what was asked for last */
    uint32_t *instances;    /* of each process, the present one */
    struct inits *inits;    /* NULL: the job has no init commands */
};

static void on_socket(uv_poll_t *poll, int status, int events);

static void begin_attempt(struct local *lo);

static bool is_live(const struct local *lo)
{
    return lo->shim.pid && !lo->ending;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void watch(struct local *lo)
{
    if (lo->poll && !lo->bye)
        (void)uv_poll_start(lo->poll, UV_READABLE | (lo->out.len ? UV_WRITABLE : 0), on_socket);
}

static void flush(struct local *lo)
{
    while (lo->out.len > 0) {
        ssize_t n = send(lo->shim.sock, lo->out.buf, lo->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                strbuf_truncate(&lo->out, 0); /* a dead shim shows as the end of its stream */
            break;
        }
        strbuf_consume(&lo->out, (size_t)n);
    }
    watch(lo);
}

/* Where a request goes: to the shim, or to the next one. NULL: nobody will hear it. */
static struct strbuf *request_buffer(struct local *lo, uint32_t attempt)
{
    lo->next = attempt;
    if (lo->ending)
        return &lo->later;
    if (!lo->shim.pid)
        begin_attempt(lo);
    return lo->lost ? NULL : &lo->out;
}

static void spawn(struct local *lo, uint32_t process, struct start start)
{
    struct strbuf *out = request_buffer(lo, start.attempt);

    if (!out)
        return;
    frame_spawn(out, lo->plan, process, start);
    flush(lo); /* the shim begins while we go on with the next */
}

static void spawn_init(void *ctx, uint32_t replica, size_t i, struct start start)
{
    struct local *lo = ctx;
    struct strbuf *out = request_buffer(lo, start.attempt);

    if (!out)
        return;
    frame_init(out, lo->plan, replica, i, start);
    flush(lo);
}

static void spawn_process(void *ctx, uint32_t process, struct start start)
{
    spawn(ctx, process, start);
}

static void local_start(struct engine *en, uint32_t process, struct start start)
{
    struct local *lo = (struct local *)en;

    lo->instances[process] = start.instance;
    if (!lo->inits || !inits_before(lo->inits, process, start))
        spawn(lo, process, start);
}

static void local_open_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    struct local *lo = (struct local *)en;
    struct strbuf *out = request_buffer(lo, attempt);

    if (!out)
        return;
    frame_open(out, lo->plan, replica, attempt);
    flush(lo);
}

static void local_signal(struct engine *en, int sig)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    frame_signal(&lo->out, lo->plan, sig);
    flush(lo);
}

static void local_kill(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    frame_kill(&lo->out);
    flush(lo);
}

static void local_hold(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    wire_frame_end(&lo->out, wire_frame_begin(&lo->out, WIRE_HOLD));
    flush(lo);
}

static void ask_end(struct local *lo)
{
    if (!is_live(lo))
        return;
    lo->ending = true;
    wire_frame_end(&lo->out, wire_frame_begin(&lo->out, WIRE_END));
    flush(lo);
}

static void local_clear(struct engine *en)
{
    ask_end((struct local *)en);
}

static void local_release(struct engine *en)
{
    struct local *lo = (struct local *)en;

    lo->releasing = true;
    strbuf_truncate(&lo->later, 0);
    if (!lo->shim.pid)
        lo->client->released(lo->client->ctx);
    else
        ask_end(lo);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* An init command has failed, and with it the process that waited for it. */
static void init_ended(void *ctx, const struct observation *o)
{
    const struct local *lo = ctx;

    lo->client->observed(lo->client->ctx, o);
}

/* Returns false if the frame makes no sense. */
static bool take_frame(struct local *lo, enum wire_type type, struct wire_reader *r)
{
    struct observation o = {0};

    if (type == WIRE_NOTE) {
        const char *text = wire_get_str(r);
        if (wire_done(r))
            lo->client->note(lo->client->ctx, text);
        return wire_done(r);
    }
    if (type == WIRE_BYE) {
        lo->bye = true;
        return true;
    }
    if (!frame_observation(type, r, &o))
        return false;
    o.attempt = lo->attempt;
    if (lo->inits && inits_observed(lo->inits, &o))
        return true;
    if (o.process < lo->plan->n_processes)
        o.instance = lo->instances[o.process];
    lo->client->observed(lo->client->ctx, &o);
    return true;
}

/* Reads what is there. 1 = the stream goes on, 0 = it has ended. */
static int fill(struct local *lo)
{
    for (;;) {
        strbuf_reserve(&lo->in, 64 * 1024);
        ssize_t n = recv(lo->shim.sock, lo->in.buf + lo->in.len, 64 * 1024, MSG_DONTWAIT);
        if (n > 0)
            lo->in.len += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return 1;
        else if (n == 0 || errno != EINTR)
            return 0;
    }
}

static bool take_frames(struct local *lo)
{
    size_t used = 0;
    bool sane = true;

    while (sane) {
        enum wire_type type;
        struct wire_reader r;
        long n = wire_frame_next(lo->in.buf + used, lo->in.len - used, &type, &r);
        if (n == 0)
            break;
        sane = n > 0 && take_frame(lo, type, &r);
        used += sane ? (size_t)n : 0;
    }
    strbuf_consume(&lo->in, used);
    return sane;
}

/* The shim has ended without a word. Where its end is not the end of the job's processes, they are
 * looked for. */
static void clean_up_after(const struct local *lo)
{
    if (isolation_is(lo->plan->facts, "none"))
        procs_sweep(lo->plan->facts->run_id);
}

static void remove_cgroups(const struct local *lo)
{
    for (char **dir = lo->cgroups; dir && *dir; dir++)
        (void)rmdir(*dir); /* a living shim has done it already */
}

/* libuv keeps the handle until its next turn, so the memory goes then. */
static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* The shim is gone, or nothing of it matters any more. */
static void forget_shim(struct local *lo)
{
    if (lo->poll)
        uv_close((uv_handle_t *)lo->poll, on_closed);
    lo->poll = NULL;
    if (lo->shim.pidfd >= 0)
        (void)close(lo->shim.pidfd);
    if (lo->shim.sock >= 0)
        (void)close(lo->shim.sock);
    lo->shim = (struct shim_process){.pidfd = -1, .sock = -1};
    for (char **dir = lo->cgroups; dir && *dir; dir++)
        free(*dir);
    free(lo->cgroups);
    lo->cgroups = NULL;
    strbuf_truncate(&lo->in, 0);
    strbuf_truncate(&lo->out, 0);
    lo->ending = lo->bye = false;
}

/* A shim that said BYE has nothing left but its own exit, which takes the kernel some milliseconds
 * for the namespaces. At the end of a run it is not waited for: our own exit hands it to whoever reaps
 * orphans. */
static void reap(struct local *lo, bool orderly)
{
    bool wait = !orderly || !lo->releasing;
    siginfo_t info;

    while (waitid(P_PID, (id_t)lo->shim.pid, &info, WEXITED | (wait ? 0 : WNOHANG)) < 0 &&
           errno == EINTR)
        ;
    if (!orderly)
        clean_up_after(lo);
    remove_cgroups(lo);
    forget_shim(lo);
}

static void tell_lost(struct local *lo)
{
    struct observation o = {.kind = OBS_LOST, .at = clock_real()};

    lo->lost = true;
    lo->client->observed(lo->client->ctx, &o);
}

/* The shim has ended, as it was asked to or not. */
static void shim_ended(struct local *lo)
{
    bool orderly = lo->bye, asked = lo->ending;

    if (!orderly)
        (void)kill(lo->shim.pid, SIGKILL); /* our unreaped child: the pid is still its own */
    reap(lo, orderly);
    if (!asked)
        tell_lost(lo);
    if (lo->releasing)
        lo->client->released(lo->client->ctx);
    else if (lo->later.len > 0)
        begin_attempt(lo);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct local *lo = poll->data;
    bool goes_on = true;

    if (status == 0 && (events & UV_WRITABLE))
        flush(lo);
    if (status < 0 || (events & UV_READABLE))
        goes_on = fill(lo) != 0;
    bool sane = take_frames(lo), over = lo->releasing;
    if (!goes_on || !sane || lo->bye) {
        shim_ended(lo);
        if (over)
            return;
    }
    lo->client->turn(lo->client->ctx);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void keep_cgroups(struct local *lo, struct wire_reader *r)
{
    const char **dirs = wire_get_strs(r);
    size_t n = 0;

    while (dirs && dirs[n])
        n++;
    lo->cgroups = xcalloc(n + 1, sizeof(*lo->cgroups));
    for (size_t i = 0; i < n; i++)
        lo->cgroups[i] = xstrdup(dirs[i]);
    free(dirs);
}

static int read_answer(struct local *lo, enum wire_type type, struct wire_reader *r, struct err *e)
{
    if (type == WIRE_READY) {
        uint32_t version = wire_get_u32(r);
        if (version != WIRE_VERSION)
            return err_set(e, -EPROTO,
                           "muster-shim speaks version %u, muster %d: install both "
                           "from one release",
                           version, WIRE_VERSION);
        keep_cgroups(lo, r);
        return wire_done(r) ? 0 : err_set(e, -EPROTO, "muster-shim sent a broken answer");
    }
    if (type == WIRE_REFUSED) {
        int code = (int)wire_get_u32(r);
        return err_set(e, code < 0 ? code : -EPERM, "%s", wire_get_str(r));
    }
    return err_set(e, -EPROTO, "muster-shim sent an unexpected answer (%d)", (int)type);
}

/* The only blocking wait: nothing can be done before the shim is ready. Notes may come first. */
static int wait_ready(struct local *lo, struct err *e)
{
    for (;;) {
        enum wire_type type;
        struct wire_reader r;
        long n = wire_frame_next(lo->in.buf, lo->in.len, &type, &r);
        if (n < 0)
            return err_set(e, -EPROTO, "muster-shim sent no frame of ours");
        if (n > 0) {
            bool note = type == WIRE_NOTE;
            int code = note ? 0 : read_answer(lo, type, &r, e);
            if (note)
                lo->client->note(lo->client->ctx, wire_get_str(&r));
            strbuf_consume(&lo->in, (size_t)n);
            if (!note)
                return code;
            continue;
        }
        struct pollfd pfd = {.fd = lo->shim.sock, .events = POLLIN};
        int ready = poll(&pfd, 1, READY_TIMEOUT_MS);
        if (ready == 0)
            return err_set(e, -ETIMEDOUT, "muster-shim does not answer");
        if (ready > 0 && fill(lo) == 0 && lo->in.len == 0)
            return err_set(e, -EPIPE, "muster-shim ended before it was ready");
    }
}

static int launch(struct local *lo, struct err *e)
{
    const struct facts *f = lo->plan->facts;
    const struct shim_launch what = {.shim = f->shim,
                                     .role = "supervise",
                                     .level = f->isolation,
                                     .run_id = f->run_id,
                                     .stdin_fd = lo->stdin_fd};
    int r = shim_launch(&what, &lo->shim, e);

    if (r < 0)
        return r;
    lo->engine.root = lo->shim.pid;
    frame_setup(&lo->out, lo->plan);
    if (lo->out.len > LIMIT_FRAME_BYTES)
        return err_set(
            e, -E2BIG,
            "replicas, volumes and host names of the job need %zu bytes to be told to the "
            "shim (%d at most)",
            lo->out.len, LIMIT_FRAME_BYTES);
    flush(lo);
    r = wait_ready(lo, e);
    if (r < 0)
        return r;
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    r = uv_poll_init(lo->loop, poll, lo->shim.sock);
    if (r < 0) {
        free(poll);
        return err_sys(e, r, "cannot watch muster-shim");
    }
    poll->data = lo;
    lo->poll = poll;
    watch(lo);
    return 0;
}

static void end_shim(struct local *lo)
{
    if (lo->shim.pid > 0) {
        (void)kill(lo->shim.pid, SIGKILL);
        (void)waitpid(lo->shim.pid, NULL, 0);
        clean_up_after(lo);
        remove_cgroups(lo);
    }
    forget_shim(lo);
}

/* The shim of an attempt after the first, and what was asked of it meanwhile. */
static void begin_attempt(struct local *lo)
{
    struct err e;

    if (lo->lost)
        return;
    lo->attempt = lo->next;
    if (launch(lo, &e) < 0) {
        lo->client->note(lo->client->ctx, e.text);
        end_shim(lo);
        tell_lost(lo);
        return;
    }
    strbuf_add(&lo->out, lo->later.buf, lo->later.len);
    strbuf_truncate(&lo->later, 0);
    flush(lo);
}

static void local_free(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!lo)
        return;
    end_shim(lo);
    strbuf_release(&lo->in);
    strbuf_release(&lo->out);
    strbuf_release(&lo->later);
    free(lo->instances);
    inits_free(lo->inits);
    free(lo);
}

static const struct engine_ops local_ops = {
    .name = "local",
    .open = local_open_replica,
    .start = local_start,
    .signal = local_signal,
    .kill = local_kill,
    .hold = local_hold,
    .clear = local_clear,
    .release = local_release,
    .free = local_free,
};

int local_open(uv_loop_t *loop, const struct plan *plan, int stdin_fd,
               const struct engine_client *client, struct engine **ret, struct err *e)
{
    struct local *lo = xcalloc(1, sizeof(*lo));

    lo->engine.ops = &local_ops;
    lo->plan = plan;
    lo->client = client;
    lo->loop = loop;
    lo->stdin_fd = stdin_fd;
    lo->in = lo->out = lo->later = (struct strbuf)STRBUF_INIT;
    lo->shim = (struct shim_process){.pidfd = -1, .sock = -1};
    lo->attempt = lo->next = 1;
    lo->instances = xcalloc(plan->n_processes ? plan->n_processes : 1, sizeof(*lo->instances));
    lo->inits = inits_new(plan, &(struct inits_ops){spawn_init, spawn_process, init_ended, lo});
    if (plan->facts->cgroup_limits && cgroup_enter_leaf(e) < 0)
        client->note(client->ctx, e->text); /* the job runs, without its limits */
    int r = launch(lo, e);
    if (r < 0) {
        local_free(&lo->engine);
        return r;
    }
    *ret = &lo->engine;
    return 0;
}
