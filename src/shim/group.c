/* group.c - see group.h. OWN/muster-RUN_ID/REPLICA in the tree of each controller that is asked for
 * (version 1), or in the one tree (version 2).
 */
#include "shim/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strvec.h"
#include "shim/outer.h"
#include "shim/shim.h"

enum { PERIOD_US = 100000, LEAST_QUOTA_US = 1000 };

struct group {
    int procs_fds[CGROUP_CONTROLLERS]; /* -1: not limited */
    char *memory_dir;                  /* NULL: not limited */
    int64_t memory;
    bool unified;
    int64_t oom_kills;    /* those that have been told */
    int64_t before, last; /* those at the look before the last one, and at that */
};

struct groups {
    struct cgroup_own own;
    struct strvec dirs; /* innermost first */
};

/* --- making ----------------------------------------------------------------------------------- */

static int64_t limit_of(const struct replica *r, enum cgroup_controller c)
{
    return c == CGROUP_MEMORY ? r->memory : r->cpu_milli;
}

static int set_memory(bool unified, const char *dir, int64_t bytes, struct err *e)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)bytes);
    return cgroup_write(dir, unified ? "memory.max" : "memory.limit_in_bytes", text, e);
}

static int set_cpu(bool unified, const char *dir, int64_t milli, struct err *e)
{
    int64_t quota = milli > INT64_MAX / PERIOD_US ? INT64_MAX : milli * PERIOD_US / 1000;
    char text[64];
    int r;

    if (quota < LEAST_QUOTA_US)
        quota = LEAST_QUOTA_US;
    if (unified) {
        snprintf(text, sizeof(text), "%lld %d", (long long)quota, PERIOD_US);
        return cgroup_write(dir, "cpu.max", text, e);
    }
    snprintf(text, sizeof(text), "%d", PERIOD_US);
    r = cgroup_write(dir, "cpu.cfs_period_us", text, e);
    snprintf(text, sizeof(text), "%lld", (long long)quota);
    return r < 0 ? r : cgroup_write(dir, "cpu.cfs_quota_us", text, e);
}

static int make_dir(struct groups *gs, const char *dir, struct err *e)
{
    if (mkdir(dir, 0755) == 0)
        strvec_push(&gs->dirs, dir);
    else if (errno != EEXIST)
        return err_sys(e, -errno, "cannot create control group %s", dir);
    return 0;
}

static int make_one(struct shim *s, struct replica *r, enum cgroup_controller c, struct err *e)
{
    static int (*const set[])(bool, const char *, int64_t, struct err *) = {
        [CGROUP_MEMORY] = set_memory, [CGROUP_CPU] = set_cpu};
    struct groups *gs = s->groups;
    auto_free char *run = xasprintf("%s/muster-%s", gs->own.dirs[c], s->run_id);
    auto_free char *dir = xasprintf("%s/%s", run, r->name);
    auto_free char *procs = xasprintf("%s/cgroup.procs", dir);
    int result = make_dir(gs, run, e);

    if (result == 0 && gs->own.unified)
        result = cgroup_write(run, "cgroup.subtree_control", CGROUP_HAND_ON, e);
    if (result == 0)
        result = make_dir(gs, dir, e);
    if (result == 0)
        result = set[c](gs->own.unified, dir, limit_of(r, c), e);
    if (result < 0)
        return result;
    r->group->procs_fds[c] = open(procs, O_WRONLY | O_CLOEXEC);
    if (r->group->procs_fds[c] < 0)
        return err_sys(e, -errno, "cannot open %s", procs);
    if (c == CGROUP_MEMORY)
        r->group->memory_dir = TAKE_PTR(dir);
    return 0;
}

static struct group *group_new(const struct shim *s, const struct replica *r)
{
    struct group *g = xcalloc(1, sizeof(*g));

    *g = (struct group){
        .procs_fds = {-1, -1}, .memory = r->memory, .unified = s->groups->own.unified};
    return g;
}

/* One controller for all replicas that want it, up to the first failure: it would fail for all. */
static int make_all(struct shim *s, enum cgroup_controller c, struct err *e)
{
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        struct replica *r = &s->replicas[i];
        int result;

        if (limit_of(r, c) < 0)
            continue;
        if (!s->groups->own.dirs[c])
            return err_set(e, -ENOENT, "no such control group is available");
        if (!r->group)
            r->group = group_new(s, r);
        result = make_one(s, r, c, e);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool wants_groups(const struct shim *s)
{
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        if (s->replicas[i].memory >= 0 || s->replicas[i].cpu_milli >= 0)
            return true;
    }
    return false;
}

static void reverse(struct strvec *sv)
{
    for (size_t i = 0; i < sv->n / 2; i++) {
        char *other = sv->v[sv->n - 1 - i];

        sv->v[sv->n - 1 - i] = sv->v[i];
        sv->v[i] = other;
    }
}

void groups_make(struct shim *s)
{
    struct err e = {0};

    outer_begin(s);
    if (!wants_groups(s))
        return;
    s->groups = xcalloc(1, sizeof(*s->groups));
    s->groups->dirs = (struct strvec)STRVEC_INIT;
    if (cgroup_find(&s->groups->own, &e) < 0)
        shim_note(s, "limits are not enforced: %s", e.text);
    for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (make_all(s, c, &e) < 0)
            shim_note(s, "limits of %s are not enforced: %s; " CGROUP_HINT,
                      cgroup_controller_name(c), e.text);
    }
    reverse(&s->groups->dirs);
}

const char *const *groups_dirs(const struct shim *s)
{
    return s->groups ? (const char *const *)s->groups->dirs.v : NULL;
}

/* A group whose last process has just been reaped may be busy for a moment. */
void groups_remove(struct shim *s)
{
    static const struct timespec moment = {.tv_nsec = 5 * NS_PER_MS};

    for (size_t i = 0; s->groups && i < s->groups->dirs.n; i++) {
        int tries = 20;

        while (rmdir(s->groups->dirs.v[i]) < 0 && errno == EBUSY && --tries)
            (void)nanosleep(&moment, NULL);
    }
}

/* --- using ------------------------------------------------------------------------------------ */

int group_join(const struct group *g)
{
    for (int c = 0; g && c < CGROUP_CONTROLLERS; c++) {
        if (g->procs_fds[c] >= 0 && write(g->procs_fds[c], "0", 1) < 0)
            return -1;
    }
    return 0;
}

/* A shell whose command was killed ends with 137 itself. */
static bool looks_killed(int status)
{
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 128 + SIGKILL;
}

static int64_t count_kills(const struct group *g)
{
    return cgroup_number(g->memory_dir, g->unified ? "memory.events" : "memory.oom_control",
                         "oom_kill ");
}

static bool has_killed(const struct group *g)
{
    return g && g->memory_dir && count_kills(g) > g->oom_kills;
}

void groups_look(struct shim *s)
{
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        struct group *g = s->replicas[i].group;

        if (!g || !g->memory_dir)
            continue;
        g->before = g->last;
        g->last = count_kills(g);
    }
}

static void add_numbers(const struct group *g, struct oom *oom)
{
    if (!g || !g->memory_dir)
        return;
    oom->limit = g->memory;
    oom->peak =
        cgroup_number(g->memory_dir, g->unified ? "memory.peak" : "memory.max_usage_in_bytes", "");
}

/* Its own limit was reached, or that of a group inside it. */
static bool reached_limit(const struct group *g)
{
    return cgroup_number(g->memory_dir, g->unified ? "memory.events" : "memory.failcnt",
                         g->unified ? "oom " : "") != 0;
}

/* Its own group counts only those that were in it. What was killed long ago was another. */
static void killed_inside(struct shim *s, struct replica *r, int status, struct oom *oom)
{
    oom->killed = looks_killed(status) && count_kills(r->group) > r->group->before;
    oom->in = oom->killed ? -1 : (int32_t)(r - s->replicas);
    r->group->oom_kills += oom->killed;
    if (!reached_limit(r->group))
        outer_blame(s, oom);
}

/* The group that it shares with others: that the killer was there is all that is known. */
static void killed_outside(struct shim *s, int status, struct oom *oom)
{
    oom->killed = oom->nearby = looks_killed(status);
    outer_blame(s, oom);
    if (oom->killed)
        outer_told(s);
}

static bool has_memory_group(const struct replica *r)
{
    return r->group && r->group->memory_dir;
}

struct oom group_oom(struct shim *s, struct replica *r, int status)
{
    struct oom oom = {.in = -1, .limit = -1, .peak = -1};

    add_numbers(r->group, &oom);
    if (has_killed(r->group)) { /* also under one that ends well: it may have lost a child */
        killed_inside(s, r, status, &oom);
        return oom;
    }
    if (status == 0)
        return oom;
    if (!has_memory_group(r) && !s->stopping && outer_has_killed(s)) {
        killed_outside(s, status, &oom);
        return oom;
    }
    /* A launcher's ranks may be elsewhere. Who is being stopped does not end because of them. */
    for (uint32_t i = 0; WIFEXITED(status) && !s->stopping && i < s->n_replicas; i++)
        if (has_killed(s->replicas[i].group)) {
            oom.in = (int32_t)i;
            add_numbers(s->replicas[i].group, &oom);
            break;
        }
    return oom;
}

static uint32_t oom_word(const struct oom *oom)
{
    if (oom->nearby)
        return OOM_NEARBY;
    return oom->killed ? OOM_ITSELF : oom->in >= 0 ? OOM_IN + (uint32_t)oom->in : 0;
}

/* The file system goes with its replica, and files without a name with their process: what is free
 * now is the least that was. */
static void put_shm(struct strbuf *out, const struct shim *s, const struct replica *r, int status)
{
    struct statvfs v;
    bool known = status != 0 && !s->stopping && replica_shm(s, r, &v) == 0;

    wire_put_i64(out, known ? (int64_t)(v.f_blocks * v.f_frsize) : 0);
    wire_put_i64(out, known ? (int64_t)(v.f_bavail * v.f_frsize) : 0);
}

void memory_put(struct strbuf *out, struct shim *s, struct replica *r, int status)
{
    const struct oom oom = group_oom(s, r, status);

    wire_put_u32(out, oom_word(&oom));
    wire_put_i64(out, oom.limit);
    wire_put_i64(out, oom.peak);
    wire_put_str(out, oom.where);
    put_shm(out, s, r, status);
}
