/* families.c - what each framework's and each platform's programs find in their environment. */
#include "plan/test/seed.h"

/* --- PyTorch ------------------------------------------------------------------------------------
 */

static const struct port_request master_port = {
    .label = "MASTER_PORT", .count = 1, .usual = 29500, .first_only = true};
static const struct port_request tf_port = {.label = "TF_CONFIG", .count = 1, .usual = 2222};

static void seed_torch(struct seed *s)
{
    seed_other(s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_PYTORCH, "python train.py");
    s->roles[0].replicas = 4;
    s->roles[0].ports = &master_port;
    s->roles[0].n_ports = 1;
}

static void test_torch(void)
{
    struct seed s;

    seed_torch(&s);
    is_str(seed_env(&s, 3, "MASTER_ADDR"), "worker-0 (framework)", "0.22: MASTER_ADDR");
    is_str(seed_env(&s, 3, "MASTER_PORT"), "20000 (framework)", "0.22: MASTER_PORT is reserved");
    is_str(seed_env(&s, 3, "NODE_RANK"), "3 (framework)", "0.22: NODE_RANK");
    is_str(seed_env(&s, 3, "WORLD_SIZE"), "4 (framework)", "0.23: WORLD_SIZE is the nodes");
    is_str(seed_env(&s, 3, "RANK"), "3 (framework)", "0.23: RANK is NODE_RANK");
    is_str(seed_env(&s, 3, "LOCAL_RANK"), "0 (framework)", "0.23: LOCAL_RANK");
    is_str(seed_env(&s, 3, "TF_CONFIG"), NULL, "0.23: nothing of TensorFlow");
    is_int(seed_plan(&s)->processes[3].rank, -1, "0.21: a node is no rank of its own");
    s.roles[0].slots = 2;
    is_str(seed_env(&s, 5, "RANK"), "5 (framework)", "0.25: two processes each: RANK");
    is_str(seed_env(&s, 5, "LOCAL_RANK"), "1 (framework)", "0.25: LOCAL_RANK");
    is_str(seed_env(&s, 5, "NODE_RANK"), "2 (framework)", "0.25: NODE_RANK");
    is_str(seed_env(&s, 5, "WORLD_SIZE"), "8 (framework)", "0.25: WORLD_SIZE");
    s.facts.site.isolation = "none";
    is_str(seed_env(&s, 5, "MASTER_ADDR"), "127.1.0.1 (framework)",
           "0.22: an address where names do not resolve");
    arena_free(s.arena);
}

/* --- TensorFlow ---------------------------------------------------------------------------------
 */

static void test_tensorflow(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_TENSORFLOW, "python train.py");
    s.roles[0].ports = s.roles[1].ports = &tf_port;
    s.roles[0].n_ports = s.roles[1].n_ports = 1;
    s.roles[0].replicas = 4;
    is_str(seed_env(&s, 0, "TF_CONFIG"),
           "{\"cluster\":{\"worker\":[\"worker-0:20000\",\"worker-1:20001\",\"worker-2:20002\","
           "\"worker-3:20003\"]},\"task\":{\"type\":\"worker\",\"index\":0},"
           "\"environment\":\"cloud\"} (framework)",
           "0.28: TF_CONFIG of the multi-worker example; 0.26: only workers");
    s.roles[1].name = "parameter_server";
    s.spec.n_roles = 2;
    is_str(seed_env(&s, 5, "TF_CONFIG"),
           "{\"cluster\":{\"ps\":[\"parameter-server-0:20004\",\"parameter-server-1:20005\"],"
           "\"worker\":[\"worker-0:20000\",\"worker-1:20001\",\"worker-2:20002\","
           "\"worker-3:20003\"]},\"task\":{\"type\":\"ps\",\"index\":1},"
           "\"environment\":\"cloud\"} (framework)",
           "0.28: TF_CONFIG of the parameter server example; 0.27: ps, no chief; 0.29: six tasks");
    is_str(seed_env(&s, 0, "AZ_BATCHAI_PS_HOSTS"), "127.1.0.5:20004,127.1.0.6:20005 (dialect)",
           "0.27: Batch AI's names too");
    is_str(seed_env(&s, 5, "AZ_BATCHAI_TASK_INDEX"), "1 (dialect)", "0.27: its task");
    is_str(seed_env(&s, 0, "RANK"), NULL, "0.28: nothing of PyTorch");
    s.facts.site.isolation = "none";
    has(seed_env(&s, 5, "TF_CONFIG"), "\"ps\":[\"127.1.0.5:20004\"",
        "0.28: addresses where names do not resolve");
    arena_free(s.arena);
}

static void test_evaluator(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_TFJOB, FRAMEWORK_TENSORFLOW, "python train.py");
    s.roles[0].ports = s.roles[1].ports = &tf_port;
    s.roles[0].n_ports = s.roles[1].n_ports = 1;
    s.roles[0].replicas = s.roles[1].replicas = 1;
    s.roles[0].name = "evaluator";
    s.roles[1].name = "chief";
    s.spec.n_roles = 2;
    is_str(seed_env(&s, 0, "TF_CONFIG"),
           "{\"cluster\":{\"chief\":[\"job-chief-0.default.svc:20001\"]},"
           "\"task\":{\"type\":\"evaluator\",\"index\":0},\"environment\":\"cloud\"} (framework)",
           "an evaluator is a task outside of the cluster");
    arena_free(s.arena);
}

/* --- Kubeflow -----------------------------------------------------------------------------------
 */

static const struct port_request rdzv_port = {
    .label = "RDZV_PORT", .count = 1, .usual = 23456, .first_only = true};

/* A master, beside it or alone workers; nproc is NULL in the old form. */
static void seed_pytorchjob(struct seed *s, const char *nproc, bool master)
{
    struct role *worker = &s->roles[master ? 1 : 0];

    seed_other(s, PLATFORM_PYTORCHJOB, FRAMEWORK_PYTORCH, "python train.py");
    s->spec.nproc = nproc;
    s->spec.n_roles = master ? 2 : 1;
    if (master)
        s->roles[0] = (struct role){.name = "master",
                                    .replicas = 1,
                                    .slots = 1,
                                    .shell = "python train.py",
                                    .ports = &master_port,
                                    .n_ports = 1,
                                    .res = RESOURCES_UNSET};
    worker->replicas = 3;
    for (size_t i = 0; i < 2; i++) {
        s->roles[i].slots_kind = nproc ? SLOTS_AUTO : SLOTS_NUMBER;
        s->roles[i].own_slots = nproc;
    }
}

/* All that torch and torchrun read, as one line. */
static const char *torch_env(struct seed *s, uint32_t process)
{
    static const char *const names[] = {
        "MASTER_ADDR",      "MASTER_PORT",      "WORLD_SIZE",         "RANK",
        "LOCAL_RANK",       "PYTHONUNBUFFERED", "PET_MASTER_ADDR",    "PET_MASTER_PORT",
        "PET_NODE_RANK",    "PET_NNODES",       "PET_NPROC_PER_NODE", "PET_RDZV_ENDPOINT",
        "PET_RDZV_BACKEND", "PET_RDZV_ID",      "PET_RDZV_CONF",      "PET_MAX_RESTARTS",
        "PET_STANDALONE"};
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = seed_env(s, process, names[i]);

        if (value)
            strbuf_addf(&sb, "%s%s=%.*s", sb.len ? " " : "", names[i], (int)strcspn(value, " "),
                        value);
    }
    return arena_strndup(s->arena, sb.buf, sb.len);
}

static void test_pytorchjob(void)
{
    struct seed s;

    seed_pytorchjob(&s, "auto", true);
    is_str(torch_env(&s, 0),
           "MASTER_ADDR=job-master-0 MASTER_PORT=20000 WORLD_SIZE=4 RANK=0 PYTHONUNBUFFERED=1 "
           "PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=20000 PET_NODE_RANK=0 PET_NNODES=4 "
           "PET_NPROC_PER_NODE=auto",
           "kubeflow 3.2: the master of a PyTorchJob");
    has(torch_env(&s, 3), "RANK=3", "kubeflow 3.2: workers count from 1");
    has(torch_env(&s, 3), "PET_NODE_RANK=3", "kubeflow 3.2: also as nodes");
    for (size_t i = 0; i < 2; i++) {
        s.roles[i].slots_kind = SLOTS_NUMBER;
        s.roles[i].slots = 2;
    }
    has(torch_env(&s, 1), "WORLD_SIZE=8 RANK=1",
        "kubeflow 3.2: ranks of nodes, a world of processes");
    has(torch_env(&s, 1), "PET_NPROC_PER_NODE=2", "kubeflow 3.2: nprocPerNode");
    is_int(seed_plan(&s)->n_processes, 4, "torchrun starts the others");
    is_str(seed_plan(&s)->processes[1].log, "worker-0.log", "so there is one log for each node");
    has(seed_plan(&s)->hosts_file,
        "127.1.0.2 job-worker-0 worker-0 job-worker-0.default.svc job-worker-0.default "
        "job-worker-0.default.svc.cluster.local\n",
        "kubeflow 3.1: replicas have the names of their Services");
    s.facts.site.isolation = "none";
    has(torch_env(&s, 1), "MASTER_ADDR=127.1.0.1", "an address where names do not resolve");
    arena_free(s.arena);

    seed_pytorchjob(&s, NULL, true);
    is_str(torch_env(&s, 0),
           "MASTER_ADDR=localhost MASTER_PORT=20000 WORLD_SIZE=4 RANK=0 PYTHONUNBUFFERED=0",
           "kubeflow 3.2: the old operator");
    has(torch_env(&s, 1), "MASTER_ADDR=job-master-0", "kubeflow 3.2: and its workers");
    arena_free(s.arena);

    seed_pytorchjob(&s, "auto", false);
    is_str(torch_env(&s, 1), "PYTHONUNBUFFERED=1 PET_NNODES=3 PET_NPROC_PER_NODE=auto",
           "kubeflow 3.2: no master, no rank");
    arena_free(s.arena);
}

static void test_torchrun(void)
{
    struct elastic_spec e = {
        .min_replicas = -1, .max_replicas = 4, .max_restarts = 2, .n_proc = -1, .port = -1};
    struct seed s;

    seed_pytorchjob(&s, "gpu", false);
    s.spec.platform = platform_of(PLATFORM_MUSTER);
    s.roles[0].ports = &master_port;
    s.roles[0].n_ports = 1;
    is_str(torch_env(&s, 2),
           "MASTER_ADDR=worker-0 MASTER_PORT=20000 WORLD_SIZE=3 RANK=2 LOCAL_RANK=0 "
           "PYTHONUNBUFFERED=1 "
           "PET_MASTER_ADDR=worker-0 PET_MASTER_PORT=20000 PET_NODE_RANK=2 PET_NNODES=3 "
           "PET_NPROC_PER_NODE=gpu",
           "muster/v1: torchrun is told what a command line would say");
    s.spec.elastic = &e;
    ok(strstr(torch_env(&s, 2),
              "PET_NNODES=3:4 PET_NPROC_PER_NODE=gpu PET_RDZV_ENDPOINT=worker-0:20000 "
              "PET_RDZV_BACKEND=c10d PET_MAX_RESTARTS=2"),
       "and of its rendezvous");
    s.roles[0].own_slots = false;
    ok(!strstr(torch_env(&s, 2), "PET_"), "a command that is a process itself needs none of it");
    arena_free(s.arena);
}

static void test_elastic(void)
{
    static const char *const conf[] = {"timeout=60", "x=y", NULL};
    struct elastic_spec e = {
        .min_replicas = 1, .max_replicas = 4, .max_restarts = -1, .port = -1, .backend = "c10d"};
    struct seed s;

    seed_pytorchjob(&s, "auto", false);
    s.spec.elastic = &e;
    s.roles[0].ports = &rdzv_port;
    s.roles[0].n_ports = 1;
    is_str(torch_env(&s, 1),
           "PYTHONUNBUFFERED=1 PET_NNODES=1:4 PET_NPROC_PER_NODE=auto "
           "PET_RDZV_ENDPOINT=job-worker-0:20000 PET_RDZV_BACKEND=c10d",
           "kubeflow 3.2: an elastic job meets at worker 0");
    e = (struct elastic_spec){.min_replicas = 2,
                              .max_replicas = 3,
                              .max_restarts = 100,
                              .port = 2379,
                              .backend = "etcd",
                              .host = "etcd",
                              .id = "id",
                              .conf = conf,
                              .standalone = true};
    s.roles[0].n_ports = 0;
    is_str(torch_env(&s, 1),
           "PYTHONUNBUFFERED=1 PET_NNODES=2:3 PET_NPROC_PER_NODE=auto "
           "PET_RDZV_ENDPOINT=etcd:2379 PET_RDZV_BACKEND=etcd PET_RDZV_ID=id "
           "PET_RDZV_CONF=timeout=60,x=y PET_MAX_RESTARTS=100 PET_STANDALONE=",
           "kubeflow 3.2: all that elasticPolicy says");
    arena_free(s.arena);
}

static void test_tfjob(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_TFJOB, FRAMEWORK_TENSORFLOW, "python train.py");
    s.spec.namespace_ = "ns3";
    s.roles[0].ports = s.roles[1].ports = &tf_port;
    s.roles[0].n_ports = s.roles[1].n_ports = 1;
    s.roles[1].name = "ps";
    s.spec.n_roles = 2;
    is_str(seed_env(&s, 1, "TF_CONFIG"),
           "{\"cluster\":{\"ps\":[\"job-ps-0.ns3.svc:20002\",\"job-ps-1.ns3.svc:20003\"],"
           "\"worker\":[\"job-worker-0.ns3.svc:20000\",\"job-worker-1.ns3.svc:20001\"]},"
           "\"task\":{\"type\":\"worker\",\"index\":1},\"environment\":\"cloud\"} (framework)",
           "kubeflow 3.3: TF_CONFIG has the names of Services");
    s.spec.sparse_cluster = true;
    is_str(seed_env(&s, 1, "TF_CONFIG"),
           "{\"cluster\":{\"worker\":{\"1\":\"job-worker-1.ns3.svc:20001\"},"
           "\"ps\":[\"job-ps-0.ns3.svc:20002\",\"job-ps-1.ns3.svc:20003\"]},"
           "\"task\":{\"type\":\"worker\",\"index\":1}} (framework)",
           "kubeflow 3.3: a dynamic worker knows itself and the servers");
    is_str(seed_env(&s, 3, "TF_CONFIG"),
           "{\"cluster\":{\"worker\":{},\"ps\":[\"job-ps-1.ns3.svc:20003\"]},"
           "\"task\":{\"type\":\"ps\",\"index\":1}} (framework)",
           "kubeflow 3.3: a server only itself");
    s.spec.sparse_cluster = false;
    s.facts.site.isolation = "none";
    has(seed_env(&s, 1, "TF_CONFIG"), "\"ps\":[\"127.1.0.3:20002\"",
        "addresses where names do not resolve");
    s.spec.n_roles = 1;
    s.roles[0].replicas = 1;
    is_str(seed_env(&s, 0, "TF_CONFIG"), NULL, "kubeflow 3.3: none for a single replica");
    arena_free(s.arena);
}

/* --- Azure ML -----------------------------------------------------------------------------------
 */

static void seed_azure_mpi(struct seed *s, const char *command)
{
    seed_other(s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_MPI, command);
    s->roles[0].name = "launcher";
    s->roles[0].kind = ROLE_LAUNCHER;
    s->roles[0].replicas = 1;
    s->roles[1].shell = NULL;
    s->roles[1].kind = ROLE_HOST;
    s->roles[1].replicas = 4;
    s->roles[1].slots = 4;
    s->roles[1].res.gpu = 4;
    s->spec.n_roles = 2;
    s->spec.experiment = "mnist";
}

static void test_azureml(void)
{
    struct seed s;

    seed_azure_mpi(&s, "mpirun -np 16 --hostfile $AZUREML_MPI_HOSTFILE python train.py");
    is_str(seed_env(&s, 0, "AZUREML_MPI_HOSTFILE"), "/run/ID/hostfile (dialect)",
           "0.3: the hostfile's path on the launcher");
    is_str(seed_env(&s, 1, "AZUREML_MPI_HOSTFILE"), NULL, "0.3: and nowhere else");
    is_str(seed_env(&s, 1, "AZUREML_ARM_PROJECT_NAME"), "mnist (dialect)", "0.6: the experiment");
    is_str(seed_env(&s, 1, "AZUREML_EXPERIMENT_ID"), "mnist (dialect)", "A.3: in_aml() holds");
    is_str(seed_env(&s, 1, "AZUREML_RUN_ID"), "ID (dialect)", "A.3: run");
    is_str(seed_env(&s, 2, "AZUREML_NODE_COUNT"), "4 (dialect)", "A.3: a launcher is no node");
    is_str(seed_env(&s, 2, "AZUREML_CR_NODE_RANK"), "1 (dialect)", "A.3: node rank");
    is_str(seed_env(&s, 0, "AZUREML_CR_NODE_RANK"), "0 (dialect)", "A.3: the launcher's");
    is_str(seed_env(&s, 2, "AZUREML_PROCESS_NAME"), "rank_1 (dialect)", "A.3: process name");
    is_str(seed_env(&s, 0, "AZ_BATCH_HOST_LIST"),
           "127.1.0.2,127.1.0.3,127.1.0.4,127.1.0.5 (dialect)", "A.3: hosts");
    is_str(seed_env(&s, 0, "AZ_BATCH_NODE_LIST"),
           "127.1.0.2;127.1.0.3;127.1.0.4;127.1.0.5 (dialect)", "A.3: nodes");
    is_str(seed_env(&s, 3, "AZ_BATCH_MASTER_NODE"), "127.1.0.2:6000 (dialect)", "A.3: master");
    is_str(seed_env(&s, 3, "AZ_BATCHAI_MPI_MASTER_NODE"), "127.1.0.2 (dialect)", "A.3: and bare");
    is_str(seed_env(&s, 1, "AZ_BATCH_IS_CURRENT_NODE_MASTER"), "true (dialect)", "A.3: master?");
    is_str(seed_env(&s, 2, "AZ_BATCH_IS_CURRENT_NODE_MASTER"), "false (dialect)", "A.3: not it");
    is_str(seed_env(&s, 2, "GPU_PER_NODE_COUNT"), "4 (dialect)", "A.3: GPUs per node");
    s.roles[1].replicas = 1;
    is_str(seed_env(&s, 0, "AZ_BATCH_HOST_LIST"), NULL, "A.3: no list on one node");
    is_str(seed_env(&s, 0, "AZ_BATCH_MASTER_NODE"), NULL, "A.3: nor a master's port");
    is_str(seed_env(&s, 0, "AZ_BATCHAI_MPI_MASTER_NODE"), "127.1.0.2 (dialect)",
           "A.3: but its name");
    arena_free(s.arena);

    seed_torch(&s);
    is_str(seed_env(&s, 1, "AZUREML_PROCESS_NAME"), "rank_1 (dialect)", "A.3: a torch node's name");
    is_str(seed_env(&s, 1, "AZ_BATCH_MASTER_NODE"), "127.1.0.1:20000 (dialect)",
           "A.3: the reserved port where there is one");
    is_str(seed_env(&s, 1, "AZUREML_ARM_PROJECT_NAME"), "Default (dialect)", "0.6: no experiment");
    is_str(seed_env(&s, 1, "AZUREML_MPI_HOSTFILE"), NULL, "0.3: no MPI, no hostfile");
    arena_free(s.arena);
}

/* --- MPI of commands that call it themselves ----------------------------------------------------
 */

static void test_mpi_called(void)
{
    struct seed s;

    seed_azure_mpi(&s, "mpirun -np 16 python train.py");
    is_str(seed_plan(&s)->hostfile,
           "worker-0 slots=4\nworker-1 slots=4\nworker-2 slots=4\nworker-3 slots=4\n",
           "0.18: a hostfile for a command that names none");
    is_int(seed_plan(&s)->world, 16, "0.18: slots are the ranks expected");
    ok(seed_plan(&s)->rank_wrapper, "0.18: its ranks are told apart");
    is_str(seed_env(&s, 0, "OMPI_MCA_orte_default_hostfile"), "/run/ID/hostfile (muster)",
           "0.18: Open MPI 4 finds it");
    is_str(seed_env(&s, 0, "LD_LIBRARY_PATH"), " (muster)", "0.9: LD_LIBRARY_PATH is set");
    is_str(seed_env(&s, 0, "OMPI_ALLOW_RUN_AS_ROOT"), "1 (muster)", "0.17: root may");
    is_str(seed_env(&s, 0, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1 (muster)", "0.17: twice");
    is_str(seed_env(&s, 0, "OMPI_MCA_rmaps_base_oversubscribe"), NULL, "slots are known");
    is_str(seed_env(&s, 0, "HOROVOD_GLOO_IFACE"), "lo (muster)", "Horovod's interface");
    is_str(seed_env(&s, 0, "HOROVOD_START_TIMEOUT"), "300 (muster)", "and its patience");
    s.facts.site.interface = "eth0";
    is_str(seed_env(&s, 0, "OMPI_MCA_btl_tcp_if_include"), "eth0 (muster)", "another interface");
    is_str(seed_env(&s, 0, "OMPI_MCA_oob_tcp_if_include"), "eth0 (muster)", "for the daemons too");
    s.facts.machine.mpi = MPI_OPEN_MPI_5;
    is_str(seed_env(&s, 0, "PRTE_MCA_prte_default_hostfile"), "/run/ID/hostfile (muster)",
           "0.18: Open MPI 5 finds it");
    s.facts.machine.mpi = MPI_HYDRA;
    is_str(seed_env(&s, 0, "HYDRA_HOST_FILE"), "/run/ID/hostfile (muster)", "0.18: Hydra finds it");
    is_str(seed_env(&s, 0, "HYDRA_IFACE"), "eth0 (muster)", "and the interface");
    has(seed_plan(&s)->hostfile, "worker-0:4\n", "0.2: in its own format");
    s.facts.machine.mpi = MPI_INTEL;
    is_str(seed_env(&s, 0, "I_MPI_HYDRA_HOST_FILE"), "/run/ID/hostfile (muster)",
           "3.3: Intel MPI's own name for it");
    is_str(seed_env(&s, 0, "I_MPI_HYDRA_BOOTSTRAP_EXEC"), "/tmp/ID/bin/ssh (muster)",
           "3.3: and for the agent");
    arena_free(s.arena);
}

static void test_mpi_in_tasks(void)
{
    static const char *const others[] = {"echo xmpirun mpirun_x my-mpirun", "python mpi.py",
                                         "pip install horovod"};
    static const char *const calls[] = {"sleep 1; mpirun -np 2 a", "/opt/bin/mpiexec.hydra a",
                                        "(horovodrun -np 2 a)", "deepspeed x.py"};
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        seed_openpai(&s, 1, others[i]);
        ok(!seed_plan(&s)->hostfile, "no call of mpirun: %s", others[i]);
        is_str(seed_env(&s, 0, "OMPI_MCA_plm_rsh_agent"), NULL, "and none of its variables");
        arena_free(s.arena);
    }
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        seed_openpai(&s, 1, calls[i]);
        is_str(seed_plan(&s)->hostfile, "worker-0 slots=1\nworker-1 slots=1\n", "a call: %s",
               calls[i]);
        is_str(seed_env(&s, 1, "OMPI_MCA_plm_rsh_agent"), "/tmp/ID/bin/ssh (muster)",
               "with its variables");
        is_str(seed_env(&s, 1, "OMPI_MCA_rmaps_base_oversubscribe"), "1 (muster)",
               "more ranks than a guess of slots");
        is_str(seed_env(&s, 1, "OMPI_MCA_orte_fork_agent"), "/tmp/ID/bin/muster-rank (muster)",
               "its ranks are told apart");
        is_int(seed_plan(&s)->world, -1, "but none is expected");
        arena_free(s.arena);
    }
    seed_openpai(&s, 1, calls[0]);
    s.roles[0].res.gpu = 3;
    has(seed_plan(&s)->hostfile, "worker-1 slots=3\n", "a rank per GPU");
    arena_free(s.arena);
}

int main(void)
{
    test_torch();
    test_tensorflow();
    test_evaluator();
    test_pytorchjob();
    test_elastic();
    test_torchrun();
    test_tfjob();
    test_azureml();
    test_mpi_called();
    test_mpi_in_tasks();
    return tap_done();
}
