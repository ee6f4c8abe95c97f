/* levels.c - what of a plan depends on the level of isolation. */
#include "base/tap.h"

#include <string.h>

#include "plan/test/seed.h"

enum { LAUNCHER, WORKER_0, WORKER_1 };

static void test_names(void)
{
    struct seed s;

    seed_init(&s);

    const struct plan *plan = seed_plan(&s);

    is_str(plan->replicas[WORKER_0].address, "127.1.0.2", "names: an address of the loopback");
    is_str(plan_reachable(&plan->replicas[WORKER_0]), "mpi-example-worker-0",
           "names: a replica is reached by its name");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_oob_tcp_if_include"), "lo (muster)",
           "names: by the loopback");
    is_str(seed_env(&s, WORKER_0, "OMPI_MCA_btl_vader_backing_directory"), NULL,
           "names: /dev/shm is the replica's own");
    ok(!strstr(seed_notes(&s), "isolation"), "names: nothing to note");
    arena_free(s.arena);
}

static void test_network(void)
{
    struct seed s;

    seed_init(&s);
    s.facts.site.isolation = "network";
    s.facts.site.interface = "eth0";
    s.facts.site.network = 0x0a4d0000; /* 10.77.0.0 */

    const struct plan *plan = seed_plan(&s);

    is_str(plan->replicas[WORKER_0].address, "10.77.0.2", "network: an address of its network");
    has(plan->hosts_file, "\n10.77.0.2 mpi-example-worker-0 worker-0\n", "network: in /etc/hosts");
    is_str(plan_reachable(&plan->replicas[WORKER_0]), "mpi-example-worker-0",
           "network: a replica is reached by its name");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_oob_tcp_if_include"), "eth0 (muster)",
           "network: mpirun is told the interface");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_btl_tcp_if_include"), "eth0 (muster)",
           "network: and so are ranks");
    has(seed_notes(&s), "note: isolation level `network`: the job has no route", "network: a note");

    ok(!strstr(seed_notes(&s), "gc_thresh3"), "network: few replicas know each other");
    s.roles[1].replicas = LIMIT_NEIGHBOURS;
    has(seed_notes(&s), "gc_thresh3=66049", "network: many may be too many for the kernel");

    struct err e;

    s.roles[1].replicas = LIMIT_NETWORK_REPLICAS;
    is_int(plan_build(s.arena, &s.spec, &s.facts, &plan, &e), -EINVAL,
           "network: more replicas than a bridge has ports");
    has(e.text, "limit of 1023 at isolation level `network`", "network: the limit is named");
    arena_free(s.arena);
}

static void test_none(void)
{
    struct seed s;

    seed_init(&s);
    s.facts.site.isolation = "none";
    s.facts.site.isolation_why = "`names` is not available: no";
    s.roles[1].res.shm = 64 << 20;

    const struct plan *plan = seed_plan(&s);

    is_str(plan_reachable(&plan->replicas[WORKER_0]), "127.1.0.2",
           "none: a replica is reached by its address");
    has(plan->hostfile, "127.1.0.2 slots=3\n", "none: so it is in Open MPI's hostfile");
    is_str(seed_env(&s, WORKER_1, "TMPDIR"), "/tmp/ID/worker-1 (muster)", "none: TMPDIR");
    is_str(seed_env(&s, WORKER_1, "OMPI_MCA_btl_vader_backing_directory"),
           "/tmp/ID/worker-1 (muster)", "none: shared memory of its own");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_orte_tmpdir_base"), NULL,
           "none: session directories are below TMPDIR");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_btl_vader_backing_directory"), NULL,
           "none: the launcher's would be handed on to all ranks");
    has(seed_notes(&s), "warning: using isolation level `none`: `names` is not available: no",
        "none: why");
    has(seed_notes(&s), "as far as they can be found", "none: what is not promised");
    has(seed_notes(&s), "worker: /dev/shm of", "none: /dev/shm is the machine's");
    s.facts.machine.mpi = MPI_HYDRA;
    has(seed_plan(&s)->hostfile, "mpi-example-worker-0:3\n", "none: Hydra's hostfile has names");
    arena_free(s.arena);
}

int main(void)
{
    test_names();
    test_network();
    test_none();
    return tap_done();
}
