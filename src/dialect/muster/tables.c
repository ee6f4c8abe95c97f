/* tables.c - the keys of Muster's own job file, each with what it says. Tables only; the
 * schema and the manual page are made of them. */
#include <stddef.h>

#include "base/limits.h"
#include "dialect/muster/muster_v1.h"

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
    NODE("value", TAKES_SCALAR, mv1_value, value, "A literal value."),
    NAME("secret", mv1_value, secret, "The Secret that `key` is taken from (--secrets)."),
    NAME("configMap", mv1_value, config_map, "The ConfigMap that `key` is taken from."),
    NAME("key", mv1_value, key, "The key of the Secret or ConfigMap."),
    NAME("field", mv1_value, field,
         "What Kubernetes' fieldRef names: metadata.name, status.podIP, ..."),
    NAME("resource", mv1_value, resource,
         "What Kubernetes' resourceFieldRef names: limits.cpu, requests.memory, ..."),
    NODE("divisor", TAKES_QUANTITY, mv1_value, divisor, "The unit of `resource`: 1m, 1Mi, ..."),
    FLAG("optional", mv1_value, optional, "If the source is missing, leave the variable unset."),
};
const struct bind_table mv1_value_table = BIND_TABLE("a variable", struct mv1_value, value_fields);

static const struct bind_field env_from_fields[] = {
    NAME("secret", mv1_env_from, secret, "A Secret whose keys all become variables."),
    NAME("configMap", mv1_env_from, config_map, "A ConfigMap whose keys all become variables."),
    TEXT("prefix", mv1_env_from, prefix, "A prefix for each name."),
    FLAG("optional", mv1_env_from, optional, "Ignore a missing source."),
};
static const struct bind_table env_from_table =
    BIND_TABLE("an envFrom entry", struct mv1_env_from, env_from_fields);

#define ENV(type)                                                                                  \
    {                                                                                              \
        .key = "env", .kind = BIND_NODE, .by_name = true, .takes = TAKES_SCALAR | TAKES_MAP,       \
        .table = &mv1_value_table, AT(type, env),                                                  \
        .doc = "Variables, NAME: value. $(NAME) refers to a variable set before."                  \
    }

/* --- volumes and init commands -------------------------------------------------------------- */

static const char *const media[] = {"disk", "memory", NULL};

static const struct bind_field mount_fields[] = {
    {.key = "path",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(mv1_mount, path),
     .doc = "The path in the replica."},
    NAME("name", mv1_mount, name, "Mounts of one replica that have the same name share a volume."),
    WORD("emptyDir", media, mv1_mount, empty_dir, "A directory that is empty at the start."),
    NAME("hostPath", mv1_mount, host_path, "A path of the machine."),
    NAME("configMap", mv1_mount, config_map, "A ConfigMap, one file per key."),
    NAME("secret", mv1_mount, secret, "A Secret, one file per key."),
    NAME("claim", mv1_mount, claim, "A persistent volume claim; a local directory (--volume)."),
    FLAG("other", mv1_mount, other,
         "A volume that only `template` describes; not mounted locally."),
    NAME("subPath", mv1_mount, sub_path, "The subdirectory of the volume to mount."),
    FLAG("expandSubPath", mv1_mount, expand_sub_path, "Expand $(NAME) in `subPath`."),
    {.key = "items",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_STRING,
     AT(mv1_mount, items),
     .doc = "Keys of the ConfigMap or Secret and the files they become; absent: every key."},
    NODE("size", TAKES_QUANTITY, mv1_mount, size, "Size limit of an emptyDir."),
    COUNT("mode", 0, 0777, 0, mv1_mount, mode,
          "The permissions of a ConfigMap's or Secret's files, in decimal as in Kubernetes."),
    FLAG("readOnly", mv1_mount, read_only, "Mount read-only."),
    FLAG("optional", mv1_mount, optional, "Ignore a missing ConfigMap or Secret."),
};
static const struct bind_table mount_table = BIND_TABLE("a mount", struct mv1_mount, mount_fields);

static const struct bind_field init_fields[] = {
    NAME("name", mv1_init, name, "Name for messages (default: init-0, init-1, ...)."),
    TEXT("image", mv1_init, image, "The image."),
    NODE("command", TAKES_STRING | TAKES_STRINGS, mv1_init, command,
         "A string is run by /bin/sh, a list is executed directly."),
    STRINGS("args", mv1_init, args, "Arguments of the command."),
    TEXT("workdir", mv1_init, workdir, "Its working directory."),
    ENV(mv1_init),
    PARTS("envFrom", env_from_table, mv1_init, env_from,
          "Secrets and ConfigMaps whose keys all become variables."),
    PARTS("mounts", mount_table, mv1_init, mounts, "Volumes and their mount paths."),
};
static const struct bind_table init_table =
    BIND_TABLE("an init command", struct mv1_init, init_fields);

/* --- a role --------------------------------------------------------------------------------- */

static const struct bind_field port_fields[] = {
    COUNT("count", 1, LIMIT_PORTS, 1, mv1_port, count, "The number of ports with this label."),
    COUNT("from", 0, 65535, 0, mv1_port, from, "The first port number; 0: any free ports."),
    COUNT("usual", 0, 65535, 0, mv1_port, usual,
          "The port number if the replica has its own network; 0: any."),
    FLAG("firstOnly", mv1_port, first_only, "Only replica 0 of the role has it."),
};
const struct bind_table mv1_port_table = BIND_TABLE("a port", struct mv1_port, port_fields);

static const struct bind_field amount_fields[] = {
    NODE("request", TAKES_QUANTITY, mv1_amount, request, "Resource requests."),
    NODE("limit", TAKES_QUANTITY, mv1_amount, limit, "Resource limits."),
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
    NODE("gpu", TAKES_QUANTITY, mv1_resources, gpu, "The number of GPUs."),
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
     .doc = "When to restart: exit-code on exit codes from 128, by-class by OpenPAI's table."},
    NUMBER("limit", 0, mv1_repeats, mv1_restart, limit,
           "Maximum number of restarts per process (default 3; by-class: 0), or `forever`."),
};
const struct bind_table mv1_restart_table =
    BIND_TABLE("restart", struct mv1_restart, restart_fields);

static const struct bind_field role_fields[] = {
    COUNT("replicas", 0, INT32_MAX, 1, mv1_role, replicas,
          "The number of replicas; each is a separate host."),
    NUMBER("slots", 1, mv1_slots_words, mv1_role, slots,
           "Processes per replica (1). For hosts of an MPI job also `auto` or `unset`: mpirun "
           "decides. With ownSlots also `auto`, `cpu` or `gpu`: torchrun counts."),
    NODE("command", TAKES_STRING | TAKES_STRINGS, mv1_role, command,
         "The command of each process: a string is run by a shell, a list is executed directly. "
         "Default: the image's entry point, or nothing for a host."),
    WORD("shell", mv1_shells, mv1_role, shell,
         "The shell for a string: /bin/sh (default), bash, or bash that stops at the first "
         "failure."),
    STRINGS("args", mv1_role, args, "Arguments for the image's entry point."),
    FLAG("ownSlots", mv1_role, own_slots,
         "The command runs once per replica and starts the processes itself, as torchrun does "
         "(configured by PET_NNODES and similar variables)."),
    FLAG("hostsRanks", mv1_role, hosts_ranks, "Also run ranks in the launcher, as the first host."),
    FLAG("expand", mv1_role, expand, "Expand $(NAME) in a list, as Kubernetes does."),
    TEXT("image", mv1_role, image, "The container image; locally replaced by --image."),
    TEXT("workdir", mv1_role, workdir,
         "The working directory, relative to the directory of the job file (the default)."),
    ENV(mv1_role),
    PARTS("envFrom", env_from_table, mv1_role, env_from,
          "Secrets and ConfigMaps whose keys all become variables."),
    PART("resources", resources_table, mv1_role, resources, "Resources of a replica."),
    {.key = "ports",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_INT | TAKES_STRING | TAKES_MAP,
     .min = 1,
     .max = 65535,
     .words = mv1_any_port,
     .table = &mv1_port_table,
     AT(mv1_role, ports),
     .doc = "Ports of a replica by label: a number, `any` for a free port, or a mapping."},
    PARTS("mounts", mount_table, mv1_role, mounts, "Volumes of a replica and their mount paths."),
    PARTS("init", init_table, mv1_role, init,
          "Commands that each replica runs in order before its command."),
    {.key = "restart",
     .kind = BIND_NODE,
     .takes = TAKES_STRING | TAKES_MAP,
     .words = mv1_policies,
     .table = &mv1_restart_table,
     AT(mv1_role, restart),
     .doc = "When to restart a process: a policy, or policy and limit."},
    NUMBER("failsAfter", 1, mv1_never, mv1_role, fails_after,
           "The number of failed replicas that fails the job, or `never`. Default: the first "
           "failed process fails it."),
    NUMBER("succeedsAfter", 1, mv1_successes, mv1_role, succeeds_after,
           "The number of succeeded replicas that ends the job with success, `all`, `first` "
           "(replica 0) or `never`. Default: the job ends when every command has ended."),
    FLAG("endsAlone", mv1_role, ends_alone,
         "When the job has succeeded, let its replicas end within the grace period."),
    NODE("grace", TAKES_STRING, mv1_role, grace,
         "Time between SIGTERM and SIGKILL when a replica is stopped, such as 30s."),
    WORD("kind", mv1_kinds, mv1_role, kind,
         "In an MPI job, a role is the launcher, which runs mpirun, or a host, which runs ranks; "
         "otherwise plain. Default: by framework and name."),
    NODE("template", TAKES_MAP, mv1_role, template_,
         "Other keys of a Kubernetes pod template, kept unchanged."),
};
static const struct bind_foreign role_foreign[] = {
    {"cpu", "write resources: {cpu: …}"},
    {"gpu", "write resources: {gpu: …}"},
    {"gpus", "write resources: {gpu: …}"},
    {"memory", "write resources: {memory: …}"},
    {"nproc", "write slots: …"},
    {"containers", "image, command and env belong directly here"},
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
         "The program of each rank (default: the hosts' `command`)."),
    STRINGS("args", mv1_mpi, args, "Options of mpirun, in Open MPI syntax."),
    {.key = "mca",
     .kind = BIND_NODE,
     .by_name = true,
     .takes = TAKES_SCALAR,
     AT(mv1_mpi, mca),
     .doc = "MCA parameters of Open MPI: name: value."},
    NAME("home", mv1_mpi, home, "The installation directory of MPI; its bin/mpirun is used."),
    NAME("sshd", mv1_mpi, sshd, "The path of sshd in the cluster's image; not needed locally."),
};
static const struct bind_table mpi_table = BIND_TABLE("mpi", struct mv1_mpi, mpi_fields);

static const struct bind_field mode_role_fields[] = {
    FLAG("skipInit", mv1_mode_role, skip_init, "Skip its init commands."),
    STRINGS("command", mv1_mode_role, command, "The command instead of the role's."),
    STRINGS("args", mv1_mode_role, args, "Arguments of the command."),
};
static const struct bind_table mode_role_table =
    BIND_TABLE("a role of debug or pause", struct mv1_mode_role, mode_role_fields);

static const struct bind_field mode_fields[] = {
    FLAG("enabled", mv1_mode, enabled, "Whether it is enabled (default: true)."),
    {.key = "roles",
     .kind = BIND_STRUCTS,
     .by_name = true,
     .table = &mode_role_table,
     AT(mv1_mode, roles),
     .doc = "Overrides by role name."},
};
const struct bind_table mv1_mode_table = BIND_TABLE("debug or pause", struct mv1_mode, mode_fields);

static const struct bind_field retries_fields[] = {
    NUMBER(
        "max", 0, mv1_repeats, mv1_retries, max,
        "Maximum number of retries after a failure, `forever`, or `always` (also after success)."),
    FLAG("byClass", mv1_retries, by_class,
         "Failures that OpenPAI classifies are retried or not regardless of `max`."),
};
const struct bind_table mv1_retries_table =
    BIND_TABLE("retries", struct mv1_retries, retries_fields);

static const struct bind_field elastic_fields[] = {
    COUNT("minReplicas", 0, INT32_MAX, -1, mv1_elastic, min_replicas,
          "Minimum number of nodes for torchrun."),
    COUNT("maxReplicas", 0, INT32_MAX, -1, mv1_elastic, max_replicas,
          "Maximum number of nodes for torchrun."),
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
    COUNT("version", 1, 2, 2, mv1_openpai, version, "Version of the variables: OpenPAI 1 or 2."),
    TEXT("dataDir", mv1_openpai, data_dir, "PAI_DATA_DIR of version 1."),
    TEXT("outputDir", mv1_openpai, output_dir, "PAI_OUTPUT_DIR of version 1."),
    TEXT("codeDir", mv1_openpai, code_dir, "PAI_CODE_DIR of version 1."),
};
static const struct bind_table openpai_table =
    BIND_TABLE("openpai", struct mv1_openpai, openpai_fields);

static const struct bind_field platform_fields[] = {
    WORD("like", platform_words, mv1_platform, like,
         "The platform that applies where the other keys do not say otherwise (muster)."),
    WORD(
        "hosts", host_naming_words, mv1_platform, hosts,
        "Host names: by-role (worker-0), by-task (the same without letters that a host name cannot "
        "have), by-job (job-worker-0)."),
    WORD("services", service_naming_words, mv1_platform, services,
         "Names of replicas in a cluster's DNS: none, by-replica (host.namespace.svc), of-workers "
         "(host.job-worker), by-job (host.job.namespace.svc)."),
    WORD("environment", platform_words, mv1_platform, environment,
         "Whose variables processes get beside those of their framework."),
    WORD("status", platform_words, mv1_platform, status,
         "In whose words the report gives the job's status."),
};
const struct bind_table mv1_platform_table =
    BIND_TABLE("platform", struct mv1_platform, platform_fields);

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
     .doc = "The version of Muster's own format."},
    NAME("name", mv1_job, name, "The job's name: letters, digits and any of -._~"),
    NAME("generateName", mv1_job, generate, "Prefix of a generated name if there is no `name`."),
    TEXT("namespace", mv1_job, namespace_, "The namespace on a cluster."),
    {.key = "labels", .kind = BIND_KNOWN, .doc = "Labels of the job on a cluster: name: value."},
    {.key = "annotations", .kind = BIND_KNOWN, .doc = "Annotations of the job: name: value."},
    {.key = "description", .kind = BIND_KNOWN, .doc = "A description."},
    WORD("framework", mv1_frameworks, mv1_job, framework,
         "The framework, which adds variables: none (default), pytorch, tensorflow (TF_CONFIG), "
         "mpi (started by mpirun)."),
    {.key = "platform",
     .kind = BIND_NODE,
     .takes = TAKES_STRING | TAKES_MAP,
     .words = platform_words,
     .table = &mv1_platform_table,
     AT(mv1_job, platform),
     .doc =
         "The platform the job was written for: its host names, variables and status. A name, or "
         "a mapping of these."},
    {.key = "roles",
     .kind = BIND_STRUCTS,
     .by_name = true,
     .required = true,
     .non_empty = true,
     .table = &role_table,
     AT(mv1_job, roles),
     .doc = "The roles by name; ranks are numbered in this order."},
    FLAG("ranks", mv1_job, ranks,
         "Whether each process is a rank with RANK, WORLD_SIZE, MASTER_ADDR and so on. Default: "
         "true for frameworks none and pytorch."),
    FLAG("gang", mv1_job, gang,
         "Start no command before every replica is ready (default, unless there is a launcher)."),
    WORD("implementation", implementations, mv1_job, implementation,
         "The MPI implementation: OpenMPI (default), Intel or MPICH."),
    FLAG("sparseCluster", mv1_job, sparse_cluster,
         "TF_CONFIG of a worker lists only itself and the parameter servers."),
    PART("mpi", mpi_table, mv1_job, mpi, "Parts of the generated mpirun command."),
    {.key = "retries",
     .kind = BIND_NODE,
     .takes = TAKES_INT | TAKES_STRING | TAKES_MAP,
     .max = INT32_MAX,
     .words = mv1_repeats,
     .table = &mv1_retries_table,
     AT(mv1_job, retries),
     .doc = "Maximum number of retries of the whole job (default 0)."},
    COUNT("restartBudget", 0, INT32_MAX, -1, mv1_job, restart_budget,
          "Maximum number of restarts, counted over all processes."),
    NODE("deadline", TAKES_STRING, mv1_job, deadline, "Deadline of the job, such as 2h."),
    NODE("ttl", TAKES_STRING, mv1_job, ttl, "Time to keep the job after its end."),
    {.key = "cleanUp",
     .kind = BIND_STRING,
     .words = mv1_clean_ups + 1,
     AT(mv1_job, clean_up),
     .doc = "The replicas that a cluster removes after the end of the job."},
    FLAG("cleanUpWorkers", mv1_job, clean_up_workers,
         "Remove the hosts of an MPI job as soon as it has ended."),
    MODE("debug", debug, "Start the replicas without their commands, for `muster exec`."),
    MODE("pause", pause, "Start the job paused."),
    TEXT("queue", mv1_job, queue, "The queue of a cluster."),
    COUNT("priority", 0, INT32_MAX, -1, mv1_job, priority, "The priority in that queue."),
    TEXT("experiment", mv1_job, experiment, "The experiment of the job."),
    TEXT("target", mv1_job, target, "The compute target."),
    TEXT("targetType", mv1_job, target_type, "The type of the compute target."),
    PART("elastic", elastic_table, mv1_job, elastic, "Settings of torchrun's elastic rendezvous."),
    PART("openpai", openpai_table, mv1_job, openpai, "Also set OpenPAI's variables."),
};
static const struct bind_foreign job_foreign[] = {
    {"kind", "muster/v1 has only one kind of job; remove it"},
    {"metadata", "write `name:` at the top level"},
    {"spec", "move its keys to the top level"},
    {"replicas", "set it per role: roles: {worker: {replicas: …}}"},
    {"command", "set it per role: roles: {worker: {command: …}}"},
    {NULL, NULL},
};
const struct bind_table mv1_job_table = {.what = "the job",
                                         .size = sizeof(struct mv1_job),
                                         .fields = job_fields,
                                         .n = ARRAY_SIZE(job_fields),
                                         .foreign = job_foreign};
