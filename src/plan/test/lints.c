/* lints.c - what a person is told about a job before it runs. */
#include "plan/test/seed.h"

static void lacks(const char *text, const char *part, const char *name)
{
    if (!ok(!strstr(text, part), "%s", name))
        tap_diag("%s", text);
}

/* Notes of an OpenPAI job of one role `worker` with this command. */
static const char *pai_notes(struct seed *s, const char *command)
{
    seed_openpai(s, 2, command);
    return seed_notes(s);
}

static void test_variables(void)
{
    static const struct {
        const char *command, *name, *nearest;
    } rows[] = {
        {"echo $PAI_HOST_IP_work_0", "PAI_HOST_IP_work_0", "PAI_HOST_IP_worker_0"},
        {"python -c 'os.environ[\"PAI_worker_0_SyncPort_PORT\"]'", "PAI_worker_0_SyncPort_PORT",
         "PAI_worker_0_SynPort_PORT"},
        {"a --port ${PAI_PORT_LIST_work_0_SyncPort}", "PAI_PORT_LIST_work_0_SyncPort",
         "PAI_PORT_LIST_worker_0_SynPort"},
        {"x=${!PAI_TASK_INDX}", "PAI_TASK_INDX", "PAI_TASK_INDEX"},
        {"echo $MASTER_ADDR:1", "MASTER_ADDR", NULL},
        {"echo ${AZUREML_RUN_ID%x}", "AZUREML_RUN_ID", NULL},
    };
    static const char *const fine[] = {
        "echo $PAI_HOST_IP_worker_1 ${PAI_TASK_INDEX}",
        "echo ${PAI_NO_SUCH:-1} ${PAI_NO_SUCH-1}",
        "P=\"PAI_PORT_LIST_${PAI_CURRENT_TASK_ROLE_NAME}_0_http\"; echo ${!P}",
        "export MASTER_ADDR=$PAI_HOST_IP_worker_0; echo $MASTER_ADDR",
        "python -c \"os.environ['MASTER_ADDR'] = '1'; f('MASTER_ADDR')\"",
        "read MASTER_X; echo $MASTER_X",
        "echo $MY_PAI_THING PAI_NO_SUCH $UNKNOWN",
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *notes = pai_notes(&s, rows[i].command);

        has(notes,
            arena_printf(s.arena, "warning: worker: the command uses $%s, which is not set%s%s%s\n",
                         rows[i].name, rows[i].nearest ? "; did you mean $" : "",
                         rows[i].nearest ? rows[i].nearest : "", rows[i].nearest ? "?" : ""),
            "1.12: %s", rows[i].command);
        arena_free(s.arena);
    }
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
        lacks(pai_notes(&s, fine[i]), "which is not set", "1.12: a command that is right");
        arena_free(s.arena);
    }
}

static void test_argv_variables(void)
{
    static const char *const by_shell[] = {"/bin/bash", "-xec", "echo $MASTER_ADDR", NULL};
    static const char *const alone[] = {"echo", "$MASTER_ADDR", NULL};
    struct seed s;

    seed_other(&s, PLATFORM_MPIJOB_V1ALPHA1, FRAMEWORK_NONE, NULL);
    s.roles[0].argv = by_shell;
    has(seed_notes(&s), "uses $MASTER_ADDR, which is not set", "1.12: a shell in an argv");
    s.roles[0].argv = alone;
    lacks(seed_notes(&s), "which is not set", "1.12: without a shell it is only text");
    arena_free(s.arena);
}

static void test_ports(void)
{
    static const char *const fixed[] = {"export MASTER_PORT=5000; a", "MASTER_PORT=5000 a",
                                        "torchrun --master_port 5000 a",
                                        "torchrun --master-port=5000 a"};
    static const char *const fine[] = {"export MASTER_PORT=$PAI_worker_0_SynPort_PORT",
                                       "torchrun --master_port 20000 a", "torchrun --master_port",
                                       "torchrun --master_port x a", "echo MASTER_PORT"};
    static const struct env_entry env[] = {{.name = "MASTER_PORT", .value = "23456"}};
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        has(pai_notes(&s, fixed[i]),
            "note: worker hard-codes port 5000, which may be in use; "
            "$PAI_PORT_LIST_worker_0_SynPort is reserved for the job\n",
            "1.10: %s", fixed[i]);
        s.facts.site.isolation = "network";
        lacks(seed_notes(&s), "hard-codes port", "1.10: a network of its own has every port");
        arena_free(s.arena);
    }
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
        lacks(pai_notes(&s, fine[i]), "hard-codes port", fine[i]);
        arena_free(s.arena);
    }
    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_PYTORCH, "python train.py");
    s.roles[0].env = env;
    s.roles[0].n_env = 1;
    has(seed_notes(&s), "hard-codes port 23456, which may be in use; $MASTER_PORT",
        "1.10: a literal of the environment");
    arena_free(s.arena);
}

static void test_interfaces(void)
{
    static const char *const here[] = {"lo", "ens5", NULL};
    static const struct {
        const char *command, *name; /* NULL: nothing to say */
    } rows[] = {
        {"export GLOO_SOCKET_IFNAME=eth0", "eth0"},
        {"NCCL_SOCKET_IFNAME=ib0 a", "ib0"},
        {"mpirun -mca btl_tcp_if_include eth1,lo a", "eth1"},
        {"mpirun --mca oob_tcp_if_include eth0 a", "eth0"},
        {"mpirun -x NCCL_SOCKET_IFNAME=eth0 a", "eth0"},
        {"horovodrun --network-interface eth0 a", "eth0"},
        {"NCCL_SOCKET_IFNAME==ens a", "ens"},
        {"NCCL_SOCKET_IFNAME=ens a", NULL},
        {"NCCL_SOCKET_IFNAME=^eth0 a", NULL},
        {"GLOO_SOCKET_IFNAME=$IF a", NULL},
        {"mpirun -mca btl_tcp_if_include 10.0.0.0/8 a", NULL},
        {"GLOO_SOCKET_IFNAME=lo a", NULL},
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *name = rows[i].name;

        seed_openpai(&s, 1, rows[i].command);
        s.facts.site.interfaces = here;
        if (name)
            has(seed_notes(&s),
                arena_printf(s.arena,
                             "warning: worker: network interface %s not found; replicas have lo, "
                             "ens5%s\n",
                             name,
                             strcmp(name, "eth0") ? "" : "; use --isolate network for an eth0"),
                "1.13: %s", rows[i].command);
        else
            lacks(seed_notes(&s), "network interface", "1.13: nothing to say");
        s.facts.site.interfaces = NULL;
        lacks(seed_notes(&s), "network interface", "1.13: nor where they are not known");
        arena_free(s.arena);
    }
}

static void test_horovodrun(void)
{
    static const struct {
        const char *command, *line;
    } rows[] = {
        {"horovodrun -np 16 --hostfile \"$AZUREML_MPI_HOSTFILE\" python train.py",
         "; without it: mpirun -np 16 --hostfile \"$AZUREML_MPI_HOSTFILE\" -bind-to none"
         " -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib"
         " python train.py\n"},
        {"cd x && /usr/bin/horovodrun --verbose --start-timeout 9 -H=a:1,b:1 python 'a b' --x; ls",
         "; without it: mpirun -H a:1,b:1 -bind-to none -map-by slot -x NCCL_DEBUG=INFO"
         " -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib python 'a b' --x\n"},
        {"horovodrun -np 2 --min-np 1 --host-discovery-script d python train.py",
         "horovodrun not found\n"},
        {"horovodrun -np", "mpirun -bind-to none"},
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        has(pai_notes(&s, rows[i].command), rows[i].line, "0.15: %s", rows[i].command);
        has(seed_notes(&s), "warning: horovodrun not found", "0.15: it is missing");
        s.facts.machine.horovodrun = true;
        lacks(seed_notes(&s), "horovodrun not found", "0.15: unless it is there");
        has(seed_notes(&s), "use --disable-cache to repeat", "0.15: but for its cache");
        arena_free(s.arena);
    }
}

static void test_place(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_NONE, "true");
    s.roles[0].image = "azureml:pytorch-1.7:1";
    s.spec.target = "nc24-cluster";
    s.spec.target_type = "AksCompute";
    has(seed_notes(&s), "note: image azureml:pytorch-1.7:1 is not used", "0.11: the environment");
    has(seed_notes(&s), "note: compute.type AksCompute is ignored", "0.12: compute.type");
    has(seed_notes(&s), "note: compute target nc24-cluster is ignored", "0.13: compute.target");
    lacks(seed_notes(&s), "entry point", "2.4: there is a command");
    s.roles[0].shell = NULL;
    has(seed_notes(&s),
        "warning: worker has no command: the entry point of azureml:pytorch-1.7:1 is not available "
        "locally; use --entrypoint worker='CMD'\n",
        "2.4: no command");
    s.roles[0].image = NULL;
    has(seed_notes(&s), "the entry point of its image", "2.4: nor an image");
    s.roles[0].kind = ROLE_HOST;
    lacks(seed_notes(&s), "entry point", "2.4: a worker that waits needs none");
    arena_free(s.arena);
    seed_init(&s);
    lacks(seed_notes(&s), "entry point", "2.4: nor a launcher whose line is composed");
    arena_free(s.arena);
}

static void test_devices(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_NONE, "true");
    is_str(seed_env(&s, 1, "CUDA_VISIBLE_DEVICES"), NULL, "0.16: no GPU asked, nothing said");
    s.roles[0].res.gpu = 4;
    s.facts.machine.gpus = 7;
    is_str(seed_env(&s, 1, "CUDA_VISIBLE_DEVICES"), " (muster)", "0.16: fewer than asked: none");
    has(seed_notes(&s), "warning: worker: requests 4 GPUs per replica", "0.16: told");
    has(seed_notes(&s), "this machine has 7;", "0.16: with the number");
    s.facts.machine.gpus = 8;
    is_str(seed_env(&s, 0, "CUDA_VISIBLE_DEVICES"), "0,1,2,3 (muster)", "0.16: enough: a share");
    is_str(seed_env(&s, 1, "CUDA_VISIBLE_DEVICES"), "4,5,6,7 (muster)", "0.16: and another");
    s.facts.machine.gpus_pretended = true;
    is_str(seed_env(&s, 1, "CUDA_VISIBLE_DEVICES"), " (muster)", "0.16: pretended: none visible");
    has(seed_notes(&s), "note: worker: requests 4 GPUs per replica; those of --gpus are counted",
        "0.16: told as a note");
    s.facts.machine.gpus = 2;
    has(seed_notes(&s), "warning: the job requests 8 GPUs, --gpus provides 2", "0.16: counted");
    s.roles[0].res.shm = INT64_C(256) << 20;
    lacks(seed_notes(&s), "/dev/shm", "3.6: /dev/shm as asked");
    s.facts.site.isolation = "none";
    has(seed_notes(&s), "note: worker: /dev/shm of 256 MiB is not set up",
        "3.6: not possible without namespaces");
    arena_free(s.arena);
}

static void test_gpus(void)
{
    static const char said[] = "warning: worker: backend nccl needs GPUs";
    struct seed s;

    seed_openpai(&s, 1, "python train.py -n 2 --dist-backend nccl");
    has(seed_notes(&s), said, "1.14: nccl without a GPU");
    s.facts.machine.gpus = 2;
    lacks(seed_notes(&s), said, "1.14: with GPUs it is fine");
    s.facts.machine.gpus_pretended = true;
    has(seed_notes(&s), said, "1.14: pretended ones do not help");
    arena_free(s.arena);
    seed_openpai(&s, 1, "python train.py --backend=gloo");
    lacks(seed_notes(&s), said, "1.14: gloo is fine");
    arena_free(s.arena);
    seed_openpai(&s, 1, "git clone https://github.com/NVIDIA/apex");
    has(seed_notes(&s), "warning: worker installs Apex, which needs GPUs",
        "1.8: Apex without a GPU");
    s.facts.machine.gpus = 2;
    lacks(seed_notes(&s), "Apex", "1.8: with GPUs it is fine");
    arena_free(s.arena);
}

static void test_clones(void)
{
    static const struct {
        const char *command;
        bool told;
    } rows[] = {
        {"git clone https://host/a", true},
        {"cd x; git clone -q https://host/a b && ls", true},
        {"git clone https://host/a \"a$PAI_TASK_INDEX\"", false},
        {"git clone $URL; ls", false},
        {"git pull", false},
        {"echo git", false},
    };
    static const char said[] = "warning: all 2 replicas of worker run `git clone`";
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *notes = pai_notes(&s, rows[i].command);

        ok(!strstr(notes, said) == !rows[i].told, "%s", rows[i].command);
        arena_free(s.arena);
    }
    seed_openpai(&s, 1, "git clone https://host/a");
    s.roles[0].replicas = 1;
    lacks(seed_notes(&s), "`git clone`", "one replica may");
    arena_free(s.arena);
}

int main(void)
{
    test_clones();
    test_gpus();
    test_variables();
    test_argv_variables();
    test_ports();
    test_interfaces();
    test_horovodrun();
    test_place();
    test_devices();
    return tap_done();
}
