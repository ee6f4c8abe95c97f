/* outer.c - see outer.h. */
#include "shim/outer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "shim/shim.h"

enum {
    DEEPEST = 32, /* groups above each other */
    NEAR = 32,    /* a part of the limit */
    LOOK_S = 5,   /* between two looks; a kill is recent until the second look after it */
};

/* Version 1 writes this, rounded to a page, where there is no limit. */
#define NO_LIMIT (INT64_MAX / 2)

struct counter {
    int64_t before, last; /* two looks ago and at the last one; -1: it cannot be read */
};

struct level_above {
    char *dir;
    struct counter hits; /* how often its limit was reached */
};

struct outer {
    struct watch watch;
    int timer_fd;
    bool unified;
    struct level_above groups[DEEPEST]; /* innermost first */
    size_t n;
    struct counter kills;   /* of the innermost */
    struct counter machine; /* /proc/vmstat */
};

/* --- counters -----------------------------------------------------------------------------------
 */

static int64_t count_kills(const struct outer *o)
{
    if (o->n == 0)
        return -1;
    return cgroup_number(o->groups[0].dir, o->unified ? "memory.events" : "memory.oom_control",
                         "oom_kill ");
}

static int64_t count_hits(const struct outer *o, size_t i)
{
    return o->unified ? cgroup_number(o->groups[i].dir, "memory.events", "oom ")
                      : cgroup_number(o->groups[i].dir, "memory.failcnt", "");
}

static int64_t count_machine(void)
{
    return cgroup_number("/proc", "vmstat", "\noom_kill ");
}

static void look(struct counter *c, int64_t now)
{
    c->before = c->last;
    c->last = now;
}

static void look_at_all(struct outer *o)
{
    look(&o->kills, count_kills(o));
    look(&o->machine, count_machine());
    for (size_t i = 0; i < o->n; i++)
        look(&o->groups[i].hits, count_hits(o, i));
}

static bool grew(const struct counter *c, int64_t now)
{
    return c->before >= 0 && now > c->before;
}

/* --- the groups ---------------------------------------------------------------------------------
 */

/* Those above our own, as far up as the mount shows them. */
static void find_groups(struct outer *o)
{
    struct cgroup_own own = {0};

    if (cgroup_find(&own, NULL) < 0)
        return;
    o->unified = own.unified;
    auto_free char *dir = own.dirs[CGROUP_MEMORY] ? xstrdup(own.dirs[CGROUP_MEMORY]) : NULL;
    cgroup_release(&own);
    while (dir && o->n < DEEPEST) {
        char *slash = strrchr(dir, '/');

        o->groups[o->n] = (struct level_above){.dir = xstrdup(dir)};
        if (count_hits(o, o->n) < 0 || !slash || slash == dir) {
            free(o->groups[o->n].dir);
            return;
        }
        o->n++;
        *slash = '\0';
    }
}

static void timer_ready(struct shim *s, struct watch *w)
{
    struct outer *o = (struct outer *)w;
    uint64_t times;

    if (read(o->timer_fd, &times, sizeof(times)) != sizeof(times))
        return;
    look_at_all(o);
    groups_look(s);
}

/* Without a timer (no descriptor is left) the first look stays the one compared with. */
void outer_begin(struct shim *s)
{
    static const struct itimerspec often = {.it_value.tv_sec = LOOK_S,
                                            .it_interval.tv_sec = LOOK_S};
    struct outer *o = xcalloc(1, sizeof(*o));

    o->watch.ready = timer_ready;
    find_groups(o);
    look_at_all(o);
    look_at_all(o);
    o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (o->timer_fd >= 0 && (timerfd_settime(o->timer_fd, 0, &often, NULL) < 0 ||
                             shim_watch(s, o->timer_fd, &o->watch) < 0)) {
        close(o->timer_fd);
        o->timer_fd = -1;
    }
    s->outer = o;
}

/* --- answers ------------------------------------------------------------------------------------
 */

bool outer_has_killed(const struct shim *s)
{
    const struct outer *o = s->outer;

    if (!o)
        return false;
    return o->kills.before >= 0 ? grew(&o->kills, count_kills(o))
                                : grew(&o->machine, count_machine());
}

void outer_told(struct shim *s)
{
    struct outer *o = s->outer;
    struct counter *c = o && o->kills.before >= 0 ? &o->kills : o ? &o->machine : NULL;

    if (!c)
        return;
    c->before++;
    c->last = c->last > c->before ? c->last : c->before;
}

static int64_t limit_of(const struct outer *o, const char *dir)
{
    int64_t limit =
        cgroup_number(dir, o->unified ? "memory.max" : "memory.limit_in_bytes", ""); /* "max": -1 */

    return limit < NO_LIMIT ? limit : -1;
}

static int64_t peak_of(const struct outer *o, const char *dir)
{
    return cgroup_number(dir, o->unified ? "memory.peak" : "memory.max_usage_in_bytes", "");
}

/* A pod has a group of its own around its containers', with the sum of their limits. That one is
 * met, and cannot be seen: the container is then near its limit. */
static bool met_limit(const struct shim *s, size_t i)
{
    const struct outer *o = s->outer;
    int64_t limit = limit_of(o, o->groups[i].dir);

    if (limit < 0 || grew(&o->groups[i].hits, count_hits(o, i)))
        return limit >= 0;
    return s->pod && peak_of(o, o->groups[i].dir) >= limit - limit / NEAR;
}

void outer_blame(const struct shim *s, struct oom *oom)
{
    const struct outer *o = s->outer;

    oom->limit = oom->peak = -1;
    for (size_t i = 0; o && i < o->n; i++) {
        const char *dir = o->groups[i].dir;

        if (!met_limit(s, i))
            continue;
        size_t n = strlen(dir), room = sizeof(oom->where) - 1;
        (void)snprintf(oom->where, sizeof(oom->where), "%s", dir + (n > room ? n - room : 0));
        oom->limit = limit_of(o, dir);
        oom->peak = peak_of(o, dir);
        return;
    }
    /* a kill in our group and no limit of a group above: then it was the machine's memory */
    (void)snprintf(oom->where, sizeof(oom->where), "%s",
                   o && o->kills.before >= 0 ? OOM_MACHINE : OOM_SOMEWHERE);
}
