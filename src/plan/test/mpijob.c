/* mpijob.c - what the pods of Kubeflow's MPIJobs find: hostfiles, scripts and variables as each
 * version's operator makes them. */
#include "plan/test/seed.h"

static const enum platform_kind names[] = {PLATFORM_MPIJOB_V1ALPHA2, PLATFORM_MPIJOB_V1,
                                           PLATFORM_MPIJOB_V2BETA1};

static void seed_mpijob(struct seed *s, enum platform_kind platform, const char *implementation)
{
    static const char *const argv[] = {"mpirun", "x", NULL};

    seed_init(s);
    s->spec.platform = platform_of(platform);
    s->spec.name = "pi";
    s->spec.mpi = NULL;
    s->spec.implementation = implementation;
    s->roles[0].argv = argv;
    s->roles[1].replicas = 2;
    s->roles[1].slots = 10;
}

static void test_hostfiles(void)
{
    static const struct {
        enum platform_kind platform;
        const char *implementation, *space, *want;
    } rows[] = {
        {PLATFORM_MPIJOB_V1ALPHA2, "OpenMPI", "a", "pi-worker-0 slots=10\npi-worker-1 slots=10\n"},
        {PLATFORM_MPIJOB_V1ALPHA2, "Intel", "a", "pi-worker-0:10\npi-worker-1:10\n"},
        {PLATFORM_MPIJOB_V1, "OpenMPI", NULL, "pi-worker-0 slots=10\npi-worker-1 slots=10\n"},
        {PLATFORM_MPIJOB_V2BETA1, "OpenMPI", "tenant-a",
         "pi-worker-0.pi.tenant-a.svc slots=10\npi-worker-1.pi.tenant-a.svc slots=10\n"},
        {PLATFORM_MPIJOB_V2BETA1, "MPICH", NULL,
         "pi-worker-0.pi.default.svc:10\npi-worker-1.pi.default.svc:10\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct seed s;

        seed_mpijob(&s, rows[i].platform, rows[i].implementation);
        s.spec.namespace_ = rows[i].space;
        is_str(seed_plan(&s)->operator_hostfile, rows[i].want, "%s, %s: its hostfile",
               platform_words[rows[i].platform], rows[i].implementation);
        arena_free(s.arena);
    }
}

static void test_discovery(void)
{
    struct seed s;

    seed_mpijob(&s, names[0], "OpenMPI");
    is_str(seed_plan(&s)->discover_hosts, NULL, "v1alpha2 has no script");
    arena_free(s.arena);
    seed_mpijob(&s, names[1], "OpenMPI");
    is_str(seed_plan(&s)->discover_hosts, "#!/bin/sh\necho pi-worker-0:10\necho pi-worker-1:10\n",
           "v1 tells slots");
    s.facts.site.isolation = "none";
    has(seed_plan(&s)->discover_hosts, "echo 127.1.0.2:10\n", "addresses where there are no names");
    arena_free(s.arena);

    seed_mpijob(&s, names[2], "OpenMPI");
    s.roles[1].replicas = 11;
    s.roles[0].hosts_ranks = true;
    s.roles[0].slots = 10;
    has(seed_plan(&s)->discover_hosts,
        "#!/bin/sh\necho pi-launcher.pi.default.svc\necho pi-worker-0.pi.default.svc\n"
        "echo pi-worker-1.pi.default.svc\necho pi-worker-10.pi.default.svc\n"
        "echo pi-worker-2.pi.default.svc\n",
        "v2beta1: the launcher, then by name");
    has(seed_plan(&s)->operator_hostfile,
        "pi-launcher.pi.default.svc slots=10\npi-worker-0.pi.default.svc slots=10\n"
        "pi-worker-1.pi.default.svc slots=10\npi-worker-2",
        "the hostfile by number");
    is_int(seed_plan(&s)->world, 120, "the launcher's ranks count");
    arena_free(s.arena);
}

static void test_names(void)
{
    struct seed s;

    seed_mpijob(&s, names[2], "OpenMPI");
    has(seed_plan(&s)->hosts_file, " pi-worker-1.pi.default.svc ", "the Service's name resolves");
    has(seed_plan(&s)->hosts_file, " pi-worker-1.pi ", "and its short form");
    arena_free(s.arena);
}

static void test_variables(void)
{
    static const char retries[] = "-o ConnectionAttempts=10 (dialect)";
    struct seed s;

    seed_mpijob(&s, names[2], "OpenMPI");
    is_str(seed_env(&s, 0, "K_MPI_JOB_ROLE"), "launcher (dialect)", "v2beta1: the role");
    is_str(seed_env(&s, 1, "K_MPI_JOB_ROLE"), "worker (dialect)", "of each");
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_keep_fqdn_hostnames"), "true (dialect)", "whole names");
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_set_default_slots"), "10 (dialect)", "slots");
    is_str(seed_env(&s, 0, "OMPI_MCA_plm_rsh_args"), retries, "retries");
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_default_hostfile"), "/run/ID/mpi/hostfile (dialect)",
           "the hostfile");
    is_str(seed_env(&s, 0, "NVIDIA_VISIBLE_DEVICES"), " (dialect)", "no devices for the launcher");
    is_str(seed_env(&s, 1, "NVIDIA_VISIBLE_DEVICES"), NULL, "workers have theirs");
    is_str(seed_env(&s, 1, "OMPI_MCA_orte_set_default_slots"), NULL, "and no launcher's variables");
    s.roles[0].hosts_ranks = true;
    is_str(seed_env(&s, 0, "NVIDIA_VISIBLE_DEVICES"), NULL, "nor one that is a worker too");
    s.spec.implementation = "MPICH";
    is_str(seed_env(&s, 0, "HYDRA_HOST_FILE"), "/run/ID/mpi/hostfile (dialect)", "MPICH's");
    is_str(seed_env(&s, 0, "HYDRA_LAUNCH_EXTRA_ARGS"), retries, "retries");
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_default_hostfile"), "/run/ID/hostfile (muster)",
           "what was found works as well");
    s.spec.implementation = "Intel";
    is_str(seed_env(&s, 0, "I_MPI_PERHOST"), "10 (dialect)", "Intel's");
    is_str(seed_env(&s, 0, "I_MPI_HYDRA_HOST_FILE"), "/run/ID/mpi/hostfile (dialect)", "hostfile");
    arena_free(s.arena);

    seed_mpijob(&s, names[1], "OpenMPI");
    is_str(seed_env(&s, 0, "I_MPI_HYDRA_BOOTSTRAP"), "rsh (dialect)", "v1: Intel's bootstrap");
    is_str(seed_env(&s, 0, "K_MPI_JOB_ROLE"), NULL, "no role");
    is_str(seed_env(&s, 0, "OMPI_MCA_plm_rsh_args"), NULL, "no ssh");
    arena_free(s.arena);

    seed_mpijob(&s, PLATFORM_T9K, NULL);
    ok(!seed_plan(&s)->operator_hostfile, "T9k's MPIJob has no such operator");
    arena_free(s.arena);
}

static void test_notes(void)
{
    struct seed s;

    seed_mpijob(&s, names[2], "MPICH");
    has(seed_notes(&s), "requires MPICH; using Open MPI 4", "another MPI is told");
    s.facts.machine.mpi = MPI_HYDRA;
    ok(!strstr(seed_notes(&s), "asks for"), "the right one is not");
    arena_free(s.arena);
}

int main(void)
{
    test_hostfiles();
    test_discovery();
    test_names();
    test_variables();
    test_notes();
    return tap_done();
}
