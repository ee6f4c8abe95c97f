/* spec.h - the job model that every dialect is lowered into.
 *
 * A job_spec lives in an arena and is const once its dialect has built it. It holds what Muster
 * understands of a file; the rest stays in the residual pod template of the role, so that rendering
 * for Kubernetes loses nothing.
 *
 * Not here: number and names of ranks (plan), the state of a job (job).
 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "doc/diag.h"
#include "doc/tree.h"
#include "spec/platform.h"

enum framework { FRAMEWORK_NONE, FRAMEWORK_MPI, FRAMEWORK_PYTORCH, FRAMEWORK_TENSORFLOW };
const char *framework_name(enum framework f); /* "none", "mpi", … as CONTRACTS §3 */

/* How processes of a role are started. */
enum role_kind {
    ROLE_PLAIN,    /* each slot runs the role's command */
    ROLE_LAUNCHER, /* runs mpirun; starts when every ROLE_HOST replica is ready */
    ROLE_HOST,     /* an MPI worker: waits, the launcher's agent starts processes in it */
};

enum env_source {
    ENV_LITERAL,
    ENV_SECRET,     /* ref_name, ref_key */
    ENV_CONFIG_MAP, /* ref_name, ref_key */
    ENV_FIELD,      /* ref_key = metadata.name, status.podIP, … */
    ENV_RESOURCE,   /* ref_key = limits.cpu, …; ref_name = divisor or NULL */
};

struct env_entry {
    const char *name;
    const char *value; /* ENV_LITERAL; "" if absent */
    const char *ref_name, *ref_key;
    enum env_source source;
    bool optional;
    const struct node *at; /* for messages; NULL if added by Muster */
};

#define QUANTITY_UNSET (-1)
struct resources { /* QUANTITY_UNSET if not in the file */
    int64_t cpu_limit_milli, cpu_request_milli;
    int64_t memory_limit, memory_request; /* bytes */
    int64_t gpu;
    int64_t shm;                                                         /* bytes of /dev/shm */
    const struct node *cpu_limit_at, *memory_limit_at, *gpu_at, *shm_at; /* for messages, or NULL */
};

#define RESOURCES_UNSET                                                                            \
    (struct resources)                                                                             \
    {                                                                                              \
        .cpu_limit_milli = QUANTITY_UNSET, .cpu_request_milli = QUANTITY_UNSET,                    \
        .memory_limit = QUANTITY_UNSET, .memory_request = QUANTITY_UNSET, .gpu = QUANTITY_UNSET,   \
        .shm = QUANTITY_UNSET,                                                                     \
    }

enum slots_kind { SLOTS_NUMBER, SLOTS_AUTO, SLOTS_UNSET };

/* When a process is restarted in place. */
enum restart_policy {
    RESTART_NEVER,
    RESTART_ON_FAILURE,
    RESTART_ALWAYS,
    RESTART_EXIT_CODE, /* on exit code 128 and above */
    RESTART_BY_CLASS,  /* by OpenPAI's retry policy of a task */
};

/* What follows an attempt of the whole job. */
struct retry_policy {
    bool by_class; /* classified failures of OpenPAI ignore max */
    int32_t max;   /* maximum number of retries; -1 = unlimited, -2 = also after success */
};

/* How a shell command is run, as on the platform of the dialect. */
enum shell_kind {
    SHELL_SH,          /* /bin/sh -c TEXT */
    SHELL_BASH,        /* bash -c TEXT */
    SHELL_BASH_STRICT, /* bash -o errexit -o nounset -o pipefail -c TEXT */
};

/* Ports of a replica, reserved for the lifetime of the job and identified by label. */
struct port_request {
    const char *label;     /* as in the file; frameworks: "MASTER_PORT", "TF_CONFIG" */
    int32_t count;         /* number of ports, at least 1 */
    int32_t begin_at;      /* first of `count` fixed ports, or 0: any free ports */
    int32_t usual;         /* the port if the replica has its own network, or 0: any */
    bool first_only;       /* only the role's replica 0 has it */
    const struct node *at; /* for messages, or NULL */
};

/* The type of a volume. */
enum volume_source {
    VOLUME_EMPTY_DIR,
    VOLUME_HOST_PATH,
    VOLUME_CONFIG_MAP,
    VOLUME_SECRET,
    VOLUME_CLAIM,    /* a persistent volume claim */
    VOLUME_OTHER,    /* only in Kubernetes: a note; kept in the template */
    VOLUME_OPERATOR, /* PLAN_OPERATOR: files of the MPIJob operator, its hostfile */
};

struct volume_item { /* a key of a config map or secret, and its file */
    const char *key, *path;
};

struct mount {
    enum volume_source source;
    const char *volume; /* its name in the file; mounts of a replica with this name share it */
    const char *from; /* host path, or the name of the config map, secret or claim; NULL if none */
    const char *path; /* mount point */
    const char *sub_path; /* or NULL */
    bool expand_sub_path; /* expand $(NAME) in it, as in argv */
    bool read_only;
    bool optional;                   /* may be missing; a host path is created */
    bool memory;                     /* an emptyDir of medium Memory */
    int64_t size;                    /* of an emptyDir in bytes; 0 = not set */
    int32_t mode;                    /* of files of a config map or secret; 0 = not set */
    const struct volume_item *items; /* none: every key */
    size_t n_items;
    const struct node *at; /* for messages, or NULL */
};

/* Tasks that share the replicas of a role: TensorFlow workers and parameter servers on nodes of
 * Azure ML. The tasks of a role are assigned to its replicas in turn. */
struct task {
    const char *type; /* "worker", "ps" */
    int32_t count;
    bool serves; /* does not end; the job ends when all others have */
};

/* Commands that a replica runs in order before its own command. */
struct init_command {
    const char *name, *image;              /* image: or NULL */
    const char *const *argv, *const *args; /* as in struct role; $(NAME) is expanded */
    const char *workdir;
    const struct env_entry *env, *env_from;
    size_t n_env, n_env_from;
    const struct mount *mounts;
    size_t n_mounts;
    const struct node *at;
};

struct role {
    const char *name; /* "worker", "launcher": lower case, as in the dialect */
    enum role_kind kind;
    int32_t replicas;
    enum slots_kind slots_kind;
    int32_t slots;    /* processes per replica; 1 unless slots_kind is SLOTS_NUMBER */
    bool hosts_ranks; /* a launcher that also runs ranks, as the first host */
    bool own_slots;   /* its command runs once and starts them (torchrun) */

    /* Exactly one of argv and shell, or none (ROLE_HOST; the image's entry point). */
    const char *const *argv;  /* NULL-terminated */
    const char *shell;        /* secrets in it are "***" ... */
    const char *shell_secret; /* ... but not here: what really runs. NULL: no secrets */
    enum shell_kind shell_kind;
    const char *const *args;       /* for the image's entry point if argv is NULL; or NULL */
    bool expand_argv;              /* expand $(NAME) and $$ in argv, as the kubelet does */
    const struct node *command_at; /* for messages, or NULL */

    const struct port_request *ports;
    size_t n_ports;

    /* The completion policy. A replica succeeds when all its processes do. If neither count is
     * reached, the job ends when every command has ended, and succeeds. */
    int32_t min_failed; /* number of failed replicas that fails the job; 0 means 1, -1 = never */
    const struct node *min_failed_at; /* for messages, or NULL */
    int32_t min_succeeded; /* number of succeeded replicas that ends it; 0 or -1 = not used */
    bool first_decides;    /* success of its replica 0 ends the job (min_succeeded is 0) */

    bool ends_alone; /* after success it gets the grace period to end */

    const char *workdir; /* as in the file, or NULL */
    const struct node *workdir_at;
    const char *image; /* or NULL */
    const struct env_entry *env;
    size_t n_env;
    struct resources res;
    int32_t grace_s; /* terminationGracePeriodSeconds, -1 = not set */
    enum restart_policy restart;
    int32_t restart_limit;          /* maximum restarts per process, -1 = not set;
                              RESTART_BY_CLASS: as retry_policy.max */
    const struct node *template_at; /* the residual pod template, unchanged; or NULL */
    const struct node *replicas_at; /* for messages, or NULL */
    const struct env_entry
        *env_from; /* secrets and config maps with all keys; name is the prefix or "" */
    size_t n_env_from;
    const struct init_command *init; /* in order */
    size_t n_init;
    const struct mount *mounts;
    size_t n_mounts;
    const struct task *tasks; /* its processes, instead of `slots` in each replica; or NULL */
    size_t n_tasks;
    bool implied; /* not in the file: the launcher of a platform that starts mpirun */
};

/* Parts of the generated mpirun command of a launcher (T9k). */
struct mpi_spec {
    const char *home; /* mpiHome, or NULL */
    const struct node *home_at;
    const struct env_entry *mca; /* name = value pairs in file order */
    size_t n_mca;
    const char *const *extra_args; /* NULL-terminated; may be empty, never NULL */
    const char *const *program;    /* program of each rank; NULL-terminated, not empty */
    bool recovery;                 /* --enable-recovery among extra_args */
    const char *sshd_path;         /* absolute, or NULL */
    const struct node *sshd_at;
};

struct debug_role { /* runMode.debug.replicaSpecs[], runMode.pause.resumeSpecs[] */
    const char *role;
    bool skip_init;
    const char *const *command; /* or NULL */
    const char *const *args;
    const struct node *at; /* for messages, or NULL */
};

/* Values for OpenPAI's variables (set for both its dialects). */
struct pai_spec {
    int version;                                  /* 1 or 2 */
    const char *data_dir, *output_dir, *code_dir; /* v1, or NULL */
};

/* Values of `${{inputs.NAME}}` and `${{outputs.NAME}}` in commands of Azure ML. */
enum value_kind {
    VALUE_LITERAL, /* text as it is */
    VALUE_INPUT,   /* a path relative to the directory of the job file */
    VALUE_OUTPUT,  /* a directory (or file) below the run's `outputs` */
};

struct job_value {
    const char *name, *text;
    enum value_kind kind;
    bool remote;      /* text is an address on the platform, not a local path */
    bool direct;      /* the command gets the address */
    bool file;        /* VALUE_OUTPUT: a file, not a directory */
    const char *here; /* --map: the local path; or NULL */
    const struct node *at;
};

/* torchrun's rendezvous (elasticPolicy of a PyTorchJob). -1 or NULL: not set. */
struct elastic_spec {
    int32_t min_replicas, max_replicas, max_restarts, n_proc, port;
    const char *backend, *host, *id;
    const char *const *conf; /* "key=value", NULL-terminated; or NULL */
    bool standalone;
    const struct node *at;
};

/* A value of a ConfigMap or Secret in the job file. */
struct config_value {
    const char *map, *key, *text; /* map: the object's name */
    size_t len;
    bool secret;
};

/* The replicas that a cluster removes after the end of the job. */
enum clean_up { CLEAN_UP_UNSAID, CLEAN_UP_NONE, CLEAN_UP_RUNNING, CLEAN_UP_ALL };

struct job_spec {
    const char *name;       /* metadata.name, or the program of `run -n` */
    const char *generate;   /* metadata.generateName, or NULL */
    const char *namespace_; /* or NULL */
    const char *dialect; /* id of CONTRACTS §2; only for display, never compared: see platform */
    const char *form;    /* "M1", "M2" or NULL: variant of the dialect, for its status */
    enum framework framework;
    struct platform platform;

    const char *file; /* as named by the user, NULL for `run -n` */
    const char *dir;  /* directory of the file, absolute */

    const struct role *roles;
    size_t n_roles;
    const struct mpi_spec *mpi; /* the mpirun command to generate; NULL: commands call mpirun */
    const char
        *implementation; /* MPI implementation of an MPIJob: "OpenMPI", "Intel", "MPICH"; or NULL */
    const struct pai_spec *pai; /* or NULL */

    const struct job_value *values; /* inputs and outputs; Azure ML only */
    size_t n_values;

    const char *experiment;           /* Azure ML's experiment_name, or NULL */
    const char *target, *target_type; /* the compute target, or NULL */
    bool gang;  /* no command starts before every replica is ready (without a launcher) */
    bool ranks; /* every process is a rank, numbered over all roles, as with `run -n` */

    /* Values of secrets in the file, NULL-terminated, or NULL: masked wherever text of the job is
     * shown. */
    const char *const *secret_texts;

    struct retry_policy retry;
    int64_t deadline_s; /* maximum run time of its commands; 0 = unlimited */
    bool has_restart_budget;
    int32_t restart_budget; /* maximum restarts, counted over all processes (backoffLimit) */
    bool has_ttl;
    int64_t ttl_s; /* time to keep the job after its end */
    enum clean_up clean_up;
    const struct elastic_spec *elastic; /* or NULL */
    const char *nproc;   /* nprocPerNode of a PyTorchJob, as in the file; NULL in old versions */
    bool sparse_cluster; /* TFJob: TF_CONFIG of a worker lists only itself and parameter servers */

    bool clean_up_workers;
    bool debug, pause;                      /* enabled */
    const struct node *debug_at, *pause_at; /* the `enabled` keys, for messages */
    const struct debug_role *debug_roles, *resume_roles;
    size_t n_debug_roles, n_resume_roles;
    const char *const *debug_only; /* the roles in debug mode, or NULL: all */

    const char *queue;          /* or NULL */
    int32_t priority;           /* -1 = not set */
    const char *container;      /* name of the training container, for the dialect's status */
    const struct node *name_at; /* for messages, or NULL */
    const struct config_value *config; /* config maps and secrets in the file */
    size_t n_config;
    const struct node *root_at; /* the whole document, for converting it; NULL: none */
};

/* A role with one replica, one process and defaults for the rest. */
struct role spec_new_role(const char *name, enum role_kind kind);

const struct role *spec_role(const struct job_spec *spec, const char *name); /* or NULL */

/* Do processes of the role only wait in debug mode? */
bool spec_debugs(const struct job_spec *spec, const struct role *role);

/* The number of ports of the job: roles in file order, replicas by index, requests in order, ports
 * by index. site.ports has the same order. */
size_t spec_n_ports(const struct job_spec *spec);
bool port_applies(const struct port_request *p,
                  int32_t index); /* to replica `index` of the role? */

/* The ports of replicas with their own networks, spec_n_ports() of them: as in the file or on the
 * platform; others count from `first`. A number may exceed 65535. */
void spec_own_ports(const struct job_spec *spec, int first, int *numbers);

/* Replaces each `${{inputs.NAME}}` and `${{outputs.NAME}}` that the job defines with the result of
 * `of`; returns the text itself if there is none. */
const char *spec_fill_values(struct arena *a, const struct job_spec *spec, const char *text,
                             const char *(*of)(void *ctx, const struct job_value *v), void *ctx);

/* Checks for every dialect: names, counts, limits against requests, shm against memory. Adds
 * diagnostics to ds, each at the node of the value. */
void spec_validate(const struct job_spec *spec, struct diags *ds);

/* The arguments of `muster run -n N --hosts H -- CMD…`. */
struct command_job {
    int32_t n, hosts;           /* n is a multiple of hosts (checked by the caller) */
    const char *const *argv;    /* not copied */
    const char *dir;            /* the caller's working directory */
    const char *name;           /* NULL: derived from argv */
    bool mpi;                   /* one MPI world, started by mpirun */
    const char *implementation; /* the MPI it is linked with: "OpenMPI", "MPICH"; NULL: unknown */
};

/* Returns its job: one role `worker`, preceded by a launcher for an MPI world. */
struct job_spec *spec_from_command(struct arena *a, const struct command_job *job);

/* At most 63 lower-case letters, digits and `-`, with no `-` at either end. */
bool spec_is_dns_label(const char *name);

#endif
