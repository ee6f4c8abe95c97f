/* usage_watch.c - see usage_watch.h. */
#include "foreground/usage_watch.h"

#include <stdlib.h>

#include "base/mem.h"
#include "inspect/usage_log.h"

struct usage_watch {
    uv_timer_t timer;
    struct usage *usage;
    struct usage_log log;
};

static void look(uv_timer_t *timer)
{
    struct usage_watch *w = timer->data;
    ns_t now = clock_mono();

    usage_look(w->usage);
    usage_log_add(&w->log, w->usage, now);
    now = clock_mono();
    (void)uv_timer_start(
        timer, look, w->log.next > now ? (uint64_t)((w->log.next - now) / NS_PER_MS) + 1 : 1, 0);
}

struct usage_watch *usage_watch_new(uv_loop_t *loop, const char *run_id, int run_fd)
{
    struct usage_watch *w = xcalloc(1, sizeof(*w));

    w->usage = usage_new(run_id);
    usage_log_begin(&w->log, run_id, run_fd, clock_mono());
    (void)uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    uv_unref((uv_handle_t *)&w->timer);
    (void)uv_timer_start(&w->timer, look, 1000, 0);
    return w;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

void usage_watch_free(struct usage_watch *w)
{
    if (!w)
        return;
    usage_free(w->usage);
    uv_close((uv_handle_t *)&w->timer, closed);
}
