/* usage_watch.c - see usage_watch.h. */
#include "foreground/usage_watch.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "inspect/usage_log.h"

#define AT_A_TIME 200 /* processes: a few milliseconds */

struct usage_watched {
    struct usage_watched *next;
    struct usage_log log;
};

struct usage_watch {
    uv_timer_t timer;
    struct usage *usage;
    struct usage_watched *runs;
    bool looking;
    ns_t cost;  /* of the look that is going on */
    ns_t since; /* not before: the rest after the last look */
};

static void on_time(uv_timer_t *timer);

static void wait_until(struct usage_watch *w, ns_t at)
{
    ns_t now = clock_mono();

    (void)uv_timer_start(&w->timer, on_time, at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 1,
                         0);
}

/* For the run whose line is due first. */
static void wait_for_next(struct usage_watch *w)
{
    ns_t next = 0;

    for (struct usage_watched *r = w->runs; r; r = r->next)
        if (!next || r->log.next < next)
            next = r->log.next;
    if (next)
        wait_until(w, next > w->since ? next : w->since);
    else
        (void)uv_timer_stop(&w->timer);
}

static void on_time(uv_timer_t *timer)
{
    struct usage_watch *w = timer->data;
    ns_t begun = clock_cpu();
    bool complete = usage_step(w->usage, AT_A_TIME);
    ns_t now = clock_mono();

    w->looking = !complete;
    w->cost += clock_cpu() - begun;
    if (!complete) {
        wait_until(w, now);
        return;
    }
    for (struct usage_watched *r = w->runs; r; r = r->next)
        usage_log_add(&r->log, w->usage, now);
    w->since = now + w->cost * LIMIT_USAGE_REST;
    w->cost = 0;
    wait_for_next(w);
}

struct usage_watch *usage_watch_new(uv_loop_t *loop, const char *run_id)
{
    struct usage_watch *w = xcalloc(1, sizeof(*w));

    w->usage = usage_new(run_id);
    (void)uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    uv_unref((uv_handle_t *)&w->timer);
    return w;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void usage_watch_free(struct usage_watch *w)
{
    if (!w)
        return;
    while (w->runs)
        usage_watch_remove(w, w->runs);
    usage_free(w->usage);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

struct usage_watched *usage_watch_add(struct usage_watch *w, const char *run_id, int run_fd,
                                      ns_t age)
{
    struct usage_watched *run = xcalloc(1, sizeof(*run));

    usage_log_begin(&run->log, run_id, run_fd, clock_mono(), age > 0 ? age : 0);
    run->next = w->runs;
    w->runs = run;
    if (!w->looking)
        wait_for_next(w);
    return run;
}

void usage_watch_remove(struct usage_watch *w, struct usage_watched *run)
{
    for (struct usage_watched **p = &w->runs; run && *p; p = &(*p)->next)
        if (*p == run) {
            *p = run->next;
            free(run);
            break;
        }
    if (!w->looking)
        wait_for_next(w);
}
