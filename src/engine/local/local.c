/* local.c - the local engine: calls become frames to one shim.
 *
 * Everything about processes is the shim's business. While one shim is ending, what is asked for
 * the next attempt is kept in `later`.
 */
#include "engine/local/local.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"
#include "base/mem.h"
#include "engine/local/exec.h"
#include "engine/frames.h"
#include "engine/local/init.h"
#include "engine/local/parts.h"
#include "engine/local/setup.h"

/* --- sending ---------------------------------------------------------------------------------- */

static void watch(struct local *lo)
{
    if (lo->poll && !lo->bye)
        (void)uv_poll_start(lo->poll, UV_READABLE | (lo->out.len ? UV_WRITABLE : 0),
                            local_on_socket);
}

void local_flush(struct local *lo)
{
    while (lo->out.len > 0 || starts_fill(lo)) {
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
    if (lo->releasing)
        return NULL;
    lo->next = attempt;
    if (!lo->shim.pid)
        shim_begin_attempt(lo);
    if (lo->lost)
        return NULL;
    return lo->ending || lo->gone ? &lo->later : &lo->out;
}

static void spawn(struct local *lo, uint32_t process, struct start start)
{
    struct strbuf *out = request_buffer(lo, start.attempt);

    if (!out)
        return;
    starts_add(lo, process);
    if (out == &lo->out)
        local_flush(lo); /* the shim begins while we go on with the next */
}

static void spawn_init(void *ctx, uint32_t replica, size_t i, struct start start)
{
    struct local *lo = ctx;
    struct strbuf *out = request_buffer(lo, start.attempt);

    if (!out)
        return;
    frame_init(out, lo->plan, replica, i, start);
    local_flush(lo);
}

static void spawn_process(void *ctx, uint32_t process, struct start start)
{
    spawn(ctx, process, start);
}

static void local_start(struct engine *en, uint32_t process, struct start start)
{
    struct local *lo = (struct local *)en;

    if (lo->starts[process].attempt == start.attempt &&
        lo->starts[process].instance >= start.instance)
        return;
    lo->starts[process] = start;
    if (!lo->inits || !inits_before(lo->inits, process, start))
        spawn(lo, process, start);
}

static void local_open_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    struct local *lo = (struct local *)en;
    struct strbuf *out;

    if (lo->opened[replica] == attempt)
        return;
    lo->opened[replica] = attempt;
    out = request_buffer(lo, attempt);
    if (!out)
        return;
    frame_open(out, lo->plan, replica, attempt, NULL);
    local_flush(lo);
}

static void local_signal(struct engine *en, int sig)
{
    struct local *lo = (struct local *)en;

    if (sig == SIGTERM)
        starts_drop(lo);
    if (!is_live(lo))
        return;
    if (!lo->ready && sig == SIGTERM)
        lo->hurried = true; /* nobody waits any longer for what has not begun */
    frame_signal(&lo->out, lo->plan, sig);
    local_flush(lo);
}

static void local_kill(struct engine *en)
{
    struct local *lo = (struct local *)en;

    lo->hurried = lo->ending; /* it is ending all already */
    starts_drop(lo);
    if (!is_live(lo))
        return;
    frame_kill(&lo->out);
    local_flush(lo);
    lo->killing = true;
    shim_expect_answer(lo);
}

static void local_kill_role(struct engine *en, uint32_t role)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    for (uint32_t i = 0; i < lo->plan->n_replicas; i++)
        if (lo->plan->replicas[i].role == &lo->plan->spec->roles[role])
            frame_kill_replica(&lo->out, i);
    local_flush(lo);
}

static void local_hold(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    wire_frame_end(&lo->out, wire_frame_begin(&lo->out, WIRE_HOLD));
    local_flush(lo);
}

static void ask_end(struct local *lo)
{
    if (!is_live(lo))
        return;
    lo->queue_n = 0; /* nothing of this attempt is started any more, and nobody asks */
    lo->ending = true;
    lo->killing = false;
    wire_frame_end(&lo->out, wire_frame_begin(&lo->out, WIRE_END));
    local_flush(lo);
    shim_expect_answer(lo);
}

static void local_clear(struct engine *en)
{
    ask_end((struct local *)en);
}

/* Once, however often it was asked. */
void local_released(struct local *lo)
{
    bool told = lo->released;

    lo->released = true;
    if (!told)
        lo->client->released(lo->client->ctx);
}

static void local_release(struct engine *en)
{
    struct local *lo = (struct local *)en;

    lo->releasing = true;
    strbuf_truncate(&lo->later, 0);
    lo->queue_n = 0;
    if (!lo->shim.pid)
        local_released(lo);
    else
        ask_end(lo);
}

static void local_try(struct engine *en, const struct net_try *t)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    frame_try(&lo->out, t->replica, t->to == t->replica ? "" : lo->plan->replicas[t->to].address,
              t);
    local_flush(lo);
}

static void local_try_end(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!is_live(lo))
        return;
    frame_try_end(&lo->out);
    local_flush(lo);
}

/* An init command has failed, and with it the process that waited for it. */
static void init_ended(void *ctx, const struct observation *o)
{
    const struct local *lo = ctx;

    lo->client->observed(lo->client->ctx, o);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void local_free(struct engine *en)
{
    struct local *lo = (struct local *)en;

    if (!lo)
        return;
    if (lo->waits)
        shim_leave(lo);
    else
        shim_end_now(lo);
    uv_close((uv_handle_t *)lo->patience, on_closed);
    strbuf_release(&lo->in);
    strbuf_release(&lo->out);
    strbuf_release(&lo->later);
    free(lo->starts);
    free(lo->queue);
    free(lo->opened);
    inits_free(lo->inits);
    free(lo);
}

static int local_exec(struct engine *en, uint32_t replica, const char *command, const int fds[3],
                      const struct exec_client *client, struct engine_exec **ret, struct err *e)
{
    const struct local *lo = (struct local *)en;

    return exec_begin(lo->loop, lo->scratch_fd, lo->plan->replicas[replica].name, command, fds,
                      client, ret, e);
}

/* Descriptors are few, and most logs stay empty for a while. */
static int local_log_open(struct engine *en, const char *name)
{
    const struct local *lo = (struct local *)en;
    struct stat st;

    if (fstatat(lo->logs_fd, name, &st, 0) < 0 || st.st_size == 0)
        return -ENOENT;
    return io_open_regular(lo->logs_fd, name, O_RDONLY, 0);
}

static const struct engine_ops local_ops = {
    .open = local_open_replica,
    .start = local_start,
    .signal = local_signal,
    .kill = local_kill,
    .kill_role = local_kill_role,
    .hold = local_hold,
    .clear = local_clear,
    .release = local_release,
    .free = local_free,
    .exec = local_exec,
    .exec_stop = exec_stop,
    .log_open = local_log_open,
    .try = local_try,
    .try_end = local_try_end,
};

static struct local *local_new(const struct engine_open *how)
{
    struct local *lo = xcalloc(1, sizeof(*lo));
    const struct plan *plan = how->plan;

    lo->engine.ops = &local_ops;
    lo->plan = plan;
    lo->client = how->client;
    lo->loop = how->loop;
    lo->stdin_fd = how->stdin_fd;
    lo->scratch_fd = how->scratch_fd;
    lo->logs_fd = how->logs_fd;
    lo->waits = how->waits;
    lo->inherited = how->inherited;
    lo->patience = xcalloc(1, sizeof(*lo->patience));
    (void)uv_timer_init(lo->loop, lo->patience);
    lo->patience->data = lo;
    lo->in = lo->out = lo->later = (struct strbuf)STRBUF_INIT;
    lo->shim = (struct shim_process){.pidfd = -1, .sock = -1};
    lo->attempt = lo->next = 1;
    lo->starts = xcalloc(plan->n_processes + 1, sizeof(*lo->starts));
    lo->opened = xcalloc(plan->n_replicas + 1, sizeof(*lo->opened));
    lo->inits = inits_new(plan, &(struct inits_ops){spawn_init, spawn_process, init_ended, lo});
    return lo;
}

static pid_t root(const struct engine *en)
{
    return ((const struct local *)en)->shim.pid;
}

const struct engine_here local_here = {.root = root};

int local_open(const struct engine_open *how, struct engine **ret, struct err *e)
{
    struct local *lo = local_new(how);

    if (how->plan->facts->machine.cgroup_limits && cgroup_enter_leaf(e) < 0)
        lo->client->note(lo->client->ctx, e->text); /* the job runs, without its limits */
    /* a job that is refused has none until something is asked of it */
    int r = plan_refused(how->plan) || how->resumes ? 0 : shim_begin(lo, e);
    if (r < 0) {
        local_free(&lo->engine);
        return r;
    }
    *ret = &lo->engine;
    return 0;
}

/* Without a shim there is nothing of the job: between two attempts, or lost. The caller's journal
 * says which. */
int local_attach(const struct engine_open *how, struct engine **ret, struct err *e)
{
    struct local *lo = local_new(how);
    int r;

    lo->waits = true;
    r = shim_attach(lo, e);
    if (r < 0) {
        local_free(&lo->engine);
        return r;
    }
    *ret = &lo->engine;
    return 0;
}
