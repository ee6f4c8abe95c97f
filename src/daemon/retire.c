/* retire.c - run directories of jobs that ended long ago are removed, by the rule of foreground
 * runs (rundir/retention.h): those without outputs, but the newest.
 *
 * A foreground run removes what is too much when it ends, while somebody looks at it. Jobs of the
 * daemon may be read the next morning, so what has ended within LIMIT_RETIRE_AFTER_S stays whatever
 * the limits say. The row stays, with outcome and exit code; without a site it is not missed
 * (fsck).
 */
#include <string.h>

#include "base/mem.h"
#include "daemon/parts.h"
#include "rundir/places.h"
#include "rundir/retention.h"

#define SOON_MS 500 /* after an end: several follow each other */
#define AT_ONCE 100 /* removed before the loop goes on */
#define SHARE 100   /* of the time, at most one part is spent on looking */

static bool is_old(const struct served *s)
{
    return s && s->has_dir && s->row.state == STORED_ENDED && !s->act &&
           clock_real() - s->row.ended > LIMIT_RETIRE_AFTER_S * NS_PER_S;
}

/* Looking opens each run directory: not for nothing. */
static bool any_old(const struct daemon *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (is_old(d->jobs[i]))
            return true;
    return false;
}

/* How many were removed. Runs of others are not ours to remove: they count, as they do there. */
static int retire(struct daemon *d)
{
    auto_arena struct arena *a = arena_new();
    auto_strvec struct strvec notes = STRVEC_INIT;
    auto_free char *scratch = places_scratch(&notes), *home = places_runs(scratch, &notes);
    const struct retention *policy = &d->config.retention;
    struct retained_list list;
    int n = 0;

    retention_look(a, home, policy->max_size >= 0, &list);
    retention_mark(policy, clock_real(), &list);
    for (size_t i = 0; i < list.n && n < AT_ONCE; i++) {
        struct served *s = daemon_find(d, list.v[i].id);

        if (!is_old(s))
            continue;
        s->has_dir = !list.v[i].outputs; /* else nobody has to look again */
        if (!list.v[i].removed_for || retention_remove(list.v[i].dir, NULL) < 0)
            continue;
        s->has_dir = false;
        free((char *)(uintptr_t)s->row.site);
        s->row.site = xstrdup("");
        store_update(d->store, &s->row);
        n++;
    }
    return n;
}

static void on_time(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    ns_t begun = clock_mono();
    int n = any_old(d) ? retire(d) : 0;
    ns_t took = clock_mono() - begun;

    d->retire_from = begun + took * SHARE;
    if (n > 0)
        retire_later(d);
}

void retire_later(struct daemon *d)
{
    ns_t now = clock_mono();
    uint64_t wait = d->retire_from > now ? (uint64_t)((d->retire_from - now) / NS_PER_MS) : 0;

    if (!uv_is_active((uv_handle_t *)&d->retire_timer))
        (void)uv_timer_start(&d->retire_timer, on_time, wait > SOON_MS ? wait : SOON_MS, 0);
}
