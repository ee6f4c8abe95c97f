/* env.c - whose value a process sees: origins, overriding, and a kubelet's references. */
#include "plan/test/seed.h"

enum { LAUNCHER = 0, WORKER_1 = 2 }; /* processes of the example */

static void test_origins(void)
{
    struct seed s;

    seed_init(&s);
    is_str(seed_env(&s, WORKER_1, "MUSTER_JOB"), "mpi-example (muster)", "job");
    is_str(seed_env(&s, WORKER_1, "MUSTER_ROLE"), "worker (muster)", "role");
    is_str(seed_env(&s, WORKER_1, "MUSTER_INDEX"), "1 (muster)", "index");
    is_str(seed_env(&s, WORKER_1, "MUSTER_HOST"), "mpi-example-worker-1 (muster)", "host");
    is_str(seed_env(&s, WORKER_1, "MUSTER_ATTEMPT"), "1 (muster)", "attempt");
    is_str(seed_env(&s, WORKER_1, "MUSTER_PEERS"), "/run/ID/peers.json (muster)", "peers");
    is_str(seed_env(&s, WORKER_1, "HOME"), "/home/u (caller)", "the stated part of the caller's");
    is_str(seed_env(&s, WORKER_1, "SECRET"), NULL, "and nothing else of it");
    is_str(seed_env(&s, LAUNCHER, "PATH"), "/tmp/ID/bin:/usr/local/bin:/usr/bin:/bin (muster)",
           "PATH");
    is_str(seed_env(&s, LAUNCHER, "LD_LIBRARY_PATH"), " (muster)", "set, even if empty");
    arena_free(s.arena);
}

static void test_defaults(void)
{
    struct seed s;

    seed_init(&s);
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_plm_rsh_agent"), "/tmp/ID/bin/ssh (muster)", "agent");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_orte_fork_agent"), "/tmp/ID/bin/muster-rank (muster)",
           "wrapper");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_orte_tmpdir_base"), "/tmp/ID (muster)", "sessions");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_mpi_yield_when_idle"), "1 (muster)", "15 > 2: yield");
    is_str(seed_env(&s, LAUNCHER, "OMPI_ALLOW_RUN_AS_ROOT"), "1 (muster)", "root");
    is_str(seed_env(&s, LAUNCHER, "HYDRA_IFACE"), NULL, "nothing of Hydra's interface");
    is_str(seed_env(&s, LAUNCHER, "HYDRA_HOST_FILE"), "/run/ID/hostfile.hydra (muster)",
           "0.18: a Hydra would find its hostfile");
    is_str(seed_env(&s, LAUNCHER, "I_MPI_HYDRA_HOST_FILE"), "/run/ID/hostfile.hydra (muster)",
           "3.3: so would Intel's");
    has(seed_plan(&s)->other_hostfile, "mpi-example-worker-0:3\n", "0.2: in its own format");
    s.facts.machine.root = false;
    s.facts.machine.cpus = 15;
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_mpi_yield_when_idle"), NULL, "enough cores");
    is_str(seed_env(&s, LAUNCHER, "OMPI_ALLOW_RUN_AS_ROOT"), NULL, "not root");
    s.facts.machine.mpi = MPI_HYDRA;
    is_str(seed_env(&s, LAUNCHER, "HYDRA_HOST_FILE"), "/run/ID/hostfile (muster)", "Hydra's");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_orte_default_hostfile"),
           "/run/ID/hostfile.openmpi (muster)", "0.18: Open MPI would find its own too");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_orte_fork_agent"), NULL, "nothing else of Open MPI");
    s.facts.machine.mpi = MPI_OPEN_MPI_5;
    is_str(seed_env(&s, LAUNCHER, "PRTE_MCA_prte_fork_agent"), "/tmp/ID/bin/muster-rank (muster)",
           "Open MPI 5's");
    arena_free(s.arena);
}

static void test_overriding(void)
{
    static const char *const caller[] = {"OMPI_MCA_oob_tcp_if_include=eth0",
                                         "CONDA_PREFIX=/c",
                                         "OMPI_MCA_unknown=1",
                                         "PATH=/p",
                                         "https_proxy=x",
                                         NULL};
    static const struct env_entry job[] = {
        {.name = "OMPI_MCA_oob_tcp_if_include", .value = "eth1"},
        {.name = "MUSTER_JOB", .value = "mine"},
        {.name = "MUSTER_OTHER", .value = "mine"},
        {.name = "PATH", .value = "/job/bin"},
    };
    static const char *const args[] = {
        "--mca", "odls_base_num_threads", "4", "-mca", "btl_tcp_if_exclude", "eth9", NULL};
    struct seed s;

    seed_init(&s);
    s.facts.caller.env = caller;
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_oob_tcp_if_include"), "eth0 (caller)",
           "the caller wins over a default");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_unknown"), NULL, "only where there is a default");
    is_str(seed_env(&s, LAUNCHER, "CONDA_PREFIX"), "/c (caller)", "a pattern of the stated list");
    is_str(seed_env(&s, LAUNCHER, "https_proxy"), "x (caller)", "a proxy");
    s.roles[0].env = job;
    s.roles[0].n_env = ARRAY_SIZE(job);
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_oob_tcp_if_include"), "eth1 (job)",
           "the job wins over both");
    is_str(seed_env(&s, LAUNCHER, "MUSTER_JOB"), "mpi-example (muster)", "but not over our names");
    is_str(seed_env(&s, LAUNCHER, "MUSTER_OTHER"), "mine (job)", "others of the kind are its own");
    is_str(seed_env(&s, LAUNCHER, "PATH"), "/tmp/ID/bin:/usr/local/bin:/job/bin (job)", "PATH");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_btl_tcp_if_include"), "lo (muster)", "loopback");
    s.mpi.extra_args = args;
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_odls_base_num_threads"), NULL,
           "a parameter of the command line is left to it");
    is_str(seed_env(&s, LAUNCHER, "OMPI_MCA_btl_tcp_if_include"), NULL,
           "no include list beside an exclude list");
    arena_free(s.arena);
}

static void test_references(void)
{
    static const struct env_entry job[] = {
        {.name = "A", .value = "1"},
        {.name = "B", .value = "$(A)-$(LATER)-$$(A)-$A-$(open-$"},
        {.name = "LATER", .value = "2"},
        {.name = "WHO", .value = "$(MUSTER_INDEX)$(HOME)"},
        {.name = "POD", .source = ENV_FIELD, .ref_key = "metadata.name"},
        {.name = "IP", .source = ENV_FIELD, .ref_key = "status.podIP"},
        {.name = "NS", .source = ENV_FIELD, .ref_key = "metadata.namespace"},
        {.name = "ODD", .source = ENV_FIELD, .ref_key = "status.odd"},
        {.name = "CPU", .source = ENV_RESOURCE, .ref_key = "limits.cpu"},
        {.name = "MILLI", .source = ENV_RESOURCE, .ref_key = "limits.cpu", .ref_name = "1m"},
        {.name = "MI", .source = ENV_RESOURCE, .ref_key = "limits.memory", .ref_name = "1Mi"},
        {.name = "CPUS", .source = ENV_RESOURCE, .ref_key = "requests.cpu", .ref_name = "1m"},
        {.name = "UID", .source = ENV_FIELD, .ref_key = "metadata.uid"},
        {.name = "ACCOUNT", .source = ENV_FIELD, .ref_key = "spec.serviceAccountName"},
        {.name = "KEY", .source = ENV_SECRET, .ref_name = "s", .ref_key = "k"},
        {.name = "MAP", .source = ENV_CONFIG_MAP, .ref_name = "m", .ref_key = "k"},
    };
    struct seed s;

    seed_init(&s);
    s.roles[1].env = job;
    s.roles[1].n_env = ARRAY_SIZE(job);
    s.roles[1].res.cpu_limit_milli = 100;
    s.roles[1].res.memory_limit = (INT64_C(64) << 20) + 1;
    is_str(seed_env(&s, WORKER_1, "B"), "1-$(LATER)-$(A)-$A-$(open-$ (job)", "references");
    is_str(seed_env(&s, WORKER_1, "WHO"), "1$(HOME) (job)", "to Muster's names, not the caller's");
    is_str(seed_env(&s, WORKER_1, "POD"), "mpi-example-worker-1 (job)", "metadata.name");
    is_str(seed_env(&s, WORKER_1, "IP"), "127.1.0.3 (job)", "status.podIP");
    is_str(seed_env(&s, WORKER_1, "NS"), "default (job)", "metadata.namespace");
    is_str(seed_env(&s, WORKER_1, "ODD"), " (job)", "an unknown field is empty");
    has(seed_notes(&s), "warning: ODD refers to status.odd, which is not available locally",
        "and told");
    is_str(seed_env(&s, WORKER_1, "CPU"), "1 (job)", "a tenth of a core, rounded up");
    is_str(seed_env(&s, WORKER_1, "MILLI"), "100 (job)", "with a divisor");
    is_str(seed_env(&s, WORKER_1, "MI"), "65 (job)", "memory, rounded up");
    is_str(seed_env(&s, WORKER_1, "CPUS"), "100 (job)", "a request that is not said: the limit");
    is_str(seed_env(&s, WORKER_1, "UID"), "ID-worker-1 (job)", "metadata.uid: each its own");
    is_str(seed_env(&s, WORKER_1, "ACCOUNT"), "default (job)", "spec.serviceAccountName");
    s.roles[1].res.cpu_limit_milli = QUANTITY_UNSET;
    is_str(seed_env(&s, WORKER_1, "CPU"), "2 (job)", "no limit: the machine");
    is_str(seed_env(&s, WORKER_1, "CPUS"), "0 (job)", "and no request: nothing");
    is_str(seed_env(&s, WORKER_1, "KEY"), "*** (job)", "a secret is masked");
    is_str(seed_env(&s, WORKER_1, "MAP"), NULL, "a config map is not there");
    arena_free(s.arena);
}

/* The value of a variable as the process itself sees it, or NULL. */
static const char *unmasked(struct seed *s, const char *name)
{
    const struct env_value *v;
    size_t n = plan_env(s->arena, seed_plan(s), WORKER_1, FIRST_START, false, &v);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return v[i].value;
    return NULL;
}

static void test_secrets(void)
{
    static const struct env_entry from[] = {
        {.name = "P_", .source = ENV_SECRET, .ref_name = "s"},
        {.name = "", .source = ENV_CONFIG_MAP, .ref_name = "m"},
        {.name = "", .source = ENV_SECRET, .ref_name = "nowhere"},
    };
    static const struct env_entry job[] = {
        {.name = "KEY", .source = ENV_SECRET, .ref_name = "s", .ref_key = "k"},
        {.name = "USES", .value = "<$(KEY)>"},
        {.name = "MAP", .source = ENV_CONFIG_MAP, .ref_name = "m", .ref_key = "c"},
        {.name = "c", .value = "mine"},
        {.name = "GONE", .source = ENV_SECRET, .ref_name = "s", .ref_key = "none"},
        {.name = "MAY", .source = ENV_SECRET, .ref_name = "t", .ref_key = "k", .optional = true},
    };
    static const struct secret_value given[] = {
        {.source = ENV_SECRET, .name = "s", .key = "k", .value = "s3cret"},
        {.source = ENV_SECRET, .name = "s", .key = "no name", .value = "s3cret"},
        {.source = ENV_CONFIG_MAP, .name = "m", .key = "c", .value = "conf"},
        {.source = ENV_CONFIG_MAP, .name = "m", .key = "d", .value = "ig"},
        {.source = ENV_CONFIG_MAP, .name = "m", .key = "MUSTER_JOB", .value = "x"},
    };
    struct seed s;

    seed_init(&s);
    s.roles[1].env = job;
    s.roles[1].n_env = ARRAY_SIZE(job);
    s.roles[1].env_from = from;
    s.roles[1].n_env_from = ARRAY_SIZE(from);
    s.facts.given.secrets = given;
    s.facts.given.n_secrets = ARRAY_SIZE(given);
    is_str(unmasked(&s, "KEY"), "s3cret", "4.20: a secret's value");
    is_str(seed_env(&s, WORKER_1, "KEY"), "*** (job)", "4.20: is masked where it is shown");
    is_str(unmasked(&s, "USES"), "<s3cret>", "4.20: a reference to it");
    is_str(seed_env(&s, WORKER_1, "USES"), "<***> (job)", "4.20: is masked too");
    is_str(seed_env(&s, WORKER_1, "MAP"), "conf (job)", "4.21: a config map's value is shown");
    is_str(seed_env(&s, WORKER_1, "P_k"), "*** (job)", "4.21: envFrom with its prefix");
    is_str(unmasked(&s, "P_k"), "s3cret", "4.21: and its value");
    is_str(unmasked(&s, "P_no name"), NULL, "4.21: a key that is no name is left out");
    is_str(seed_env(&s, WORKER_1, "d"), "ig (job)", "4.21: a whole config map");
    is_str(seed_env(&s, WORKER_1, "c"), "mine (job)", "4.21: env wins over envFrom");
    is_str(seed_env(&s, WORKER_1, "MUSTER_JOB"), "mpi-example (muster)", "our names stay ours");
    is_str(unmasked(&s, "GONE"), NULL, "4.20: what is missing is not there");
    is_str(seed_env(&s, WORKER_1, "MAY"), NULL, "4.20: nor what may be missing");
    has(seed_notes(&s),
        "warning: GONE refers to the secret s, key none, which is not available locally; use "
        "--secrets "
        "DIR with the file DIR/s/none\n",
        "4.20: the warning names secret, key and option");
    has(seed_notes(&s),
        "warning: envFrom refers to the secret nowhere, which is not available locally",
        "4.21: a whole one that is missing");
    ok(!strstr(seed_notes(&s), "MAY comes") && !strstr(seed_notes(&s), "KEY comes") &&
           !strstr(seed_notes(&s), "MAP comes") && !strstr(seed_notes(&s), "s3cret"),
       "4.20: nothing of what is there, or need not be");
    arena_free(s.arena);
}

static void test_callers(void)
{
    static const char *const caller[] = {"PATH=/p",   "HOME=/h",      "PYTHONPATH=/y",
                                         "AWS_KEY=a", "AWS_ID=b",     "OTHER=c",
                                         "=x",        "MUSTER_JOB=z", "OMPI_MCA_plm_rsh_agent=q",
                                         NULL};
    static const char *const patterns[] = {"AWS_*", "O?HER", "MUSTER_*", NULL};
    struct seed s;

    seed_init(&s);
    s.facts.caller.env = caller;
    is_str(seed_env(&s, WORKER_1, "PYTHONPATH"), "/y (caller)", "4.21: the stated list");
    is_str(seed_env(&s, WORKER_1, "AWS_KEY"), NULL, "4.21: and nothing else");
    is_str(seed_env(&s, WORKER_1, "OMPI_MCA_plm_rsh_agent"), "q (caller)", "4.21: and defaults");
    s.facts.caller.inherit_env = patterns;
    is_str(seed_env(&s, WORKER_1, "AWS_KEY"), "a (caller)", "4.21: --inherit-env AWS_*");
    is_str(seed_env(&s, WORKER_1, "OTHER"), "c (caller)", "4.21: --inherit-env O?HER");
    is_str(seed_env(&s, WORKER_1, "MUSTER_JOB"), "mpi-example (muster)", "4.21: not our names");
    s.facts.caller.clean_env = true;
    is_str(seed_env(&s, WORKER_1, "HOME"), "/h (caller)", "4.21: --clean-env keeps the place");
    is_str(seed_env(&s, WORKER_1, "PYTHONPATH"), NULL, "4.21: and drops the rest");
    is_str(seed_env(&s, WORKER_1, "AWS_ID"), "b (caller)", "4.21: but for what is asked for");
    is_str(seed_env(&s, WORKER_1, "OMPI_MCA_plm_rsh_agent"), "/tmp/ID/bin/ssh (muster)",
           "4.21: defaults are Muster's then");
    arena_free(s.arena);
}

int main(void)
{
    test_origins();
    test_defaults();
    test_overriding();
    test_references();
    test_secrets();
    test_callers();
    return tap_done();
}
