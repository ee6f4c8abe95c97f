/* plan.c - replicas, hosts, hostfiles and the mpirun line: the example's, exactly. */
#include "plan/test/seed.h"

#define OPEN_MPI_TAIL                                                                              \
    " -N 3 --enable-recovery --max-restarts 100 --allow-run-as-root -bind-to none"                 \
    " ./random_walk 20 40 2"

static void test_replicas(void)
{
    struct seed s;

    seed_init(&s);

    const struct plan *plan = seed_plan(&s);
    const struct replica *r = plan->replicas;

    is_int(plan->n_replicas, 6, "a launcher and five workers");
    is_int(plan->world, 15, "fifteen ranks");
    is_int(plan->launcher, 0, "the launcher comes first");
    is_str(r[0].name, "launcher-0", "its name");
    is_str(r[0].host, "mpi-example-launcher", "its host");
    is_str(r[0].address, "127.1.0.1", "its address");
    is_str(r[5].name, "worker-4", "the last worker's name");
    is_str(r[5].host, "mpi-example-worker-4", "its host");
    is_str(r[5].address, "127.1.0.6", "its address");
    is_str(plan->processes[0].log, "launcher-0.log", "the launcher's log");
    ok(!plan->processes[5].argv && !plan->processes[5].shell, "a worker only waits");
    is_str(plan->processes[5].log, "", "and has no log");
    is_str(plan->workdirs[0], "/usr/local/code", "the working directory as the file says");
    is_str(plan->hosts_file,
           "127.0.0.1 localhost\n"
           "::1 localhost ip6-localhost ip6-loopback\n"
           "127.1.0.1 mpi-example-launcher launcher-0\n"
           "127.1.0.2 mpi-example-worker-0 worker-0\n"
           "127.1.0.3 mpi-example-worker-1 worker-1\n"
           "127.1.0.4 mpi-example-worker-2 worker-2\n"
           "127.1.0.5 mpi-example-worker-3 worker-3\n"
           "127.1.0.6 mpi-example-worker-4 worker-4\n",
           "/etc/hosts");
    has(plan->peers_json,
        "{\"replica\":\"worker-0\",\"role\":\"worker\",\"index\":0,"
        "\"host\":\"mpi-example-worker-0\",\"address\":\"127.1.0.2\",\"ports\":{}}",
        "a peer");
    arena_free(s.arena);
}

static void test_many_replicas(void)
{
    struct seed s;
    struct err e;
    const struct plan *plan;

    seed_init(&s);
    s.roles[1].replicas = 600;
    is_str(seed_plan(&s)->replicas[300].address, "127.1.1.45", "addresses count on");
    s.roles[1].replicas = LIMIT_REPLICAS;
    is_int(plan_build(s.arena, &s.spec, &s.facts, &plan, &e), -EINVAL, "too many replicas");
    has(e.text, "8192", "the limit is named");
    s.roles[1].replicas = LIMIT_REPLICAS - 1;
    s.roles[1].slots = LIMIT_SLOTS;
    is_int(plan_build(s.arena, &s.spec, &s.facts, &plan, &e), -EINVAL, "too many ranks");
    s.spec.name = "a-job-whose-name-leaves-no-room-for-the-names-of-its-replicas-x";
    s.roles[1].slots = 1;
    is_int(plan_build(s.arena, &s.spec, &s.facts, &plan, &e), -EINVAL, "too long a host name");
    arena_free(s.arena);
}

static void test_open_mpi(void)
{
    struct seed s;

    seed_init(&s);
    is_str(seed_line(&s),
           "/usr/local/bin/mpirun --prefix /usr/local --hostfile /run/ID/hostfile"
           " -mca btl ^openib" OPEN_MPI_TAIL,
           "the line");
    is_str(seed_plan(&s)->hostfile,
           "mpi-example-worker-0 slots=3\nmpi-example-worker-1 slots=3\n"
           "mpi-example-worker-2 slots=3\nmpi-example-worker-3 slots=3\n"
           "mpi-example-worker-4 slots=3\n",
           "the hostfile");
    ok(seed_plan(&s)->rank_wrapper, "ranks are started through the shim");

    s.facts.machine.mpi_prefix_ok = false;
    is_str(seed_line(&s),
           "/usr/local/bin/mpirun --hostfile /run/ID/hostfile -mca btl ^openib" OPEN_MPI_TAIL,
           "no daemon below the prefix: no --prefix");
    has(seed_notes(&s), "note: --prefix /usr/local is ignored", "and a note");

    s.facts.machine.mpi = MPI_OPEN_MPI_5;
    is_str(seed_line(&s),
           "/usr/local/bin/mpirun --hostfile /run/ID/hostfile -mca btl ^openib -N 3"
           " --allow-run-as-root -bind-to none ./random_walk 20 40 2",
           "Open MPI 5 knows no recovery");
    has(seed_notes(&s),
        "note: Open MPI 5 has no equivalent of --enable-recovery, --max-restarts 100; omitted",
        "and a note");

    s.facts.machine.mpi = MPI_NOT_FOUND;
    s.facts.machine.mpirun = NULL;
    s.facts.machine.mpi_home_ok = false;
    is_str(seed_line(&s), "mpirun --hostfile /run/ID/hostfile -mca btl ^openib" OPEN_MPI_TAIL,
           "without an mpirun the line says what was wanted");
    has(seed_notes(&s), "warning: mpirun not found; install openmpi-bin", "and what to install");
    arena_free(s.arena);
}

static void test_hydra(void)
{
    static const char *const args[] = {"--map-by", "slot",     "-x",  "A=b=c", "-x",
                                       "PATH",     "--mca",    "pml", "ob1",   "-np",
                                       "7",        "-verbose", NULL};
    struct seed s;

    seed_init(&s);
    s.facts.machine.mpi = MPI_HYDRA;
    s.facts.machine.mpirun = "/usr/bin/mpiexec.hydra";
    is_str(seed_line(&s),
           "/usr/bin/mpiexec.hydra -f /run/ID/hostfile -ppn 3 -n 15 -bind-to none"
           " /tmp/ID/bin/muster-rank ./random_walk 20 40 2",
           "the line");
    has(seed_plan(&s)->hostfile, "mpi-example-worker-0:3\nmpi-example-worker-1:3\n", "hostfile");
    has(seed_notes(&s),
        "note: MPICH (Hydra) has no equivalent of -mca btl '^openib', --enable-recovery,"
        " --max-restarts 100, --allow-run-as-root; omitted",
        "one note names what is left out");

    s.mpi.extra_args = args;
    s.roles[1].slots_kind = SLOTS_UNSET;
    s.roles[1].slots = 1;
    is_str(seed_line(&s),
           "/usr/bin/mpiexec.hydra -f /run/ID/hostfile -n 7 -genv A b=c -verbose"
           " /tmp/ID/bin/muster-rank ./random_walk 20 40 2",
           "-np, -x and unknown options");
    has(seed_notes(&s), "--map-by slot, --mca pml ob1; omitted", "values go with their options");
    has(seed_plan(&s)->hostfile, "mpi-example-worker-4:2\n", "-np fits on the hosts");
    is_int(seed_plan(&s)->world, 7, "-np is the number of ranks");
    has(seed_notes(&s), "note: worker: slots not set; defaults to 2 per replica", "and a note");
    arena_free(s.arena);
}

static void test_slots_unset(void)
{
    static const char *const no_args[] = {NULL};
    static const char *const cut_short[] = {"-mca", "btl", NULL};
    struct seed s;

    seed_init(&s);
    s.mpi.extra_args = no_args;
    s.roles[1].slots_kind = SLOTS_UNSET;
    s.roles[1].slots = 1;
    is_int(seed_plan(&s)->world, 5, "no number at all: one rank per worker");
    has(seed_plan(&s)->hostfile, "mpi-example-worker-4 slots=1\n", "and one slot");
    s.mpi.extra_args = cut_short;
    has(seed_line(&s), "-mca btl ./random_walk", "an option without its values is passed on");
    arena_free(s.arena);
}

static void test_fallbacks(void)
{
    static const bool missing[] = {false, false};
    struct seed s;

    seed_init(&s);
    s.facts.machine.workdir_ok = missing;
    is_str(seed_plan(&s)->workdirs[1], "/jobs", "no such directory: the job file's own");
    has(seed_notes(&s),
        "warning: working directory /usr/local/code does not exist; running in /jobs\n", "told");
    s.roles[1].workdir = "code";
    s.facts.machine.workdir_ok = seed_workdirs;
    is_str(seed_plan(&s)->workdirs[1], "/jobs/code", "a relative one starts at the job file");
    s.facts.machine.sshd_ok = false;
    s.facts.machine.mpi_home_ok = false;
    has(seed_notes(&s), "note: /usr/sbin/sshd not found", "sshd");
    has(seed_notes(&s), "warning: mpirun not found in /usr/local/bin", "mpiHome");
    arena_free(s.arena);
}

static void test_resource_notes(void)
{
    struct seed s;

    seed_init(&s);
    s.roles[0].image = s.roles[1].image = "some/image:1";
    s.roles[1].res.cpu_limit_milli = 100;
    s.roles[1].res.cpu_request_milli = 50;
    is_str(
        seed_notes(&s),
        "note: /usr/local/bin/mpirun is Open MPI 4, version 4.1.4\n"
        "note: --enable-recovery makes mpirun hide a failed rank or wait forever; Muster watches "
        "every rank and ends the job\n"
        "note: image some/image:1 is not used; running with what is installed on this machine\n"
        "warning: worker: the CPU limit 100m is 10 % of one core; expect heavy throttling\n"
        "note: resource requests are not reserved\n",
        "the example's notes, each once");
    s.facts.machine.cgroup_limits = false;
    s.facts.machine.cgroup_why = "no delegated group";
    has(seed_notes(&s), "CPU and memory limits are not enforced: no delegated group", "no cgroup");
    s.roles[1].res.cpu_request_milli = 2000;
    s.roles[1].res.cpu_limit_milli = 4000;
    s.roles[1].res.memory_limit = INT64_C(8) << 30;
    s.roles[1].res.memory_request = INT64_C(1) << 30;
    s.roles[1].res.gpu = 1;
    s.facts.machine.memory = INT64_C(4) << 30;
    has(seed_notes(&s), "warning: 5 × worker request 10 cores, this machine has 2", "cores");
    has(seed_notes(&s), "warning: worker: the CPU limit is 4 cores", "cpu limit");
    has(seed_notes(&s), "warning: worker: the memory limit is 8", "memory limit");
    has(seed_notes(&s), "warning: 5 × worker request 1", "memory requests");
    has(seed_notes(&s), "warning: worker: requests 1 GPU per replica, this machine has 0", "gpu");
    arena_free(s.arena);
}

/* What a cluster would do after the end, or for ever. */
static void test_policy_notes(void)
{
    struct seed s;

    seed_init(&s);
    s.spec.clean_up = CLEAN_UP_NONE;
    s.spec.has_ttl = true;
    s.spec.ttl_s = 60;
    s.roles[0].restart = RESTART_ON_FAILURE;
    s.roles[0].restart_limit = -1;
    has(seed_notes(&s), "note: clean-up policy None is ignored: replicas still run", "None");
    has(seed_notes(&s), "note: time to live of 1 min 0 s after the end is ignored", "ttl");
    has(seed_notes(&s), "note: launcher: the file sets no restart limit; defaults",
        "restarts without a limit");
    s.spec.clean_up = CLEAN_UP_ALL;
    s.spec.has_restart_budget = true;
    has(seed_notes(&s), "note: clean-up policy All does not remove logs", "All");
    ok(!strstr(seed_notes(&s), "names no limit"), "a limit needs no note");
    arena_free(s.arena);
}

static void test_run_n(void)
{
    static const char *const argv[] = {"true", NULL};
    static const struct port_request port = {
        .label = "MASTER_PORT", .count = 1, .first_only = true};
    struct seed s;

    seed_init(&s);
    s.roles[0] = (struct role){.name = "worker",
                               .replicas = 2,
                               .slots = 3,
                               .argv = argv,
                               .ports = &port,
                               .n_ports = 1,
                               .res = s.roles[1].res};
    s.spec = (struct job_spec){
        .name = "muster", .roles = s.roles, .n_roles = 1, .dir = "/here", .priority = -1};
    s.facts.site.ports = (const int[]){20000};

    const struct plan *plan = seed_plan(&s);

    is_int(plan->n_processes, 6, "six processes");
    is_int(plan->world, 6, "which are the ranks");
    is_int(plan->launcher, -1, "no launcher");
    is_int(plan->processes[4].replica, 1, "the fifth one is in the second replica");
    is_int(plan->processes[4].rank, 4, "its rank");
    is_int(plan->processes[4].slot, 1, "its place there");
    is_str(plan->processes[4].log, "worker-1.rank-4.log", "its log");
    is_str(plan->replicas[1].host, "worker-1", "hosts are called as replicas are");
    has(plan->hosts_file, "\n127.1.0.2 worker-1\n", "once in /etc/hosts");
    is_str(plan->workdirs[0], "/here", "the caller's directory");
    ok(!plan->hostfile && !plan->n_notes, "no hostfile, nothing to note");
    is_str(seed_env(&s, 4, "RANK"), "4 (framework)", "RANK");
    is_str(seed_env(&s, 4, "LOCAL_RANK"), "1 (framework)", "LOCAL_RANK");
    is_str(seed_env(&s, 4, "WORLD_SIZE"), "6 (framework)", "WORLD_SIZE");
    is_str(seed_env(&s, 4, "LOCAL_WORLD_SIZE"), "3 (framework)", "LOCAL_WORLD_SIZE");
    is_str(seed_env(&s, 4, "NODE_RANK"), "1 (framework)", "NODE_RANK");
    is_str(seed_env(&s, 4, "MASTER_ADDR"), "worker-0 (framework)", "MASTER_ADDR");
    is_str(seed_env(&s, 4, "MASTER_PORT"), "20000 (framework)", "MASTER_PORT");
    is_str(seed_env(&s, 4, "OMPI_MCA_orte_fork_agent"), NULL, "nothing of MPI");
    arena_free(s.arena);
}

int main(void)
{
    test_replicas();
    test_many_replicas();
    test_open_mpi();
    test_hydra();
    test_slots_unset();
    test_fallbacks();
    test_resource_notes();
    test_policy_notes();
    test_run_n();
    return tap_done();
}
