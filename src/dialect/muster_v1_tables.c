/* muster_v1_tables.c - the keys of Muster's own job file, each with what it says. Tables only; the
 * schema and the manual page are made of them. */
#include <stddef.h>

#include "base/limits.h"
#include "dialect/muster_v1.h"

#define AT(type, member) .offset = offsetof(struct type, member)
#define TEXT(name, type, member, text)                                                             \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, AT(type, member), .doc = (text)                        \
    }
#define NAME(name, type, member, text)                                                             \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, .non_empty = true, AT(type, member), .doc = (text)     \
    }
#define WORD(name, list, type, member, text)                                                       \
    {                                                                                              \
        .key = (name), .kind = BIND_STRING, .words = (list), AT(type, member), .doc = (text)       \
    }
#define FLAG(name, type, member, text)                                                             \
    {                                                                                              \
        .key = (name), .kind = BIND_BOOL, AT(type, member), .doc = (text)                          \
    }
#define STRINGS(name, type, member, text)                                                          \
    {                                                                                              \
        .key = (name), .kind = BIND_STRINGS, AT(type, member), .doc = (text)                       \
    }
#define COUNT(name, low, high, unset, type, member, text)                                          \
    {                                                                                              \
        .key = (name), .kind = BIND_INT, .min = (low), .max = (high), .def = (unset),              \
        AT(type, member), .doc = (text)                                                            \
    }
#define NODE(name, what, type, member, text)                                                       \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, .takes = (what), AT(type, member), .doc = (text)         \
    }
#define NUMBER(name, low, list, type, member, text) /* or a word that stands for one */            \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, .takes = TAKES_INT | TAKES_STRING, .min = (low),         \
        .max = INT32_MAX, .words = (list), AT(type, member), .doc = (text)                         \
    }
#define PART(name, of, type, member, text)                                                         \
    {                                                                                              \
        .key = (name), .kind = BIND_STRUCT, .table = &(of), AT(type, member), .doc = (text)        \
    }
#define PARTS(name, of, type, member, text)                                                        \
    {                                                                                              \
        .key = (name), .kind = BIND_STRUCTS, .table = &(of), AT(type, member), .doc = (text)       \
    }

const char *const mv1_frameworks[] = {"none", "mpi", "pytorch", "tensorflow", NULL};
const char *const mv1_kinds[] = {"plain", "launcher", "host", NULL};
const char *const mv1_shells[] = {"sh", "bash", "bash-strict", NULL};
const char *const mv1_policies[] = {"never", "on-failure", "always", "exit-code", "by-class", NULL};
const char *const mv1_clean_ups[] = {"", "none", "running", "all", NULL};
const char *const mv1_slots_words[] = {"auto", "unset", "cpu", "gpu", NULL};
const char *const mv1_never[] = {"never", NULL};
const char *const mv1_successes[] = {"all", "first", "never", NULL};
const char *const mv1_repeats[] = {"forever", "always", NULL};
const char *const mv1_any_port[] = {"any", NULL};

/* --- the environment ------------------------------------------------------------------------ */

static const struct bind_field value_fields[] = {
    NODE("value", TAKES_SCALAR, mv1_value, value, "The text itself."),
    NAME("secret", mv1_value, secret, "The Secret that `key` is taken from (--secrets)."),
    NAME("configMap", mv1_value, config_map, "The ConfigMap that `key` is taken from."),
    NAME("key", mv1_value, key, "The key of the Secret or ConfigMap."),
    NAME("field", mv1_value, field,
         "What Kubernetes' fieldRef names: metadata.name, status.podIP, ..."),
    NAME("resource", mv1_value, resource,
         "What Kubernetes' resourceFieldRef names: limits.cpu, requests.memory, ..."),
    NODE("divisor", TAKES_QUANTITY, mv1_value, divisor, "The unit of `resource`: 1m, 1Mi, ..."),
    FLAG("optional", mv1_value, optional, "Not there is no error: the variable is not set then."),
};
const struct bind_table mv1_value_table = BIND_TABLE("a variable", struct mv1_value, value_fields);

static const struct bind_field env_from_fields[] = {
    NAME("secret", mv1_env_from, secret, "The Secret all of whose keys become variables."),
    NAME("configMap", mv1_env_from, config_map,
         "The ConfigMap all of whose keys become variables."),
    TEXT("prefix", mv1_env_from, prefix, "Put before each of the names."),
    FLAG("optional", mv1_env_from, optional, "Not there is no error."),
};
static const struct bind_table env_from_table =
    BIND_TABLE("an envFrom entry", struct mv1_env_from, env_from_fields);

#define ENV(type)                                                                                  \
    {                                                                                              \
        .key = "env", .kind = BIND_NODE, .by_name = true, .takes = TAKES_SCALAR | TAKES_MAP,       \
        .table = &mv1_value_table, AT(type, env),                                                  \
        .doc = "Variables: NAME: value. $(NAME) stands for one that was set before."               \
    }

/* --- volumes and init commands -------------------------------------------------------------- */

static const char *const media[] = {"disk", "memory", NULL};

static const struct bind_field mount_fields[] = {
    {.key = "path",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(mv1_mount, path),
     .doc = "Where the processes see it."},
    NAME("name", mv1_mount, name, "Mounts of one replica that have the same name share a volume."),
    WORD("emptyDir", media, mv1_mount, empty_dir, "A directory that is empty at the start."),
    NAME("hostPath", mv1_mount, host_path, "A path of the machine."),
    NAME("configMap", mv1_mount, config_map, "A ConfigMap, one file per key."),
    NAME("secret", mv1_mount, secret, "A Secret, one file per key."),
    NAME("claim", mv1_mount, claim, "A persistent volume claim; a directory here (--volume)."),
    FLAG("other", mv1_mount, other, "A volume that only `template` describes; not mounted here."),
    NAME("subPath", mv1_mount, sub_path, "The part of the volume that is mounted."),
    FLAG("expandSubPath", mv1_mount, expand_sub_path, "$(NAME) in `subPath` is a variable."),
    {.key = "items",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_STRING,
     AT(mv1_mount, items),
     .doc = "Keys of the ConfigMap or Secret and the files they become; absent: every key."},
    NODE("size", TAKES_QUANTITY, mv1_mount, size, "How much an emptyDir may hold."),
    COUNT("mode", 0, 0777, 0, mv1_mount, mode,
          "The permissions of a ConfigMap's or Secret's files, in decimal as in Kubernetes."),
    FLAG("readOnly", mv1_mount, read_only, "Processes cannot write there."),
    FLAG("optional", mv1_mount, optional, "A ConfigMap or Secret that is not there is no error."),
};
static const struct bind_table mount_table = BIND_TABLE("a mount", struct mv1_mount, mount_fields);

static const struct bind_field init_fields[] = {
    NAME("name", mv1_init, name, "What messages call it; absent: init-0, init-1, ..."),
    TEXT("image", mv1_init, image, "The image it would run in."),
    NODE("command", TAKES_STRING | TAKES_STRINGS, mv1_init, command,
         "A text is run by /bin/sh, a list as it is."),
    STRINGS("args", mv1_init, args, "More words of the command."),
    TEXT("workdir", mv1_init, workdir, "Its working directory."),
    ENV(mv1_init),
    PARTS("envFrom", env_from_table, mv1_init, env_from, "Whole Secrets and ConfigMaps."),
    PARTS("mounts", mount_table, mv1_init, mounts, "What it finds at paths of its own."),
};
static const struct bind_table init_table =
    BIND_TABLE("an init command", struct mv1_init, init_fields);

/* --- a role --------------------------------------------------------------------------------- */

static const struct bind_field port_fields[] = {
    COUNT("count", 1, LIMIT_PORTS, 1, mv1_port, count, "So many numbers under this label."),
    COUNT("from", 0, 65535, 0, mv1_port, from, "The first of fixed numbers; 0: any free ones."),
    COUNT("usual", 0, 65535, 0, mv1_port, usual,
          "The number where a replica has a network of its own; 0: any."),
    FLAG("firstOnly", mv1_port, first_only, "Only the role's replica 0 has it."),
};
const struct bind_table mv1_port_table = BIND_TABLE("a port", struct mv1_port, port_fields);

static const struct bind_field amount_fields[] = {
    NODE("request", TAKES_QUANTITY, mv1_amount, request, "What is asked of a cluster."),
    NODE("limit", TAKES_QUANTITY, mv1_amount, limit, "What must not be exceeded."),
};
const struct bind_table mv1_amount_table =
    BIND_TABLE("a resource", struct mv1_amount, amount_fields);

#define AMOUNT(name, member, text)                                                                 \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, .takes = TAKES_QUANTITY | TAKES_MAP,                     \
        .table = &mv1_amount_table, AT(mv1_resources, member), .doc = (text)                       \
    }
static const struct bind_field resources_fields[] = {
    AMOUNT("cpu", cpu, "Cores: 2, 500m. A plain value is the limit."),
    AMOUNT("memory", memory, "Bytes: 4Gi. A plain value is the limit."),
    NODE("gpu", TAKES_QUANTITY, mv1_resources, gpu, "GPUs, whole ones."),
    NODE("shm", TAKES_QUANTITY, mv1_resources, shm, "The size of /dev/shm."),
};
static const struct bind_table resources_table =
    BIND_TABLE("resources", struct mv1_resources, resources_fields);

static const struct bind_field restart_fields[] = {
    {.key = "policy",
     .kind = BIND_STRING,
     .required = true,
     .words = mv1_policies,
     AT(mv1_restart, policy),
     .doc = "After which endings: exit-code means codes from 128 on, by-class OpenPAI's table."},
    NUMBER("limit", 0, mv1_repeats, mv1_restart, limit,
           "So many restarts of a process (3; by-class: 0), or `forever`."),
};
const struct bind_table mv1_restart_table =
    BIND_TABLE("restart", struct mv1_restart, restart_fields);

static const struct bind_field role_fields[] = {
    COUNT("replicas", 0, INT32_MAX, 1, mv1_role, replicas,
          "So many replicas, each of them a host of its own."),
    NUMBER("slots", 1, mv1_slots_words, mv1_role, slots,
           "Processes per replica (1). For hosts of an MPI job also `auto` or `unset`: mpirun "
           "decides. With ownSlots also `auto`, `cpu` or `gpu`: torchrun counts."),
    NODE("command", TAKES_STRING | TAKES_STRINGS, mv1_role, command,
         "What each process runs: a text by a shell, a list as it is. Absent: the image's own "
         "entry point, or nothing for a host."),
    WORD("shell", mv1_shells, mv1_role, shell,
         "What runs a text: /bin/sh (default), bash, or bash that stops at the first failure."),
    STRINGS("args", mv1_role, args, "For the image's own entry point."),
    FLAG("ownSlots", mv1_role, own_slots,
         "The command is run once in a replica and starts the processes itself, as torchrun does, "
         "which is told by PET_NNODES and its like."),
    FLAG("hostsRanks", mv1_role, hosts_ranks,
         "A launcher in which ranks run too, as on the first host."),
    FLAG("expand", mv1_role, expand, "$(NAME) in a list stands for a variable, as in Kubernetes."),
    TEXT("image", mv1_role, image, "The container's image; here --image says what stands for it."),
    TEXT("workdir", mv1_role, workdir,
         "The working directory, from the job file's directory on (which is the default)."),
    ENV(mv1_role),
    PARTS("envFrom", env_from_table, mv1_role, env_from, "Whole Secrets and ConfigMaps."),
    PART("resources", resources_table, mv1_role, resources, "What a replica needs."),
    {.key = "ports",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_INT | TAKES_STRING | TAKES_MAP,
     .min = 1,
     .max = 65535,
     .words = mv1_any_port,
     .table = &mv1_port_table,
     AT(mv1_role, ports),
     .doc = "Ports a replica is promised, by label: a number, `any` for a free one, or a mapping."},
    PARTS("mounts", mount_table, mv1_role, mounts, "What a replica finds at paths of its own."),
    PARTS("init", init_table, mv1_role, init,
          "Run to their ends in each replica, in order, before its command starts."),
    {.key = "restart",
     .kind = BIND_NODE,
     .takes = TAKES_STRING | TAKES_MAP,
     .words = mv1_policies,
     .table = &mv1_restart_table,
     AT(mv1_role, restart),
     .doc = "When a process is started again in its place: a policy, or policy and limit."},
    NUMBER("failsAfter", 1, mv1_never, mv1_role, fails_after,
           "So many failed replicas fail the job; `never`. Absent: the first process that fails."),
    NUMBER(
        "succeedsAfter", 1, mv1_successes, mv1_role, succeeds_after,
        "So many succeeded replicas end the job with success; `all`, `first` (replica 0 alone) or "
        "`never`. Absent: the job ends when every command has."),
    FLAG("endsAlone", mv1_role, ends_alone,
         "When the job has succeeded, its replicas have the grace period to end by themselves."),
    NODE("grace", TAKES_STRING, mv1_role, grace,
         "From SIGTERM to SIGKILL when a replica is stopped: 30s."),
    WORD("kind", mv1_kinds, mv1_role, kind,
         "In an MPI job a role is the launcher, which runs mpirun, or a host, where ranks run; "
         "elsewhere plain. Absent: told by the framework and the name."),
    NODE("template", TAKES_MAP, mv1_role, template_,
         "What else a Kubernetes pod template says, kept as it is."),
};
static const struct bind_foreign role_foreign[] = {
    {"cpu", "write resources: {cpu: …}"},
    {"gpu", "write resources: {gpu: …}"},
    {"gpus", "write resources: {gpu: …}"},
    {"memory", "write resources: {memory: …}"},
    {"nproc", "write slots: …"},
    {"containers", "image, command and env stand right here"},
    {"volumeMounts", "write mounts: [{path: …, …}]"},
    {"restartPolicy", "write restart: never, on-failure or always"},
    {NULL, NULL},
};
static const struct bind_table role_table = {.what = "a role",
                                             .size = sizeof(struct mv1_role),
                                             .fields = role_fields,
                                             .n = ARRAY_SIZE(role_fields),
                                             .foreign = role_foreign};

/* --- the job -------------------------------------------------------------------------------- */

static const struct bind_field mpi_fields[] = {
    NODE("program", TAKES_STRING | TAKES_STRINGS, mv1_mpi, program,
         "What each rank runs; absent: the hosts' `command`."),
    STRINGS("args", mv1_mpi, args, "Options of mpirun, in Open MPI's words."),
    {.key = "mca",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_SCALAR,
     AT(mv1_mpi, mca),
     .doc = "MCA parameters of Open MPI: name: value."},
    NAME("home", mv1_mpi, home, "Where MPI is installed; bin/mpirun below it is used."),
    NAME("sshd", mv1_mpi, sshd, "The sshd of a cluster's image; none is needed here."),
};
static const struct bind_table mpi_table = BIND_TABLE("mpi", struct mv1_mpi, mpi_fields);

static const struct bind_field mode_role_fields[] = {
    FLAG("skipInit", mv1_mode_role, skip_init, "Its init commands are not run."),
    STRINGS("command", mv1_mode_role, command, "What runs instead of the role's command."),
    STRINGS("args", mv1_mode_role, args, "More words of it."),
};
static const struct bind_table mode_role_table =
    BIND_TABLE("a role of debug or pause", struct mv1_mode_role, mode_role_fields);

static const struct bind_field mode_fields[] = {
    FLAG("enabled", mv1_mode, enabled, "Whether it is on (absent: it is)."),
    {.key = "roles",
     .kind = BIND_STRUCTS,
     .by_name = true,
     .table = &mode_role_table,
     AT(mv1_mode, roles),
     .doc = "What is different for a role, by its name."},
};
const struct bind_table mv1_mode_table = BIND_TABLE("debug or pause", struct mv1_mode, mode_fields);

static const struct bind_field retries_fields[] = {
    NUMBER("max", 0, mv1_repeats, mv1_retries, max,
           "So many more attempts after failures, `forever`, or `always`: after a success too."),
    FLAG("byClass", mv1_retries, by_class,
         "OpenPAI's classes of failures are retried or not whatever `max` says."),
};
const struct bind_table mv1_retries_table =
    BIND_TABLE("retries", struct mv1_retries, retries_fields);

static const struct bind_field elastic_fields[] = {
    COUNT("minReplicas", 0, INT32_MAX, -1, mv1_elastic, min_replicas, "torchrun's least nodes."),
    COUNT("maxReplicas", 0, INT32_MAX, -1, mv1_elastic, max_replicas, "torchrun's most nodes."),
    COUNT("maxRestarts", 0, INT32_MAX, -1, mv1_elastic, max_restarts, "torchrun's --max-restarts."),
    COUNT("processes", 0, INT32_MAX, -1, mv1_elastic, processes, "torchrun's --nproc-per-node."),
    NAME("backend", mv1_elastic, backend, "torchrun's --rdzv-backend: c10d, etcd, ..."),
    NAME("host", mv1_elastic, host, "Host of the rendezvous."),
    COUNT("port", 0, 65535, -1, mv1_elastic, port, "Port of the rendezvous."),
    NAME("id", mv1_elastic, id, "torchrun's --rdzv-id."),
    STRINGS("conf", mv1_elastic, conf, "torchrun's --rdzv-conf, each as key=value."),
    FLAG("standalone", mv1_elastic, standalone, "torchrun's --standalone."),
};
static const struct bind_table elastic_table =
    BIND_TABLE("elastic", struct mv1_elastic, elastic_fields);

static const struct bind_field openpai_fields[] = {
    COUNT("version", 1, 2, 2, mv1_openpai, version,
          "Of the variables: as OpenPAI 1 or 2 has them."),
    TEXT("dataDir", mv1_openpai, data_dir, "PAI_DATA_DIR of version 1."),
    TEXT("outputDir", mv1_openpai, output_dir, "PAI_OUTPUT_DIR of version 1."),
    TEXT("codeDir", mv1_openpai, code_dir, "PAI_CODE_DIR of version 1."),
};
static const struct bind_table openpai_table =
    BIND_TABLE("openpai", struct mv1_openpai, openpai_fields);

#define MODE(name, member, text)                                                                   \
    {                                                                                              \
        .key = (name), .kind = BIND_NODE, .takes = TAKES_BOOL | TAKES_MAP,                         \
        .table = &mv1_mode_table, AT(mv1_job, member), .doc = (text)                               \
    }

static const char *const implementations[] = {"OpenMPI", "Intel", "MPICH", NULL};
static const char *const versions[] = {MUSTER_V1, NULL};

static const struct bind_field job_fields[] = {
    {.key = "apiVersion",
     .kind = BIND_STRING,
     .required = true,
     .words = versions,
     AT(mv1_job, api_version),
     .doc = "Says that this is Muster's own form, and which one."},
    NAME("name", mv1_job, name, "The job's name: letters, digits and any of -._~"),
    NAME("generateName", mv1_job, generate, "The beginning of a name, where there is no `name`."),
    TEXT("namespace", mv1_job, namespace_, "The namespace on a cluster."),
    {.key = "labels", .kind = BIND_KNOWN, .doc = "Labels of the job on a cluster: name: value."},
    {.key = "annotations", .kind = BIND_KNOWN, .doc = "Annotations of the job: name: value."},
    {.key = "description", .kind = BIND_KNOWN, .doc = "A text for people."},
    WORD("framework", mv1_frameworks, mv1_job, framework,
         "Whose variables processes get beside RANK and its like: none (default), pytorch, "
         "tensorflow (TF_CONFIG), mpi (started by mpirun)."),
    {.key = "roles",
     .kind = BIND_STRUCTS,
     .by_name = true,
     .required = true,
     .non_empty = true,
     .table = &role_table,
     AT(mv1_job, roles),
     .doc = "What runs, by names of your choice; ranks are counted in this order."},
    FLAG("ranks", mv1_job, ranks,
         "Whether each process is a rank: RANK, WORLD_SIZE, MASTER_ADDR and so on. Absent: it is, "
         "with the frameworks none and pytorch."),
    FLAG("gang", mv1_job, gang,
         "No command starts before every replica is there (default, unless there is a launcher)."),
    WORD("implementation", implementations, mv1_job, implementation,
         "The MPI that a cluster prepares its pods for: OpenMPI (default), Intel or MPICH."),
    FLAG("sparseCluster", mv1_job, sparse_cluster,
         "TF_CONFIG tells a worker of itself and the parameter servers only."),
    PART("mpi", mpi_table, mv1_job, mpi, "How Muster composes the mpirun line."),
    {.key = "retries",
     .kind = BIND_NODE,
     .takes = TAKES_INT | TAKES_STRING | TAKES_MAP,
     .max = INT32_MAX,
     .words = mv1_repeats,
     .table = &mv1_retries_table,
     AT(mv1_job, retries),
     .doc = "So many more attempts of the whole job after failures (0)."},
    COUNT("restartBudget", 0, INT32_MAX, -1, mv1_job, restart_budget,
          "So many restarts of all processes together."),
    NODE("deadline", TAKES_STRING, mv1_job, deadline,
         "The job fails when its commands have run for so long: 2h."),
    NODE("ttl", TAKES_STRING, mv1_job, ttl, "An ended job is forgotten after so long."),
    {.key = "cleanUp",
     .kind = BIND_STRING,
     .words = mv1_clean_ups + 1,
     AT(mv1_job, clean_up),
     .doc = "What of an ended job's replicas a cluster clears away."},
    FLAG("cleanUpWorkers", mv1_job, clean_up_workers, "The hosts of an ended MPI job go at once."),
    MODE("debug", debug, "Replicas start and wait; what to run is up to `muster exec`."),
    MODE("pause", pause, "The job waits to be resumed before it starts."),
    TEXT("queue", mv1_job, queue, "The queue of a cluster."),
    COUNT("priority", 0, INT32_MAX, -1, mv1_job, priority, "The priority in that queue."),
    TEXT("experiment", mv1_job, experiment, "The experiment it belongs to."),
    TEXT("target", mv1_job, target, "The compute target it is meant for."),
    TEXT("targetType", mv1_job, target_type, "The kind of that target."),
    PART("elastic", elastic_table, mv1_job, elastic, "torchrun's rendezvous, for PyTorch."),
    PART("openpai", openpai_table, mv1_job, openpai, "Processes get OpenPAI's variables too."),
};
static const struct bind_foreign job_foreign[] = {
    {"kind", "muster/v1 has one kind of job: leave it out"},
    {"metadata", "write `name:` at the top level"},
    {"spec", "what is below it stands at the top level"},
    {"replicas", "it is said of each role: roles: {worker: {replicas: …}}"},
    {"command", "it is said of each role: roles: {worker: {command: …}}"},
    {NULL, NULL},
};
const struct bind_table mv1_job_table = {.what = "the job",
                                         .size = sizeof(struct mv1_job),
                                         .fields = job_fields,
                                         .n = ARRAY_SIZE(job_fields),
                                         .foreign = job_foreign};
