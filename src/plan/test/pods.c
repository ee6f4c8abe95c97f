/* pods.c - plans for a site that is not this machine: names resolve by Services, ports are as the
 * platform has them, references stay references, and nothing is said of this machine.
 */
#include "plan/test/seed.h"

static const char *const no_caller[] = {"PATH=/usr/bin", "HOME=/home/u", "OMP_NUM_THREADS=7",
                                        "USER=bob", NULL};

static const struct env_entry entries[] = {
    {.name = "TOKEN", .source = ENV_SECRET, .ref_name = "keys", .ref_key = "token"},
    {.name = "RATE", .source = ENV_CONFIG_MAP, .ref_name = "conf", .ref_key = "rate"},
    {.name = "IP", .source = ENV_FIELD, .ref_key = "status.podIP"},
    {.name = "CPUS", .source = ENV_RESOURCE, .ref_key = "limits.cpu"},
    {.name = "URL", .value = "http://$(IP)/$(RATE)?$$x"},
    {.name = "MUSTER_ROLE", .value = "mine"},
};
static const struct secret_value secrets[] = {
    {ENV_SECRET, "keys", "token", "sesame", 6, false},
    {ENV_CONFIG_MAP, "conf", "rate", "0.1", 3, false},
};
/* What only this machine has. */
static const char *const local[] = {"PATH",
                                    "HOME",
                                    "USER",
                                    "TMPDIR",
                                    "LD_LIBRARY_PATH",
                                    "MUSTER_RUN_DIR",
                                    "MUSTER_PEERS",
                                    "OMP_NUM_THREADS",
                                    "CUDA_VISIBLE_DEVICES",
                                    "HIVED_VISIBLE_DEVICES",
                                    "PAI_WORK_DIR",
                                    "GLOO_SOCKET_IFNAME",
                                    "NCCL_SOCKET_IFNAME",
                                    "OMPI_MCA_plm_rsh_agent",
                                    "OMPI_MCA_btl_tcp_if_include",
                                    "OMPI_MCA_mpi_yield_when_idle",
                                    "OMPI_MCA_orte_tmpdir_base",
                                    "VIRTUAL_ENV"};

static void move_to_pods(struct seed *s)
{
    int *numbers = ARENA_ARRAY(s->arena, int, spec_n_ports(&s->spec) + 1);
    static struct image_place images[] = {{.prefix = "/venv"}, {.prefix = "/venv"}};

    spec_own_ports(&s->spec, 30000, numbers);
    s->facts = (struct facts){
        .site = {.run_id = "ID",
                 .run_dir = "/muster/run",
                 .scratch_dir = "/muster/tmp",
                 .elsewhere = true,
                 .references = true,
                 .service = "pods-of-job",
                 .namespace_ = "there",
                 .ports = numbers,
                 .interface = "eth0",
                 .images = images},
        .caller = {.dir = "/here", .user = "ann", .env = no_caller},
        .given = {.secrets = secrets, .n_secrets = ARRAY_SIZE(secrets)},
        .machine = {.cpus = 1, .mpi = MPI_OPEN_MPI_4},
    };
    s->spec.namespace_ = "team";
}

static const struct env_value *variable(const struct env_value *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return &v[i];
    return NULL;
}

/* What holds for every process of every plan for pods. */
static void check_process(struct seed *s, const struct plan *plan, uint32_t process)
{
    const struct env_value *v;
    size_t n = plan_env(s->arena, plan, process, FIRST_START, false, &v), marked = 0, here = 0;

    for (size_t i = 0; i < n; i++) {
        marked += v[i].local || v[i].origin == ORIGIN_CALLER;
        here += strstr(v[i].value, "127.") || strstr(v[i].value, "/muster/tmp") ||
                strstr(v[i].value, "sesame");
    }
    is_int((long long)marked, 0, "process %u: no variable of this machine", process);
    is_int((long long)here, 0, "process %u: no address or path of it, and no secret", process);
    for (size_t i = 0; i < ARRAY_SIZE(local); i++)
        ok(!variable(v, n, local[i]), "process %u: no %s", process, local[i]);
}

static void check_references(struct seed *s, const struct plan *plan, uint32_t process)
{
    const struct env_value *v;
    size_t n = plan_env(s->arena, plan, process, FIRST_START, false, &v);

    for (size_t i = 0; i < 4; i++) {
        const struct env_value *e = variable(v, n, entries[i].name);

        ok(e && e->reference == &entries[i] && !*e->value && e->origin == ORIGIN_JOB,
           "%s stays a reference", entries[i].name);
    }
    is_str(variable(v, n, "URL")->value, "http://$(IP)/$(RATE)?$$x",
           "texts are left to the kubelet");
    ok(variable(v, n, "URL")->expands, "and marked so");
    ok(!variable(v, n, "MUSTER_ROLE")->expands &&
           strcmp(variable(v, n, "MUSTER_ROLE")->value, "mine") != 0,
       "what tells a process where it is, nobody changes");
}

/* --- Kubeflow --------------------------------------------------------------------------------- */

static void test_pytorchjob(void)
{
    static const struct port_request master_port[] = {
        {.label = "MASTER_PORT", .count = 1, .usual = 23456, .first_only = true}};
    static const char *const argv[] = {"python", "train.py", "--ip=$(IP)", NULL};
    const struct plan *plan;
    struct seed s;

    seed_other(&s, PLATFORM_PYTORCHJOB, FRAMEWORK_PYTORCH, NULL);
    s.spec.n_roles = 2;
    s.spec.nproc = "auto";
    s.roles[0].name = "master";
    s.roles[0].replicas = 1;
    s.roles[0].ports = master_port;
    s.roles[0].n_ports = 1;
    for (size_t i = 0; i < 2; i++) {
        s.roles[i].argv = argv;
        s.roles[i].expand_argv = true;
        s.roles[i].env = entries;
        s.roles[i].n_env = ARRAY_SIZE(entries);
        s.roles[i].res.gpu = 1;
    }
    s.roles[1].workdir = "/src";
    move_to_pods(&s);
    plan = seed_plan(&s);
    is_str(plan->replicas[2].host, "job-worker-1", "PyTorchJob: its host names");
    is_str(plan_service(s.arena, plan, &plan->replicas[2]), "job-worker-1.pods-of-job.there.svc",
           "it is behind the Service of the run");
    is_str(seed_env(&s, 2, "MASTER_ADDR"), "job-master-0 (framework)", "by which others reach it");
    is_str(seed_env(&s, 2, "MASTER_PORT"), "23456 (framework)", "at the operator's port");
    is_str(seed_env(&s, 2, "PET_NODE_RANK"), "2 (framework)", "torchrun's variables");
    is_str(seed_env(&s, 0, "PYTHONUNBUFFERED"), "1 (framework)", "defaults that hold anywhere");
    is_str(seed_exec(&s, 1), "<python><train.py><--ip=$(IP)>", "the command as it is written");
    is_str(plan_workdir(s.arena, plan, &plan->replicas[1]), "/src",
           "the directory of the container");
    ok(!plan_workdir(s.arena, plan, &plan->replicas[0]), "or of its image");
    ok(!plan->hosts_file, "no file has to tell names");
    for (uint32_t i = 0; i < plan->n_processes; i++)
        check_process(&s, plan, i);
    check_references(&s, plan, 1);
    arena_free(s.arena);
}

/* --- OpenPAI ---------------------------------------------------------------------------------- */

static void test_openpai(void)
{
    const struct plan *plan;
    struct seed s;

    seed_openpai(&s, 2, "python train.py $PAI_HOST_IP_worker_0");
    s.roles[0].env = entries;
    s.roles[0].n_env = ARRAY_SIZE(entries);
    s.roles[0].res.gpu = 2;
    move_to_pods(&s);
    plan = seed_plan(&s);
    is_str(plan->replicas[1].host, "worker-1", "OpenPAI: its host names");
    is_str(plan->replicas[1].address, "worker-1.pods-of-job.there.svc",
           "behind the Service that the site has for all");
    ok(!plan->replicas[1].named, "a bare name would not resolve");
    is_str(seed_env(&s, 1, "PAI_HOST_IP_worker_0"), "worker-0.pods-of-job.there.svc (dialect)",
           "an address is that name");
    is_str(seed_env(&s, 1, "PAI_CONTAINER_HOST_SynPort_PORT_LIST"), "30000,30001 (dialect)",
           "ports that need not be shared");
    is_str(seed_env(&s, 0, "PAI_CONTAINER_HOST_SynPort_PORT_LIST"), "30000,30001 (dialect)",
           "are the same in every pod");
    is_str(seed_env(&s, 0, "PAI_CONTAINER_SSH_PORT"), "30002 (dialect)", "and not in one");
    is_str(seed_env(&s, 0, "PAI_JOB_NAME"), "ann~job (dialect)", "the user is the caller");
    ok(!seed_env(&s, 0, "NVIDIA_VISIBLE_DEVICES"), "devices are the cluster's to deal out");
    for (uint32_t i = 0; i < plan->n_processes; i++)
        check_process(&s, plan, i);
    check_references(&s, plan, 0);
    arena_free(s.arena);
}

/* --- MPIJob ----------------------------------------------------------------------------------- */

static void test_mpijob(void)
{
    static const struct mount operator_files[] = {
        {.source = VOLUME_OPERATOR, .volume = "mpi", .path = "/etc/mpi"}};
    static const char *const argv[] = {"mpirun", "x", NULL};
    const struct plan *plan;
    struct seed s;

    seed_init(&s);
    s.spec.platform = platform_of(PLATFORM_MPIJOB_V2BETA1);
    s.spec.mpi = NULL;
    s.roles[0].argv = argv;
    s.roles[0].mounts = operator_files;
    s.roles[0].n_mounts = 1;
    move_to_pods(&s);
    plan = seed_plan(&s);
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_default_hostfile"), "/etc/mpi/hostfile (dialect)",
           "MPIJob: the hostfile where the operator mounts it");
    has(plan->operator_hostfile, "mpi-example-worker-1.pods-of-job.there.svc slots=3",
        "by names that resolve there");
    for (uint32_t i = 0; i < plan->n_processes; i++)
        check_process(&s, plan, i);
    arena_free(s.arena);
}

/* --- here ------------------------------------------------------------------------------------- */

/* The same jobs on this machine: values, and what is of this machine is marked. */
static void test_here(void)
{
    static const char *const marked[] = {
        "PATH", "HOME", "MUSTER_RUN_DIR", "MUSTER_PEERS", "OMP_NUM_THREADS", "PAI_WORK_DIR"};
    const struct env_value *v;
    const struct plan *plan;
    struct seed s;
    size_t n;

    seed_openpai(&s, 2, "python train.py");
    s.roles[0].env = entries;
    s.roles[0].n_env = ARRAY_SIZE(entries);
    s.facts.given.secrets = secrets;
    s.facts.given.n_secrets = ARRAY_SIZE(secrets);
    plan = seed_plan(&s);
    n = plan_env(s.arena, plan, 0, FIRST_START, false, &v);
    is_str(variable(v, n, "TOKEN")->value, "sesame", "here: a secret has its value");
    is_str(variable(v, n, "URL")->value, "http://127.1.0.1/0.1?$x", "and texts are expanded");
    ok(!variable(v, n, "URL")->expands && !variable(v, n, "TOKEN")->reference, "nothing is left");
    for (size_t i = 0; i < ARRAY_SIZE(marked); i++)
        ok(variable(v, n, marked[i]) && variable(v, n, marked[i])->local, "%s is marked",
           marked[i]);
    ok(!variable(v, n, "PAI_JOB_NAME")->local && !variable(v, n, "TOKEN")->local,
       "what holds anywhere is not");
    arena_free(s.arena);
}

int main(void)
{
    test_pytorchjob();
    test_openpai();
    test_mpijob();
    test_here();
    return tap_done();
}
