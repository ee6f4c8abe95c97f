/* story.c - a seed becomes a job and what happens to it.
 *
 * Plans are built by hand and small: a rule that breaks, breaks with three replicas too, and a
 * short schedule can be read. Times are round on purpose, so that things happen at the same moment.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine/sim/inside.h"

static const char *const argv[] = {"./train", NULL};
static const char *const horovod[] = {"horovodrun", "-np", "4", "./train", NULL};
static const char *const secrets[] = {SIM_SECRET, "x", NULL};
/* each gets its own view of a job, and every view is made of every job */
static const enum platform_kind plain_platforms[] = {PLATFORM_OPENPAI,    PLATFORM_AZUREML_PREVIEW,
                                                     PLATFORM_AZUREML,    PLATFORM_MUSTER,
                                                     PLATFORM_PYTORCHJOB, PLATFORM_TFJOB},
                                mpi_platforms[] = {PLATFORM_T9K,
                                                   PLATFORM_MPIJOB_V1ALPHA1,
                                                   PLATFORM_MPIJOB_V1ALPHA2,
                                                   PLATFORM_MPIJOB_V1,
                                                   PLATFORM_MPIJOB_V2BETA1,
                                                   PLATFORM_MUSTER};
static const struct init_command inits[] = {{.name = "fetch", .argv = argv}, {.name = "unpack"}};
static const struct task tasks[] = {{.type = "worker", .count = 1},
                                    {.type = "ps", .count = 1, .serves = true}};

static const char *const workdirs[] = {"/w", "/w", "/w"}; /* MAX_ROLES */
static const char *const caller_env[] = {"PATH=/bin", NULL}, *const interfaces[] = {"lo", NULL};
const struct facts sim_facts = {.machine.cpus = 2,
                                .site.shim = "/muster-shim",
                                .site.isolation = "names",
                                .site.run_id = "id",
                                .site.run_dir = "/r",
                                .site.scratch_dir = "/s",
                                .caller.dir = "/c",
                                .caller.env = caller_env,
                                .caller.user = "u",
                                .site.interface = "lo",
                                .site.interfaces = interfaces};

enum { MAX_ROLES = 3, MAX_REPLICAS = 16, MAX_PROCESSES = 64, MAX_RANKS = 8, MAX_BLOWS = 2 };

struct maker {
    struct arena *a;
    struct rng rng;
    struct job_spec *spec;
    struct plan *plan;
    struct role *roles;
    struct replica *replicas;
    struct process *processes;
    struct sim_mpirun *mpiruns;
    struct sim_fate *fates;
    struct sim_blow *blows;
    uint32_t span, starts; /* how far apart things end and start */
    uint32_t unstarted;    /* of 1000: so many never become their program */
    uint32_t inits;        /* of 1000: so many roles have them, so many of these fail */
    uint32_t stubborn;     /* of 1000: so many do not even die */
    bool ranks;            /* its processes are ranks, as those of `run -n` */
    bool kills;            /* nothing fails but by SIGKILL: on a cluster, the platform's fault */
};

/* --- the job ---------------------------------------------------------------------------------- */

static void add_replica(struct maker *m, struct role *role, int32_t index)
{
    struct replica *r = &m->replicas[m->plan->n_replicas];
    uint32_t n = role->kind == ROLE_PLAIN ? (uint32_t)role->slots : 1;

    *r = (struct replica){.id = m->plan->n_replicas++,
                          .name = arena_printf(m->a, "%s-%d", role->name, index),
                          .role = role,
                          .role_index = (uint32_t)(role - m->roles),
                          .index = index,
                          .host = arena_printf(m->a, "%s-%d", role->name, index),
                          .address = arena_printf(m->a, "127.1.0.%u", m->plan->n_replicas),
                          .named = true,
                          .first_process = m->plan->n_processes,
                          .n_processes = n};
    for (uint32_t k = 0; k < n; k++) {
        struct process *p = &m->processes[m->plan->n_processes];
        uint32_t id = m->plan->n_processes++;
        *p = (struct process){.id = id,
                              .replica = r->id,
                              .slot = (int32_t)k,
                              .rank = m->ranks ? (int32_t)id : -1,
                              .task = role->tasks ? &tasks[k % ARRAY_SIZE(tasks)] : NULL,
                              .argv = role->argv,
                              .log = "x.log"};
        if (role->kind == ROLE_LAUNCHER)
            m->plan->launcher = (int32_t)p->id;
    }
}

static void add_role(struct maker *m, const char *name, enum role_kind kind, int32_t replicas,
                     bool counted)
{
    struct role *role = &m->roles[m->spec->n_roles++];

    *role = (struct role){.name = name,
                          .kind = kind,
                          .replicas = replicas,
                          .slots = kind == ROLE_LAUNCHER ? 1 : 1 + (int32_t)rng_below(&m->rng, 3),
                          .argv = kind == ROLE_HOST          ? NULL
                                  : rng_chance(&m->rng, 100) ? horovod
                                                             : argv,
                          .res = RESOURCES_UNSET,
                          .grace_s = -1};
    if (counted) {
        bool low = rng_chance(&m->rng, 500); /* what dialects do when nothing is said */
        role->min_failed = low ? 1 : (int32_t)rng_between(&m->rng, -1, replicas + 1);
        role->min_succeeded = (int32_t)rng_between(&m->rng, low ? 1 : -1, replicas + !low);
        role->first_decides = rng_chance(&m->rng, 300);
        role->ends_alone = rng_chance(&m->rng, 300);
    }
    if (rng_chance(&m->rng, m->inits)) {
        role->init = inits;
        role->n_init = ARRAY_SIZE(inits);
    }
    if (kind == ROLE_PLAIN && rng_chance(&m->rng, 80)) {
        role->tasks = tasks;
        role->n_tasks = ARRAY_SIZE(tasks);
    }
    for (int32_t i = 0; i < replicas; i++)
        add_replica(m, role, i);
}

/* What the job file says about second chances. */
static void add_policies(struct maker *m)
{
    static const enum restart_policy restarts[] = {
        RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_EXIT_CODE, RESTART_BY_CLASS};

    if (rng_chance(&m->rng, m->kills ? 800 : 300)) {
        m->spec->retry.by_class = rng_chance(&m->rng, 500);
        m->spec->retry.max = rng_chance(&m->rng, 30) ? (int32_t)rng_between(&m->rng, -2, -1)
                                                     : (int32_t)rng_below(&m->rng, 3);
    }
    if (rng_chance(&m->rng, 100))
        m->spec->deadline_s = 1 + rng_below(&m->rng, 15);
    m->spec->pause = rng_chance(&m->rng, 20);
    m->spec->debug = rng_chance(&m->rng, 150);
    bool all = rng_chance(&m->rng, 500);
    const struct role *one = &m->roles[rng_below(&m->rng, (uint32_t)m->spec->n_roles)];
    for (uint32_t i = 0; m->spec->debug && i < m->plan->n_processes; i++)
        m->processes[i].debug = all || m->replicas[m->processes[i].replica].role == one;
    for (size_t k = 0; k < m->spec->n_roles && rng_chance(&m->rng, 300); k++) {
        m->roles[k].restart = restarts[rng_below(&m->rng, 5)];
        m->roles[k].restart_limit = (int32_t)rng_between(&m->rng, -1, 3);
        if (m->roles[k].restart == RESTART_BY_CLASS && m->roles[k].restart_limit < 0)
            m->roles[k].restart_limit = 0;
    }
    if (rng_chance(&m->rng, 150)) {
        m->spec->has_restart_budget = true;
        m->spec->restart_budget = (int32_t)rng_below(&m->rng, 4);
    }
}

static void make_plan(struct maker *m)
{
    static const char *const names[] = {"worker", "ps", "evaluator"};
    struct facts *facts = ARENA_NEW(m->a, struct facts);
    bool counted = rng_chance(&m->rng, 500);

    *facts = sim_facts;
    if (rng_chance(&m->rng, 500))
        facts->machine.program_errno = -ENOENT;
    m->roles = ARENA_ARRAY(m->a, struct role, MAX_ROLES);
    m->replicas = ARENA_ARRAY(m->a, struct replica, MAX_REPLICAS);
    m->processes = ARENA_ARRAY(m->a, struct process, MAX_PROCESSES);
    m->spec = ARENA_NEW(m->a, struct job_spec);
    m->plan = ARENA_NEW(m->a, struct plan);
    *m->spec = (struct job_spec){.name = "j", .roles = m->roles, .secret_texts = secrets};
    *m->plan = (struct plan){.spec = m->spec,
                             .facts = facts,
                             .replicas = m->replicas,
                             .processes = m->processes,
                             .workdirs = workdirs,
                             .launcher = -1,
                             .world = -1};
    m->spec->gang = rng_chance(&m->rng, 500);
    if (rng_chance(&m->rng, 400)) {
        m->spec->framework = FRAMEWORK_MPI;
        m->spec->platform =
            platform_of(mpi_platforms[rng_below(&m->rng, ARRAY_SIZE(mpi_platforms))]);
        add_role(m, "launcher", ROLE_LAUNCHER, 1, false);
        add_role(m, "worker", ROLE_HOST, 1 + (int32_t)rng_below(&m->rng, 4), false);
        return;
    }
    m->spec->platform =
        platform_of(plain_platforms[rng_below(&m->rng, ARRAY_SIZE(plain_platforms))]);
    m->ranks = rng_chance(&m->rng, 200);
    for (uint32_t i = 0, n = 1 + rng_below(&m->rng, MAX_ROLES); i < n; i++)
        add_role(m, names[i], ROLE_PLAIN, 1 + (int32_t)rng_below(&m->rng, 4), counted);
}

/* --- how things end --------------------------------------------------------------------------- */

static struct ending some_ending(struct maker *m, bool good)
{
    static const int signals[] = {SIGKILL, SIGSEGV, SIGTERM, SIGABRT, 40};
    static const int codes[] = {1, 2, 3, 126, 127, 137, 201, 255};
    struct ending e = {.known = true, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};

    if (rng_chance(&m->rng, 200))
        e.max_rss = rng_between(&m->rng, 0, 1 << 20);
    if (good)
        return e;
    switch (m->kills ? 0 : rng_below(&m->rng, 8)) {
    case 0:
    case 1:
        e.signal = signals[m->kills ? 0 : rng_below(&m->rng, 5)];
        e.code = -1;
        break;
    case 2:
        e.signal = SIGKILL;
        e.code = -1;
        e.oom = true;
        e.memory_limit = 512 << 20;
        e.memory_peak = 511 << 20;
        break;
    case 3:
        e.known = false;
        e.code = -1;
        break;
    default:
        e.code = codes[rng_below(&m->rng, 8)];
        e.oom_in = rng_chance(&m->rng, 50);
        e.memory_limit = e.oom_in ? 512 << 20 : -1;
        break;
    }
    return e;
}

static struct ending not_started(struct maker *m)
{
    struct ending e = {
        .known = true, .code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};
    bool ours = rng_chance(&m->rng, 500);

    e.exec_errno = rng_chance(&m->rng, 500) ? -ENOENT : -EACCES;
    (void)snprintf(e.exec_what, sizeof(e.exec_what), "%s", ours ? "chdir /x" : "exec");
    return e;
}

static struct ending init_failed(struct maker *m, const struct role *role)
{
    struct ending e = rng_chance(&m->rng, 100) ? not_started(m) : some_ending(m, false);

    (void)snprintf(e.init, sizeof(e.init), "%s",
                   role->init[rng_below(&m->rng, (uint32_t)role->n_init)].name);
    return e;
}

static struct sim_fate some_fate(struct maker *m, uint32_t bad)
{
    struct sim_fate f = {.start_ms = rng_below(&m->rng, m->starts) * 100,
                         .life_ms = 1000 * (int64_t)(1 + rng_below(&m->rng, m->span)),
                         .term_ms = rng_below(&m->rng, 3) * 500,
                         .kill_ms = rng_below(&m->rng, 2)};

    f.end = some_ending(m, !rng_chance(&m->rng, bad));
    if (rng_chance(&m->rng, m->unstarted))
        f.end = not_started(m);
    if (rng_chance(&m->rng, 20))
        f.start_ms = -1;
    if (rng_chance(&m->rng, 20))
        f.life_ms = -1;
    if (rng_chance(&m->rng, 100))
        f.term_ms = -1;
    if (rng_chance(&m->rng, m->stubborn))
        f.kill_ms = -1;
    return f;
}

static void make_mpiruns(struct maker *m, struct sim_story *story, uint32_t bad)
{
    uint32_t n = 1 + rng_below(&m->rng, 2);
    struct sim_mpirun *v = ARENA_ARRAY(m->a, struct sim_mpirun, n);

    if (m->plan->launcher < 0 || rng_chance(&m->rng, m->spec->debug ? 500 : 50))
        return;
    for (uint32_t k = 0; k < n; k++) {
        struct sim_fate *ranks = ARENA_ARRAY(m->a, struct sim_fate, MAX_RANKS);
        v[k] = (struct sim_mpirun){.size = 1 + rng_below(&m->rng, MAX_RANKS),
                                   .ranks = ranks,
                                   .recovers = rng_chance(&m->rng, 300),
                                   .restarts = rng_chance(&m->rng, 400) ? rng_below(&m->rng, 4) : 0,
                                   .lies = rng_chance(&m->rng, 300)};
        if (rng_chance(&m->rng, 700))
            v[k].program = 1 + rng_below(&m->rng, 2);
        for (uint32_t r = 0; r < v[k].size; r++) {
            ranks[r] = some_fate(m, bad);
            if (ranks[r].end.exec_errno)
                ranks[r].end = some_ending(m, false);
            if (ranks[r].start_ms < 0)
                ranks[r].start_ms = 100;
        }
    }
    story->mpiruns = m->mpiruns = v;
    story->n_mpiruns = n;
}

static struct sim_faults some_faults(struct maker *m)
{
    static const uint32_t rates[] = {0, 20, 200,
                                     500}; /* dropped 1000: all is told at once, later */
    static const uint32_t crash_rates[] = {0, 10, 100, 1000};
    struct sim_faults f = {0};

    if (rng_chance(&m->rng, 300))
        return f;
    f.drop = rng_chance(&m->rng, 300) ? 1000 : rates[rng_below(&m->rng, 4)];
    f.repeat = rates[rng_below(&m->rng, 4)];
    f.delay = rates[rng_below(&m->rng, 4)];
    f.delay_ms = rng_chance(&m->rng, 500) ? 200 : 5000;
    f.resync_ms = rng_chance(&m->rng, 500) ? 1000 : 20000;
    f.crash = crash_rates[rng_below(&m->rng, 4)];
    f.down_ms = rng_chance(&m->rng, 500) ? 0 : 4000;
    return f;
}

static void make_story(struct maker *m, bool hold, struct sim_story *story)
{
    static const uint32_t bads[] = {0, 100, 400};
    uint32_t bad = bads[rng_below(&m->rng, 3)];
    struct sim_fate *fates = m->fates = ARENA_ARRAY(m->a, struct sim_fate, m->plan->n_processes);
    int64_t *open_ms = ARENA_ARRAY(m->a, int64_t, m->plan->n_replicas);
    struct sim_blow *blows = m->blows = ARENA_ARRAY(m->a, struct sim_blow, MAX_BLOWS);

    *story = (struct sim_story){.seed = rng_next(&m->rng),
                                .faults = some_faults(m),
                                .processes = fates,
                                .open_ms = open_ms,
                                .blows = blows,
                                .n_blows = rng_chance(&m->rng, 300) ? rng_below(&m->rng, 3) : 0,
                                .cancel_ms = {-1, -1},
                                .cancel_signal = rng_chance(&m->rng, 500) ? SIGINT : SIGTERM,
                                .pause_ms = -1,
                                .resume_ms = -1,
                                .mends = 400,
                                .lost_ms = -1,
                                .hang_ms = -1,
                                .output_ms = rng_chance(&m->rng, 300) ? 5000 : 0,
                                .end_ms = 3600000};
    for (uint32_t i = 0; i < m->plan->n_processes; i++) {
        fates[i] = some_fate(m, bad);
        const struct role *role = m->replicas[m->processes[i].replica].role;
        if (role->n_init > 0 && !fates[i].end.exec_errno && rng_chance(&m->rng, m->inits))
            fates[i].end = init_failed(m, role);
        else if (role->kind == ROLE_HOST && rng_chance(&m->rng, 950))
            fates[i].life_ms = -1; /* it only waits */
    }
    if (rng_chance(&m->rng, 100)) { /* others have failed when this one is found impossible */
        struct sim_fate *late =
            &fates[rng_chance(&m->rng, 500) ? 0 : rng_below(&m->rng, m->plan->n_processes)];
        late->start_ms = 3000;
        late->end = not_started(m);
    }
    for (uint32_t i = 0; i < m->plan->n_replicas; i++)
        open_ms[i] = rng_chance(&m->rng, 20) ? -1 : 50 * (int64_t)rng_below(&m->rng, 4);
    for (uint32_t i = 0; i < story->n_blows; i++)
        blows[i] = (struct sim_blow){.at_ms = 500 * (int64_t)rng_below(&m->rng, 40),
                                     .replica = rng_below(&m->rng, m->plan->n_replicas),
                                     .once = rng_chance(&m->rng, 500),
                                     .daemon = rng_chance(&m->rng, 400),
                                     .end = some_ending(m, false)};
    if (m->spec->retry.max < 0) /* the same over and over: a few minutes show it */
        story->end_ms = 300000;
    make_mpiruns(m, story, bad);
    if (rng_chance(&m->rng, 300))
        story->cancel_ms[0] = 100 * (int64_t)rng_below(&m->rng, 200);
    if (story->cancel_ms[0] >= 0 && rng_chance(&m->rng, 300))
        story->cancel_ms[1] = story->cancel_ms[0] + 100 * (int64_t)rng_below(&m->rng, 100);
    if (rng_chance(&m->rng, hold ? 600 : 200)) /* one that comes too late is a case of its own */
        story->pause_ms = 100 * (int64_t)rng_below(&m->rng, 200);
    if ((story->pause_ms >= 0 || m->spec->pause || m->spec->debug || hold) &&
        rng_chance(&m->rng, 800))
        story->resume_ms = story->pause_ms + 100 * (int64_t)rng_between(&m->rng, 1, 200);
    if (rng_chance(&m->rng, 50))
        story->lost_ms = 100 * (int64_t)rng_below(&m->rng, 200);
    if (story->pause_ms >= 0 && rng_chance(&m->rng, 50)) /* on the way to the pause */
        story->lost_ms = story->pause_ms + 100 * (int64_t)rng_below(&m->rng, 10);
    if (rng_chance(&m->rng, 50))
        story->hang_ms = 100 * (int64_t)rng_below(&m->rng, 200);
}

/* Some of those that nobody knows the end of were taken away, some that cannot be prepared are
 * refused. */
static void add_platform(struct rng *rng, struct ending *e)
{
    static const enum cause_kind taken[] = {CAUSE_EVICTED, CAUSE_EVICTED, CAUSE_GONE},
                                 refused[] = {CAUSE_IMAGE, CAUSE_UNSCHEDULABLE};

    if (!e->known && !e->exec_errno && !*e->init && rng_chance(rng, 600))
        e->fate = taken[rng_below(rng, 3)];
    if (e->exec_errno && !*e->init && rng_chance(rng, 300))
        *e = (struct ending){.fate = refused[rng_below(rng, 2)],
                             .code = -1,
                             .max_rss = -1,
                             .memory_limit = -1,
                             .memory_peak = -1};
}

/* What only clusters have. Of a chance of its own, so that a seed keeps the story it had. */
static void add_cluster(struct maker *m, uint64_t seed, struct sim_case *ret)
{
    struct rng rng = {seed ^ UINT64_C(0x636c7573746572)};
    struct sim_absence *v = ARENA_ARRAY(m->a, struct sim_absence, MAX_BLOWS);

    ret->rules.queued = rng_chance(&rng, 100);
    ret->story.admit_ms = 100 * (int64_t)rng_below(&rng, 100);
    ret->story.waits = rng_chance(&rng, 200) ? 500 : 0;
    ret->story.n_absences = rng_chance(&rng, 200) ? 1 + rng_below(&rng, MAX_BLOWS) : 0;
    ret->story.absences = v;
    for (uint32_t i = 0; i < ret->story.n_absences; i++)
        v[i] = (struct sim_absence){.at_ms = 100 * (int64_t)rng_below(&rng, 100),
                                    .for_ms = 100 * (int64_t)rng_below(&rng, 200),
                                    .replica = rng_below(&rng, m->plan->n_replicas)};
    for (uint32_t i = 0; i < m->plan->n_processes; i++)
        add_platform(&rng, &m->fates[i].end);
    for (uint32_t i = 0; i < ret->story.n_blows; i++)
        add_platform(&rng, &m->blows[i].end);
}

void sim_random_case(struct arena *a, uint64_t seed, struct sim_case *ret)
{
    struct maker m = {.a = a, .rng = {seed}};

    m.span = rng_chance(&m.rng, 500) ? 20 : 2;
    m.starts = rng_chance(&m.rng, 500) ? 4 : 1;
    m.unstarted = rng_chance(&m.rng, 100) ? 300 : 20;
    m.inits = rng_chance(&m.rng, 300) ? 500 : 100;
    m.kills = rng_chance(&m.rng, 100);
    m.stubborn = rng_chance(&m.rng, 100) ? 300 : 30;
    make_plan(&m);
    add_policies(&m);
    ret->plan = m.plan;
    ret->rules = (struct job_rules){
        .grace_ms = rng_chance(&m.rng, 500) ? 10000 : 1000 * rng_below(&m.rng, 3),
        .start_timeout_ms = rng_chance(&m.rng, 500) ? 600000 : 1000,
        .recovery_timeout_ms = rng_chance(&m.rng, 500) ? 60000 : 2000,
        .trust_launcher = rng_chance(&m.rng, 200),
        .hold = rng_chance(&m.rng, 150),
    };
    make_story(&m, ret->rules.hold, &ret->story);
    /* Last, so that a seed keeps the story it had. */
    for (size_t k = 0; k < m.spec->n_roles && rng_chance(&m.rng, 400); k++)
        m.roles[k].grace_s = (int32_t)rng_below(&m.rng, 5);
    ret->rules.grace_fixed = rng_chance(&m.rng, 200);
    for (uint32_t k = 0; k < ret->story.n_mpiruns; k++)
        m.mpiruns[k].strict = rng_chance(&m.rng, 300);
    if (m.plan->launcher < 0 && rng_chance(&m.rng, 300))
        m.spec->framework = FRAMEWORK_PYTORCH;
    add_cluster(&m, seed, ret);
    ret->story.cancel_asked = ret->story.cancel_signal == SIGTERM && rng_chance(&m.rng, 500);
    for (uint32_t k = 0; k < ret->story.n_mpiruns; k++)
        m.mpiruns[k].seen = rng_chance(&m.rng, 500);
    if (m.plan->launcher >= 0 && rng_chance(&m.rng, 100))
        memcpy(m.fates[m.plan->launcher].end.left, "mpirun", sizeof("mpirun"));
    for (uint32_t i = 0; i < m.plan->n_processes; i++)
        m.fates[i].end.by_itself = m.fates[i].end.code > 0 && rng_chance(&m.rng, 500);
}
