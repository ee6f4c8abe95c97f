/* preview.c - Azure ML's preview jobs lowered into the model: every field where it belongs,
 * every number with the rule that gave it. */

#include "dialect/test/lowered.h"

static void lower_with(struct lowered *l, const struct read_options *opts, const char *text)
{
    lower_by(l, &azureml_preview, "x.yaml", text, opts);
}

static void lower(struct lowered *l, const char *text)
{
    lower_with(l, &(struct read_options){0}, text);
}

/* "launcher=1 worker=4x4", as validate counts them. */
static const char *counts(struct lowered *l)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; l->spec && i < l->spec->n_roles; i++) {
        const struct role *r = &l->spec->roles[i];

        strbuf_addf(&sb, "%s%s=%dx%d", i ? " " : "", r->name, r->replicas, r->slots);
    }
    return arena_strndup(l->a, sb.buf, sb.len);
}

/* --- MpiJob --------------------------------------------------------------------------------- */

static const char mpi[] = "name: sample\n"
                          "type: MpiJob\n"
                          "experiment_name: exp\n"
                          "launcher:\n"
                          "  spec:\n"
                          "    command: >\n"
                          "      mpirun -np 16 --hostfile AZUREML_MPI_HOSTFILE\n"
                          "      -mca btl ^openib\n"
                          "      python train.py\n"
                          "    code: {path: ./src}\n"
                          "    environment: azureml:pytorch-1.7:1\n"
                          "    resource_limits: {cpu: 1, memory: 2Gi}\n"
                          "worker:\n"
                          "  spec: {environment: azureml:other:2}\n"
                          "compute: {type: AmlCompute, target: nc24-cluster, instance_count: 4}\n";

static void test_mpi_roles(const struct role *launcher, const struct role *worker)
{
    ok(launcher->kind == ROLE_LAUNCHER && worker->kind == ROLE_HOST, "0.1: who runs mpirun");
    is_int(launcher->shell_kind, SHELL_SH, "0.7: by sh");
    ok(!launcher->argv && !worker->argv && !worker->shell, "0.1: a worker has no command");
    is_str(launcher->workdir, "./src", "0.10: the code");
    is_str(worker->workdir, "./src", "0.10: is there for all roles");
    ok(worker->workdir_at != NULL, "and its place");
    is_str(launcher->image, "azureml:pytorch-1.7:1", "0.11: environment");
    is_str(worker->image, "azureml:other:2", "0.11: the worker's own");
    is_int(launcher->res.cpu_limit_milli, 1000, "0.16: cpu");
    is_int(launcher->res.memory_limit, 2LL << 30, "0.16: memory");
    is_int(worker->res.gpu, QUANTITY_UNSET, "0.16: nothing said");
    ok(launcher->n_ports == 0 && worker->n_ports == 0, "no ports");
    is_int(worker->replicas_at->i, 4, "0.14: instance_count");
}

static void test_mpi(void)
{
    struct lowered l;
    const struct job_spec *s;

    lower(&l, mpi);
    s = l.spec;
    is_str(findings(&l), "N0401@6:14 W0401@7:32", "0.8: the word's own place");
    ok(s != NULL && l.verdict == VERDICT_ACCEPT, "it is lowered");
    if (!s)
        return;
    is_str(counts(&l), "launcher=1x1 worker=4x4", "0.20: processes of -np over the instances");
    has(l.ds.v[0].message, "the 16 of mpirun on 4 workers", "0.20: the rule is told");
    is_str(s->name, "sample", "name");
    is_str(s->dialect, "azureml-preview", "dialect");
    is_str(s->experiment, "exp", "0.6: experiment");
    is_str(s->target, "nc24-cluster", "0.13: target");
    is_str(s->target_type, "AmlCompute", "0.12: its type");
    is_int(s->framework, FRAMEWORK_MPI, "framework");
    ok(s->mpi == NULL && !s->gang, "0.2: the command calls mpirun itself");
    is_str(s->roles[0].shell,
           "mpirun -np 16 --hostfile \"$AZUREML_MPI_HOSTFILE\" -mca btl ^openib python train.py",
           "0.8: the bare word is mended, the trailing newline is gone");
    test_mpi_roles(&s->roles[0], &s->roles[1]);
    done(&l);

    lower_with(&l, &(struct read_options){.keep_text = true}, mpi);
    is_str(l.spec->roles[0].shell,
           "mpirun -np 16 --hostfile AZUREML_MPI_HOSTFILE -mca btl ^openib python train.py",
           "0.8: kept on demand");
    is_str(findings(&l), "N0401@6:14 W0401@7:32", "and told");
    done(&l);
}

#define MPI_JOB(command, worker, compute)                                                          \
    "name: j\ntype: MpiJob\nlauncher: {spec: {command: " command "}}\n" worker                     \
    "compute: {" compute "}\n"
#define COMMAND_AT "3:28"

static const struct {
    const char *what, *text, *want, *findings;
} mpi_counts[] = {
    {"0.20: slots from the gpu limit",
     MPI_JOB("mpirun a", "worker: {spec: {resource_limits: {gpu: 4}}}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x4", "N0401@4:40"},
    {"0.20: nvidia.com/gpu is the same",
     MPI_JOB("mpirun a", "worker: {resource_limits: {nvidia.com/gpu: 4}}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x4", "N0401@4:44"},
    {"0.20: processes_per_node wins over the gpu limit",
     MPI_JOB("mpirun -np 4 a", "worker: {processes_per_node: 2, resource_limits: {gpu: 4}}\n",
             "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@4:30"},
    {"0.20: slots_per", MPI_JOB("mpirun a", "worker: {slots_per: 2}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@4:21"},
    {"0.20: slotsPerWorker",
     MPI_JOB("mpirun a", "worker: {slotsPerWorker: 2}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@4:26"},
    {"0.20: process_count_per_instance",
     MPI_JOB("mpirun a", "worker: {process_count_per_instance: 2}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@4:38"},
    {"0.20: what mpirun is told per node", MPI_JOB("mpirun -N 3 a", "", "instance_count: 2"),
     "launcher=1x1 worker=2x3", "N0401@" COMMAND_AT},
    {"0.20: -np over the instances, rounded up", MPI_JOB("mpirun -np 5 a", "", "instance_count: 2"),
     "launcher=1x1 worker=2x3", "W0407@" COMMAND_AT " N0401@" COMMAND_AT},
    {"0.20: nothing says it", MPI_JOB("mpirun a", "", "instance_count: 2"),
     "launcher=1x1 worker=2x1", "N0401@" COMMAND_AT},
    {"0.20: only the shell could tell", MPI_JOB("mpirun -np $N a", "", "instance_count: 2"),
     "launcher=1x1 worker=2x1", "N0401@" COMMAND_AT},
    {"0.19: no instance_count: -np over the gpu limit",
     MPI_JOB("mpirun -np 16 a", "worker: {resource_limits: {gpu: 4}}\n", "target: x"),
     "launcher=1x1 worker=4x4", "N0401@" COMMAND_AT " N0401@4:33"},
    {"0.19: not divisible: rounded up with a warning",
     MPI_JOB("mpirun -np 10 a", "worker: {resource_limits: {gpu: 4}}\n", "target: x"),
     "launcher=1x1 worker=3x4", "W0407@" COMMAND_AT " N0401@" COMMAND_AT " N0401@4:33"},
    {"0.19: no instance_count, nothing else: one worker takes all",
     MPI_JOB("mpirun -np 4 a", "", "target: x"), "launcher=1x1 worker=1x4", "N0401@" COMMAND_AT},
    {"0.14: num_replicas counts workers too",
     MPI_JOB("mpirun -np 4 a", "worker: {num_replicas: 2}\n", "target: x"),
     "launcher=1x1 worker=2x2", "N0401@" COMMAND_AT},
    {"more processes than there is room for",
     MPI_JOB("mpirun -np 9 a", "worker: {resource_limits: {gpu: 4}}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x4", "W0408@" COMMAND_AT " N0401@4:33"},
    {"unless that is wanted",
     MPI_JOB("mpirun --oversubscribe -np 9 a", "worker: {processes_per_node: 4}\n",
             "instance_count: 2"),
     "launcher=1x1 worker=2x4", "N0401@4:30"},
    {"0.2: mpiexec", MPI_JOB("mpiexec -n 4 a", "", "instance_count: 2"), "launcher=1x1 worker=2x2",
     "N0401@" COMMAND_AT},
    {"0.15: horovodrun", MPI_JOB("horovodrun -np 4 a", "", "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@" COMMAND_AT},
    {"a script of the user's", MPI_JOB("./run.sh", "", "instance_count: 2"),
     "launcher=1x1 worker=2x1", "N0403@" COMMAND_AT " N0401@" COMMAND_AT},
    {"0.16: a gpu limit of zero tells nothing",
     MPI_JOB("mpirun -np 4 a", "worker: {resource_limits: {gpu: 0}}\n", "instance_count: 2"),
     "launcher=1x1 worker=2x2", "N0401@" COMMAND_AT},
};

static void test_mpi_counts(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(mpi_counts); i++) {
        struct lowered l;

        lower(&l, mpi_counts[i].text);
        is_str(counts(&l), mpi_counts[i].want, "%s", mpi_counts[i].what);
        is_str(findings(&l), mpi_counts[i].findings, "what is told, and where");
        done(&l);
    }
}

static void test_mpi_defaults(void)
{
    struct lowered l;

    lower(
        &l,
        "name: j\ntype: MpiJob\n"
        "launcher: {spec: {command: mpirun -n 1 a, environment: e, resource_limits: {cpu: 1}}}\n");
    ok(l.spec != NULL, "0.1: the worker may be missing, and the compute");
    if (l.spec) {
        is_str(l.spec->roles[1].image, "e", "0.1: it takes the launcher's environment");
        is_int(l.spec->roles[1].res.cpu_limit_milli, QUANTITY_UNSET, "0.1: and no limits");
        ok(!l.spec->roles[1].workdir && !l.spec->target && !l.spec->experiment,
           "nothing is made up");
    }
    done(&l);
    lower(&l, MPI_JOB("mpirun -n 1 a", "worker: {spec: {command: b}}\n", ""));
    is_str(findings(&l), "N0401@" COMMAND_AT " W0404@4:17", "0.1: a worker's command is never run");
    ok(l.spec && !l.spec->roles[1].shell, "and not there");
    done(&l);
}

/* --- PytorchJob ----------------------------------------------------------------------------- */

static const char pytorch[] =
    "name: sample\n"
    "type: PytorchJob\n"
    "worker:\n"
    "  spec:\n"
    "    command: >-\n"
    "      python -m torch.distributed.launch --nproc_per_node 4 --nnodes 4\n"
    "      --node_rank NODE_RANK --master_addr MASTER_ADDR --master_port MASTER_PORT --use_env\n"
    "      python train.py\n"
    "    code: {path: ./src}\n"
    "    resource_limits: {gpu: 4}\n"
    "compute: {type: AksCluster, target: my-aks-clutser, instance_count: 4}\n";

static void test_pytorch(void)
{
    struct lowered l;
    const struct role *worker;

    lower(&l, pytorch);
    is_str(findings(&l), "W0401@7:19 W0401@7:43 W0401@7:69 W0402@8:7 W0406@11:17",
           "0.8, 0.24, 0.12: every slip where it stands");
    ok(l.spec != NULL, "it is lowered");
    if (!l.spec)
        return;
    is_str(counts(&l), "worker=4x1", "0.21, 0.25: one process per replica, one replica per node");
    is_int(l.spec->framework, FRAMEWORK_PYTORCH, "framework");
    ok(l.spec->gang, "0.32: all or none");
    worker = &l.spec->roles[0];
    ok(worker->kind == ROLE_PLAIN && worker->min_failed <= 1 && worker->min_failed >= 0 &&
           worker->min_succeeded <= 0,
       "0.32: over when all have ended, or with the first failure");
    is_str(worker->shell,
           "python -m torch.distributed.launch --nproc_per_node 4 --nnodes 4 --node_rank "
           "\"$NODE_RANK\" --master_addr \"$MASTER_ADDR\" --master_port \"$MASTER_PORT\" --use_env "
           "train.py",
           "0.24: the stray python is dropped");
    ok(worker->n_ports == 1 && !strcmp(worker->ports[0].label, "MASTER_PORT") &&
           worker->ports[0].count == 1 && worker->ports[0].usual == 29500 &&
           worker->ports[0].begin_at == 0 && worker->ports[0].first_only,
       "0.22: a reserved port on the first node");
    is_int(worker->res.gpu, 4, "0.25: GPUs");
    done(&l);

    lower(&l, "name: j\ntype: PytorchJob\nworker: {processes_per_node: 3, spec: {command: a}}\n");
    is_str(counts(&l), "worker=1x3", "processes per node, where the file says so");
    is_str(findings(&l), "", "and nothing to tell");
    done(&l);
}

/* --- TensorflowJob -------------------------------------------------------------------------- */

static const char tensorflow[] = "name: sample\n"
                                 "type: TensorflowJob\n"
                                 "parameter_server:\n"
                                 "  num_replicas: 2\n"
                                 "  spec:\n"
                                 "    command: python ps.py\n"
                                 "    code:\n"
                                 "      path:\n"
                                 "        ./src\n"
                                 "  resource_limits:\n"
                                 "    cpu: 1\n"
                                 "worker:\n"
                                 "  num_replicas: 4\n"
                                 "  spec:\n"
                                 "    command: python train.py\n"
                                 "  resource_limits:\n"
                                 "    gpu: 4\n"
                                 "compute:\n"
                                 "  type: AmlCompute\n"
                                 "  instance_count: 4\n";

static void test_tensorflow(void)
{
    struct lowered l;

    lower(&l, tensorflow);
    is_str(findings(&l), "N0402@20:19", "0.29: six tasks on four instances");
    is_str(counts(&l), "parameter_server=2x1 worker=4x1", "0.27: both roles, in the file's order");
    ok(l.spec != NULL, "0.31: AmlCompute with limits is no error");
    if (!l.spec)
        return;
    is_int(l.spec->framework, FRAMEWORK_TENSORFLOW, "framework");
    is_int(l.spec->roles[0].res.cpu_limit_milli, 1000, "0.30: limits beside the spec");
    is_int(l.spec->roles[1].res.gpu, 4, "0.30: of the worker too");
    is_str(l.spec->roles[0].workdir, "./src", "0.31: a path on the next line");
    is_str(l.spec->roles[1].workdir, "./src", "0.10: for all roles");
    is_str(l.spec->roles[0].shell, "python ps.py", "its command");
    is_int(l.spec->roles[0].min_succeeded, 0, "0.32: parameter servers may run for ever");
    is_int(l.spec->roles[1].min_succeeded, 4, "0.32: over when all workers are");
    is_int(l.spec->roles[1].min_failed, 1, "0.32: or one has failed");
    for (size_t i = 0; i < 2; i++) {
        const struct port_request *p = l.spec->roles[i].ports;

        ok(l.spec->roles[i].n_ports == 1 && !strcmp(p->label, "TF_CONFIG") && p->usual == 2222 &&
               p->count == 1 && !p->first_only,
           "0.28: a port for every task");
    }
    done(&l);

    lower(&l, "name: j\ntype: TensorflowJob\nworker: {spec: {command: a}}\n"
              "compute: {instance_count: 3}\n");
    is_str(counts(&l), "worker=3x1", "0.26: workers only; 0.29: one per instance");
    is_str(findings(&l), "", "nothing to tell");
    done(&l);
    lower(&l, "name: j\ntype: TensorflowJob\nworker: {spec: {command: a}}\n");
    is_str(counts(&l), "worker=1x1", "0.29: nothing counts: one");
    done(&l);
    lower(&l, "name: j\ntype: TensorflowJob\nworker: {spec: {command: a}}\n"
              "parameter_server: {spec: {command: b}}\n");
    is_str(counts(&l), "worker=1x1 parameter_server=1x1", "0.27: in the file's order");
    done(&l);
}

/* --- slips ---------------------------------------------------------------------------------- */

#define TORCH(worker) "name: j\ntype: PytorchJob\nworker:\n" worker

static const struct {
    const char *what, *text, *want;
    bool fine;
} slips[] = {
    {"0.5: type in any letter case", "name: j\ntype: PyTorchJob\nworker: {spec: {command: a}}\n",
     "W0405@2:7", true},
    {"0.5: misspelt", "name: j\ntype: PytorchJbo\nworker: {spec: {command: a}}\n", "E0209@2:7",
     false},
    {"no type", "name: j\nworker: {spec: {command: a}}\n", "E0103@1:1", false},
    {"no name", "type: PytorchJob\nworker: {spec: {command: a}}\n", "E0103@1:1", false},
    {"a name of Azure's kind", "name: My_job.1\ntype: PytorchJob\nworker: {spec: {command: a}}\n",
     "", true},
    {"a name with a blank", "name: my job\ntype: PytorchJob\nworker: {spec: {command: a}}\n",
     "E0402@1:7", false},
    {"one launcher",
     "name: j\ntype: MpiJob\n"
     "launcher: {num_replicas: 2, spec: {command: mpirun a}}\n",
     "E0203@3:26 N0401@3:45", false},
    {"0.1: no launcher", "name: j\ntype: MpiJob\nworker: {spec: {environment: e}}\n", "E0103@1:1",
     false},
    {"0.1: no spec", "name: j\ntype: MpiJob\nlauncher: {}\n", "E0103@3:1", false},
    {"0.1: no command", "name: j\ntype: MpiJob\nlauncher:\n  spec: {environment: e}\n", "E0103@4:3",
     false},
    {"a command without a value", TORCH("  spec: {command: }\n"), "E0103@4:10", false},
    {"an empty command", TORCH("  spec: {command: \"\"}\n"), "E0104@4:19", false},
    {"a blank command", TORCH("  spec: {command: \"  \"}\n"), "E0104@4:19", false},
    {"a command that is a list", TORCH("  spec: {command: [a]}\n"), "E0107@4:19", false},
    {"0.26: no worker", "name: j\ntype: TensorflowJob\nparameter_server: {spec: {command: a}}\n",
     "E0103@1:1", false},
    {"a section of another type", TORCH("  spec: {command: a}\nlauncher: {spec: {command: a}}\n"),
     "E0401@5:1", false},
    {"an unknown key", TORCH("  spec: {command: a, enviroment: e}\n"), "E0101@4:22", false},
    {"an unknown limit", TORCH("  spec: {command: a}\n  resource_limits: {gpus: 1}\n"),
     "E0101@5:21", false},
    {"a resource of a cluster", TORCH("  spec: {command: a}\n  resource_limits: {rdma/hca: 1}\n"),
     "N0301@5:21", true},
    {"a limit that is no quantity",
     TORCH("  spec: {command: a}\n  resource_limits: {memory: much}\n"), "E0107@5:29", false},
    {"0.30: limits in both places, the same",
     TORCH("  spec: {command: a, resource_limits: {gpu: 1}}\n  resource_limits: {gpu: 1}\n"), "",
     true},
    {"0.30: limits in both places, each something else",
     TORCH("  spec: {command: a, resource_limits: {cpu: 1}}\n  resource_limits: {gpu: 1}\n"), "",
     true},
    {"0.30: limits in both places that differ: at the second",
     TORCH("  spec: {command: a, resource_limits: {gpu: 1}}\n  resource_limits: {gpu: 2}\n"),
     "E0106@5:3", false},
    {"0.30: whichever that is",
     TORCH("  resource_limits: {gpu: 2}\n  spec: {command: a, resource_limits: {gpu: 1}}\n"),
     "E0106@5:22", false},
    {"0.16: gpu under two names",
     TORCH("  spec: {command: a, resource_limits: {gpu: 1, nvidia.com/gpu: 2}}\n"), "E0106@4:48",
     false},
    {"0.20: processes per node under two names",
     TORCH("  {slots_per: 1, processes_per_node: 2, spec: {command: a}}\n"), "E0106@4:4", false},
    {"0.29: a task has one process",
     "name: j\ntype: TensorflowJob\nworker: {slots_per: 2, spec: {command: a}}\n", "N0301@3:10",
     true},
    {"0.14: no instances", TORCH("  spec: {command: a}\ncompute: {instance_count: 0}\n"),
     "E0203@5:27", false},
    {"0.14: a word", TORCH("  spec: {command: a}\ncompute: {instance_count: four}\n"), "E0107@5:27",
     false},
    {"0.29: num_replicas against instance_count",
     TORCH("  num_replicas: 2\n  spec: {command: a}\ncompute: {instance_count: 4}\n"), "N0402@6:27",
     true},
    {"0.12: an unknown compute", TORCH("  spec: {command: a}\ncompute: {type: Cloud}\n"),
     "W0406@5:17", true},
    {"too many", TORCH("  spec: {command: a}\ncompute: {instance_count: 100000}\n"), "E0203@5:27",
     false},
    {"too many GPUs",
     "name: j\ntype: MpiJob\nlauncher: {spec: {command: mpirun a}}\n"
     "worker: {resource_limits: {gpu: 5000}}\n",
     "E0203@4:33", false},
    {"too many processes", "name: j\ntype: MpiJob\nlauncher: {spec: {command: mpirun -n 5000 a}}\n",
     "N0401@3:28 E0203@3:28", false},
    {"not a mapping", "[a]\n", "E0107@1:1", false},
    {"sections that are no mappings", "name: j\ntype: MpiJob\nlauncher: a\nworker: [b]\n",
     "E0107@3:11 E0107@4:9", false},
};

static void test_findings(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(slips); i++) {
        struct lowered l;

        lower(&l, slips[i].text);
        is_str(findings(&l), slips[i].want, "%s", slips[i].what);
        ok((l.spec != NULL) == slips[i].fine, "accepted or not");
        done(&l);
    }
}

int main(void)
{
    test_mpi();
    test_mpi_counts();
    test_mpi_defaults();
    test_pytorch();
    test_tensorflow();
    test_findings();
    return tap_done();
}
