/* seed.h - the example job as a spec made by hand, and facts about a machine: what the tests of
 * this room start from. A test changes what it is about before it plans.
 */
#ifndef PLAN_TEST_SEED_H
#define PLAN_TEST_SEED_H

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "plan/plan.h"

struct seed {
    struct arena *arena;
    struct role roles[2]; /* launcher, worker */
    struct mpi_spec mpi;
    struct job_spec spec;
    struct facts facts;
};

static const char *const seed_args[] = {
    "-N",   "3", "--enable-recovery", "--max-restarts", "100", "--allow-run-as-root", "-bind-to",
    "none", NULL};
static const char *const seed_program[] = {"./random_walk", "20", "40", "2", NULL};
static const struct env_entry seed_mca[] = {{.name = "btl", .value = "^openib"}};
static const char *const seed_environ[] = {"PATH=/usr/bin:/bin", "HOME=/home/u", "SECRET=s", NULL};
static const bool seed_workdirs[] = {true, true};

static inline void seed_init(struct seed *s)
{
    *s = (struct seed){
        .arena = arena_new(),
        .roles = {{.name = "launcher", .kind = ROLE_LAUNCHER, .replicas = 1, .slots = 1},
                  {.name = "worker", .kind = ROLE_HOST, .replicas = 5, .slots = 3}},
        .mpi = {.home = "/usr/local",
                .mca = seed_mca,
                .n_mca = 1,
                .extra_args = seed_args,
                .program = seed_program,
                .recovery = true,
                .sshd_path = "/usr/sbin/sshd"},
        .spec = {.name = "mpi-example",
                 .platform = platform_of(PLATFORM_T9K),
                 .framework = FRAMEWORK_MPI,
                 .file = "mpi-example.yaml",
                 .dir = "/jobs",
                 .n_roles = 2,
                 .priority = -1},
        .facts = {.machine.root = true,
                  .machine.cpus = 2,
                  .site.isolation = "names",
                  .site.run_id = "ID",
                  .site.run_dir = "/run/ID",
                  .site.scratch_dir = "/tmp/ID",
                  .caller.dir = "/here",
                  .caller.env = seed_environ,
                  .machine.cgroup_limits = true,
                  .machine.mpi = MPI_OPEN_MPI_4,
                  .machine.mpirun = "/usr/local/bin/mpirun",
                  .machine.mpi_version = "4.1.4",
                  .machine.mpi_home_ok = true,
                  .machine.mpi_prefix_ok = true,
                  .machine.workdir_ok = seed_workdirs,
                  .machine.sshd_ok = true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(s->roles); i++) {
        s->roles[i].res = RESOURCES_UNSET;
        s->roles[i].workdir = "/usr/local/code";
    }
    s->spec.roles = s->roles;
    s->spec.mpi = &s->mpi;
}

/* A job of another platform: one role `worker` with this command, and no mpirun line to compose.
 * roles[1] is there to be used: set its name and spec.n_roles. */
static inline void seed_other(struct seed *s, enum platform_kind platform, enum framework framework,
                              const char *shell)
{
    static const int numbers[64] = {20000, 20001, 20002, 20003, 20004, 20005, 20006, 20007,
                                    20008, 20009, 20010, 20011, 20012, 20013, 20014, 20015,
                                    20016, 20017, 20018, 20019, 20020, 20021, 20022, 20023};

    seed_init(s);
    for (size_t i = 0; i < ARRAY_SIZE(s->roles); i++)
        s->roles[i] = (struct role){
            .name = "worker", .replicas = 2, .slots = 1, .shell = shell, .res = RESOURCES_UNSET};
    s->spec.name = "job";
    s->spec.platform = platform_of(platform);
    s->spec.framework = framework;
    s->spec.mpi = NULL;
    s->spec.n_roles = 1;
    s->facts.site.ports = numbers;
    s->facts.site.interface = "lo";
    s->facts.caller.user = "ann";
}

/* The seed's distributed PyTorch job as an OpenPAI file of either generation. */
static inline void seed_openpai(struct seed *s, int version, const char *shell)
{
    static const struct port_request ports[] = {{.label = "SynPort", .count = 2},
                                                {.label = "ssh", .count = 1},
                                                {.label = "http", .count = 1}};
    static const struct pai_spec pai[] = {
        {0}, {.version = 1, .data_dir = "hdfs://d"}, {.version = 2}};

    seed_other(s, PLATFORM_OPENPAI, FRAMEWORK_NONE, shell);
    s->spec.pai = &pai[version];
    s->spec.gang = true;
    for (size_t i = 0; i < ARRAY_SIZE(s->roles); i++) {
        s->roles[i].shell_kind = version == 1 ? SHELL_BASH : SHELL_BASH_STRICT;
        s->roles[i].ports = ports;
        s->roles[i].n_ports = ARRAY_SIZE(ports);
        s->roles[i].min_failed = 1;
        s->roles[i].min_succeeded = version == 1 ? -1 : s->roles[i].replicas;
        s->roles[i].res.cpu_limit_milli = 4000;
        s->roles[i].res.memory_limit = INT64_C(8192) << 20;
        s->roles[i].res.shm = INT64_C(64) << 20;
    }
}

static inline const struct plan *seed_plan(struct seed *s)
{
    const struct plan *plan = NULL;
    struct err e;

    if (!ok(plan_build(s->arena, &s->spec, &s->facts, &plan, &e) == 0, "it can be planned")) {
        tap_diag("%s", e.text);
        exit(tap_done());
    }
    return plan;
}

/* What would be executed, as one line of words in <>. */
static inline const char *seed_exec(struct seed *s, uint32_t process)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct plan *plan = seed_plan(s);
    const char *const *argv =
        plan_exec_argv(s->arena, plan, &plan->processes[process], FIRST_START);

    for (; argv && *argv; argv++)
        strbuf_addf(&sb, "<%s>", *argv);
    return arena_strndup(s->arena, sb.buf, sb.len);
}

/* The launcher's command as one line. */
static inline const char *seed_line(struct seed *s)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct plan *plan = seed_plan(s);
    const char *const *argv = plan->processes[plan->launcher].argv;

    for (size_t i = 0; argv[i]; i++)
        strbuf_addf(&sb, "%s%s", i ? " " : "", argv[i]);
    return arena_strndup(s->arena, sb.buf, sb.len);
}

/* "note: …\nwarning: …\n" */
static inline const char *seed_notes(struct seed *s)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct plan *plan = seed_plan(s);

    for (size_t i = 0; i < plan->n_notes; i++)
        strbuf_addf(&sb, "%s: %s\n", plan->notes[i].severity == SEV_NOTE ? "note" : "warning",
                    plan->notes[i].message);
    return arena_strndup(s->arena, sb.buf, sb.len);
}

/* "value (origin)" of a variable of a process, or NULL. */
static inline const char *seed_env(struct seed *s, uint32_t process, const char *name)
{
    const struct plan *plan = seed_plan(s);
    const struct env_value *v;
    size_t n = plan_env(s->arena, plan, process, FIRST_START, true, &v);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return arena_printf(s->arena, "%s (%s)", v[i].value, origin_name(v[i].origin));
    return NULL;
}

#endif
