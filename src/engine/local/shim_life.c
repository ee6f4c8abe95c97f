/* shim_life.c - a shim from its start to its end, in the loop: nothing here waits.
 *
 * Each attempt of a job has a shim of its own, so that nothing of one reaches the next. Requests
 * may follow the set-up at once; a shim that refuses it reads no more. The end of a shim is seen
 * twice: its stream ends, then its process does, which takes the kernel some milliseconds for the
 * namespaces.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/procs.h"
#include "engine/local/force.h"
#include "engine/frames.h"
#include "engine/local/parts.h"
#include "engine/local/setup.h"

#define READY_TIMEOUT_MS 60000 /* a shim that says nothing at all for so long is broken */
#define LOOK_MS 250            /* how often a shim that has to answer is looked at */

/* --- a shim that does not answer -------------------------------------------------------------- */

/* Everything of the job dies now. The end of the shim's stream is noticed as ever. */
static void force_end(struct local *lo)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (lo->forced)
        return;
    lo->forced = true;
    strbuf_addf(&text, "muster-shim (pid %d) %s; killing the job without it", (int)lo->shim.pid,
                shim_is_stopped(&lo->shim) ? "is stopped" : "does not respond");
    lo->client->note(lo->client->ctx, text.buf);
    shim_force_end(&lo->shim, lo->cgroups);
}

static bool has_something_to_say(const struct local *lo)
{
    struct pollfd pfd = {.fd = lo->shim.sock, .events = POLLIN};

    return poll(&pfd, 1, 0) > 0;
}

static void finish(struct local *lo);

static int64_t patience_ms(const struct local *lo)
{
    if (lo->gone)
        return LIMIT_KILL_WAIT_MS;
    if (lo->killing || lo->hurried)
        return LIMIT_SHIM_ANSWER_MS;
    return lo->ready ? LIMIT_SHIM_END_MS : READY_TIMEOUT_MS;
}

static void on_patience(uv_timer_t *timer)
{
    struct local *lo = timer->data;
    bool late = clock_mono() - lo->asked_at > patience_ms(lo) * NS_PER_MS;
    bool stopped = shim_is_stopped(&lo->shim);
    struct err e;

    if (!lo->shim.pid || (lo->forced && !lo->gone) ||
        (lo->ready && !lo->killing && !lo->ending && !lo->gone)) {
        (void)uv_timer_stop(timer);
    } else if (lo->gone) {
        if (!late)
            return;
        lo->client->note(lo->client->ctx,
                         "a process of the job could not be killed; it may be blocked on a device");
        finish(lo);
    } else if (has_something_to_say(lo)) { /* it may be we who were stopped */
        lo->asked_at = clock_mono();
    } else if (!lo->ready && late) {
        (void)err_set(&e, -ETIMEDOUT, "muster-shim (pid %d) %s", (int)lo->shim.pid,
                      stopped ? "is stopped" : "does not respond");
        shim_not_ready(lo, &e);
    } else if (lo->ready && (stopped || late)) {
        force_end(lo);
    }
}

void shim_expect_answer(struct local *lo)
{
    lo->asked_at = clock_mono();
    (void)uv_timer_start(lo->patience, on_patience, LOOK_MS, LOOK_MS);
    if (lo->ready && lo->killing && shim_is_stopped(&lo->shim))
        force_end(lo);
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Where a shim's end without a word is not the end of the job's processes, they are looked for. */
static void clean_up_after(const struct local *lo)
{
    if (isolation_is(lo->plan->facts, "none"))
        procs_sweep(lo->plan->facts->site.run_id);
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

static void close_poll(uv_poll_t **poll)
{
    if (*poll)
        uv_close((uv_handle_t *)*poll, on_closed);
    *poll = NULL;
}

/* The shim is gone, or nothing of it matters any more. */
static void forget(struct local *lo)
{
    close_poll(&lo->poll);
    close_poll(&lo->end_poll);
    (void)uv_timer_stop(lo->patience);
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
    lo->ready = lo->ending = lo->bye = lo->killing = lo->hurried = lo->forced = lo->gone = false;
    lo->unready = (struct err){0};
}

static void tell_lost(struct local *lo, bool silent)
{
    struct observation o = {.kind = OBS_LOST, .at = clock_run(), .silent = silent};

    lo->lost = true;
    lo->client->observed(lo->client->ctx, &o);
}

/* Of the first shim, nothing has happened yet: whoever opened the engine is told, and the job never
 * began. */
static void tell_not_ready(struct local *lo, const struct err *e)
{
    if (!lo->was_ready && lo->client->refused) {
        lo->lost = true;
        lo->client->refused(lo->client->ctx, e);
        return;
    }
    lo->client->note(lo->client->ctx, e->text);
    tell_lost(lo, false);
    if (lo->releasing)
        local_released(lo);
    else
        lo->client->turn(lo->client->ctx);
}

/* Its process has ended as well, or was given up. */
static void finish(struct local *lo)
{
    bool orderly = lo->bye, asked = lo->ending, forced = lo->forced;
    const struct err unready = lo->unready;

    (void)waitid(P_PIDFD, (id_t)lo->shim.pidfd, NULL, WEXITED | WNOHANG); /* if it is our child */
    if (!orderly)
        clean_up_after(lo);
    remove_cgroups(lo);
    forget(lo);
    if (unready.code) {
        tell_not_ready(lo, &unready);
        return;
    }
    if (!asked)
        tell_lost(lo, forced);
    if (lo->releasing) {
        local_released(lo);
        return;
    }
    if (lo->later.len > 0 || lo->queue_n > 0)
        shim_begin_attempt(lo);
    lo->client->turn(lo->client->ctx);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    finish(poll->data);
}

static int watch_end(struct local *lo)
{
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    int r = uv_poll_init(lo->loop, poll, lo->shim.pidfd);

    if (r < 0) {
        free(poll);
        return r;
    }
    poll->data = lo;
    lo->end_poll = poll;
    return uv_poll_start(poll, UV_READABLE, on_end);
}

/* At the end of a run a shim that said BYE is not waited for: our own exit hands it to whoever
 * reaps orphans. */
void shim_stream_ended(struct local *lo)
{
    struct err e;

    if (!lo->bye && !lo->ready) {
        (void)err_set(&e, -EPIPE, "muster-shim ended before it was ready");
        shim_not_ready(lo, &e);
        return;
    }
    if (!lo->bye)
        (void)pidfd_send_signal(lo->shim.pidfd, SIGKILL, NULL, 0);
    close_poll(&lo->poll);
    lo->gone = true;
    if ((lo->bye && lo->releasing) || watch_end(lo) < 0) {
        finish(lo);
        return;
    }
    shim_expect_answer(lo);
}

/* What keeps it from being ready may keep it from ending, too: a mount that hangs, for one. */
void shim_not_ready(struct local *lo, const struct err *e)
{
    lo->unready = *e;
    shim_force_end(&lo->shim, lo->cgroups);
    close_poll(&lo->poll);
    lo->gone = true;
    if (watch_end(lo) < 0)
        finish(lo);
    else
        shim_expect_answer(lo);
}

void shim_leave(struct local *lo)
{
    forget(lo);
}

void shim_end_now(struct local *lo)
{
    if (lo->shim.pid > 0) {
        shim_force_end(&lo->shim, lo->cgroups);
        (void)shim_wait_end(&lo->shim);
        clean_up_after(lo);
        remove_cgroups(lo);
    }
    forget(lo);
}

/* --- its beginning ---------------------------------------------------------------------------- */

static int watch_stream(struct local *lo, struct err *e)
{
    uv_poll_t *poll = xcalloc(1, sizeof(*poll));
    int r = uv_poll_init(lo->loop, poll, lo->shim.sock);

    if (r < 0) {
        free(poll);
        return err_sys(e, r, "cannot watch muster-shim");
    }
    poll->data = lo;
    lo->poll = poll;
    local_flush(lo);
    shim_expect_answer(lo);
    return 0;
}

int shim_attach(struct local *lo, struct err *e)
{
    int r = shim_connect(lo->scratch_fd, &lo->shim, e);

    if (r < 0)
        return r;
    frame_attach(&lo->out);
    return watch_stream(lo, e);
}

int shim_begin(struct local *lo, struct err *e)
{
    const struct facts *f = lo->plan->facts;
    const struct shim_launch what = {.shim = f->site.shim,
                                     .role = "supervise",
                                     .level = f->site.isolation,
                                     .run_id = f->site.run_id,
                                     .overlay = f->site.overlay,
                                     .stdin_fd = lo->stdin_fd,
                                     .inherited = lo->inherited};
    int r = shim_launch(&what, &lo->shim, e);

    if (r < 0)
        return r;
    /* before the set-up: a shim that nobody knows of has done nothing, and ends */
    if (lo->waits && (r = shim_note_pid(lo->scratch_fd, &lo->shim, e)) < 0)
        return r;
    frame_setup(&lo->out, lo->plan, lo->waits, lo->attempt);
    if (lo->out.len > LIMIT_FRAME_BYTES)
        return err_set(e, -E2BIG,
                       "the description of the job's replicas, volumes and host names has %zu "
                       "bytes; the limit is %d",
                       lo->out.len, LIMIT_FRAME_BYTES);
    return watch_stream(lo, e);
}

void shim_begin_attempt(struct local *lo)
{
    struct err e;

    if (lo->lost)
        return;
    lo->attempt = lo->next;
    if (shim_begin(lo, &e) < 0) {
        if (lo->shim.pid) {
            shim_not_ready(lo, &e);
            return;
        }
        lo->client->note(lo->client->ctx, e.text);
        tell_lost(lo, false);
        return;
    }
    strbuf_add(&lo->out, lo->later.buf, lo->later.len);
    strbuf_truncate(&lo->later, 0);
    local_flush(lo);
}
