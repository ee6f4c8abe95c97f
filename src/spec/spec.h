/* spec.h - the one job model every dialect is lowered into.
 *
 * A job_spec lives in an arena and is const once its dialect has built it. What Muster understands
 * of a file is here, each datum once; what it does not understand stays in the role's residual pod
 * template, so that a later rendering for Kubernetes loses nothing.
 *
 * Not here: how many ranks there will be and what they are called (plan), what happened (job).
 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "doc/diag.h"
#include "doc/tree.h"

enum framework { FRAMEWORK_NONE, FRAMEWORK_MPI, FRAMEWORK_PYTORCH, FRAMEWORK_TENSORFLOW };
const char *framework_name(enum framework f); /* "none", "mpi", … as CONTRACTS §3 */

/* How a role's processes come to be. */
enum role_kind {
    ROLE_PLAIN,    /* each slot runs the role's command */
    ROLE_LAUNCHER, /* runs mpirun; starts when every ROLE_HOST replica answers */
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
    const struct node *at; /* for messages; NULL if made by Muster */
};

#define QUANTITY_UNSET (-1)
struct resources { /* QUANTITY_UNSET where the file says nothing */
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

/* When a process is started again in its place. */
enum restart_policy {
    RESTART_NEVER,
    RESTART_ON_FAILURE,
    RESTART_ALWAYS,
    RESTART_EXIT_CODE, /* after 128 and above */
    RESTART_BY_CLASS,  /* as OpenPAI's retry policy says for a task */
};

/* What follows an attempt of the whole job. */
struct retry_policy {
    bool by_class; /* OpenPAI's classes of failures are retried or not whatever max says */
    int32_t max;   /* so many after failures; -1 = any number, -2 = also after a success */
};

/* How shell text is run, as the dialect's own system does it. */
enum shell_kind {
    SHELL_SH,          /* /bin/sh -c TEXT */
    SHELL_BASH,        /* bash -c TEXT */
    SHELL_BASH_STRICT, /* bash -o errexit -o nounset -o pipefail -c TEXT */
};

/* Ports a replica is promised. Every number is held for the job's life and told by label. */
struct port_request {
    const char *label;     /* as the file spells it; frameworks: "MASTER_PORT", "TF_CONFIG" */
    int32_t count;         /* numbers under this label, at least 1 */
    int32_t begin_at;      /* first of `count` fixed numbers, or 0: any free ones */
    int32_t usual;         /* the number used where a replica has a network of its own, or 0: any */
    bool first_only;       /* only the role's replica 0 has it */
    const struct node *at; /* for messages, or NULL */
};

/* What a process finds at a path of its own. */
enum volume_source {
    VOLUME_EMPTY_DIR,
    VOLUME_HOST_PATH,
    VOLUME_CONFIG_MAP,
    VOLUME_SECRET,
    VOLUME_CLAIM,    /* a persistent volume claim */
    VOLUME_OTHER,    /* known to Kubernetes only: noted, and kept in the template */
    VOLUME_OPERATOR, /* PLAN_OPERATOR: what an MPIJob's operator hands out, its hostfile */
};

struct volume_item { /* one key of a config map or secret, and the file it becomes */
    const char *key, *path;
};

struct mount {
    enum volume_source source;
    const char *volume; /* its name in the file: mounts of one replica that name it share it */
    const char *from; /* host path, or the name of the config map, secret or claim; NULL if none */
    const char *path; /* where the process sees it */
    const char *sub_path; /* or NULL */
    bool expand_sub_path; /* $(NAME) in it as in argv */
    bool read_only;
    bool optional; /* it need not be there; a host path is made where it is missing */
    bool memory;   /* an emptyDir of medium Memory */
    int64_t size;  /* of such a one in bytes; 0 = not said */
    int32_t mode;  /* of a config map's or secret's files; 0 = not said */
    const struct volume_item *items; /* none: every key */
    size_t n_items;
    const struct node *at; /* for messages, or NULL */
};

/* Tasks that share a role's replicas: TensorFlow's workers and parameter servers on Azure ML's nodes.
 * All of a role's tasks, in order, are dealt out to its replicas one by one. */
struct task {
    const char *type; /* "worker", "ps" */
    int32_t count;
    bool serves; /* never ends by itself: the job is over when all others are */
};

/* Runs to its end in a replica, one after the other, before the replica's command starts. */
struct init_command {
    const char *name, *image;              /* image: or NULL */
    const char *const *argv, *const *args; /* as struct role's, $(NAME) is expanded */
    const char *workdir;
    const struct env_entry *env, *env_from;
    size_t n_env, n_env_from;
    const struct mount *mounts;
    size_t n_mounts;
    const struct node *at;
};

struct role {
    const char *name; /* "worker", "launcher": lower case, as the dialect spells it */
    enum role_kind kind;
    int32_t replicas;
    enum slots_kind slots_kind;
    int32_t slots;    /* processes per replica; 1 unless slots_kind is SLOTS_NUMBER */
    bool hosts_ranks; /* a launcher that is a host of ranks too, the first one */
    bool own_slots;   /* its command, run once, starts them (torchrun) */

    /* Exactly one of argv and shell, or none (ROLE_HOST; the image's entry point). */
    const char *const *argv;  /* NULL-terminated */
    const char *shell;        /* a rendered secret in it is "***" ... */
    const char *shell_secret; /* ... and here as it is: what really runs. NULL: shell has none */
    enum shell_kind shell_kind;
    const char *const *args;       /* for the image's entry point where argv is NULL; or NULL */
    bool expand_argv;              /* $(NAME) and $$ in argv as the kubelet expands them */
    const struct node *command_at; /* for messages, or NULL */

    const struct port_request *ports;
    size_t n_ports;

    /* When replicas of this role end the whole job. A replica succeeds when all its processes do.
     * Where neither count is reached, the job ends when every command has, and succeeds. */
    int32_t min_failed;               /* so many failed: the job fails; 0 counts as 1, -1 = never */
    const struct node *min_failed_at; /* for messages, or NULL */
    int32_t min_succeeded; /* so many succeeded: the job succeeds; 0 or -1 = no such rule */
    bool first_decides; /* the success of its replica 0 alone is the job's (min_succeeded is 0) */

    bool ends_alone; /* when the job has succeeded it is left alone for the grace period */

    const char *workdir; /* as the file says, or NULL */
    const struct node *workdir_at;
    const char *image; /* or NULL */
    const struct env_entry *env;
    size_t n_env;
    struct resources res;
    int32_t grace_s; /* terminationGracePeriodSeconds, -1 = not said */
    enum restart_policy restart;
    int32_t restart_limit; /* so many restarts of a process, -1 = the role itself names no number;
                              RESTART_BY_CLASS: as retry_policy.max */
    const struct node *template_at; /* the residual pod template, verbatim; NULL if there is none */
    const struct node *replicas_at; /* for messages, or NULL */
    const struct env_entry *env_from; /* whole secrets and config maps: name is the prefix or "" */
    size_t n_env_from;
    const struct init_command *init; /* in order */
    size_t n_init;
    const struct mount *mounts;
    size_t n_mounts;
    const struct task *tasks; /* its processes, instead of `slots` in each replica; or NULL */
    size_t n_tasks;
    bool implied; /* no role of the file: the launcher of a platform that starts mpirun itself */
};

/* What a launcher role's mpirun line is made of (T9k composes it from the file's parts). */
struct mpi_spec {
    const char *home; /* mpiHome, or NULL */
    const struct node *home_at;
    const struct env_entry *mca; /* name = value pairs in file order */
    size_t n_mca;
    const char *const *extra_args; /* NULL-terminated; may be empty, never NULL */
    const char *const *program;    /* what each rank runs; NULL-terminated, not empty */
    bool recovery;                 /* --enable-recovery among extra_args */
    const char *sshd_path;         /* absolute, or NULL */
    const struct node *sshd_at;
};

struct debug_role { /* runMode.debug.replicaSpecs[], runMode.pause.resumeSpecs[] */
    const char *role;
    bool skip_init;
    const char *const *command; /* NULL if not said */
    const char *const *args;
    const struct node *at; /* for messages, or NULL */
};

/* What only OpenPAI's environment needs to know (set for both its dialects). */
struct pai_spec {
    int version;                                  /* 1 or 2 */
    const char *data_dir, *output_dir, *code_dir; /* v1, or NULL */
};

/* What `${{inputs.NAME}}` and `${{outputs.NAME}}` in Azure ML's commands stand for. */
enum value_kind {
    VALUE_LITERAL, /* text itself */
    VALUE_INPUT,   /* a path, from the job file's directory on */
    VALUE_OUTPUT,  /* a directory (or file) below the run's `outputs` */
};

struct job_value {
    const char *name, *text;
    enum value_kind kind;
    bool remote;      /* text is an address of the platform's, not a path of this machine */
    bool direct;      /* the command wants the address itself */
    bool file;        /* VALUE_OUTPUT: a file, not a directory */
    const char *here; /* --map: the path on this machine; or NULL */
    const struct node *at;
};

/* torchrun's rendezvous, as a PyTorchJob's elasticPolicy says it. -1 or NULL: not said. */
struct elastic_spec {
    int32_t min_replicas, max_replicas, max_restarts, n_proc, port;
    const char *backend, *host, *id;
    const char *const *conf; /* "key=value", NULL-terminated; or NULL */
    bool standalone;
    const struct node *at;
};

/* One value of a ConfigMap or Secret that stands beside the job in its file. */
struct config_value {
    const char *map, *key, *text; /* map: the object's name */
    size_t len;
    bool secret;
};

/* What of an ended job's replicas is cleared away on a cluster. */
enum clean_up { CLEAN_UP_UNSAID, CLEAN_UP_NONE, CLEAN_UP_RUNNING, CLEAN_UP_ALL };

struct job_spec {
    const char *name;       /* metadata.name, or the program of `run -n` */
    const char *generate;   /* metadata.generateName, or NULL */
    const char *namespace_; /* or NULL */
    const char *dialect;    /* id of CONTRACTS §2 */
    const char *form;       /* "M1", "M2" or NULL: a dialect's own variants, for its status */
    enum framework framework;

    const char *file; /* as named by the user, NULL for `run -n` */
    const char *dir;  /* directory of the file, absolute */

    const struct role *roles;
    size_t n_roles;
    const struct mpi_spec *mpi; /* the mpirun line to compose; NULL: commands call it themselves */
    const char
        *implementation; /* the MPI an MPIJob asks for: "OpenMPI", "Intel", "MPICH"; or NULL */
    const struct pai_spec *pai; /* or NULL */

    const struct job_value *values; /* what commands may name; Azure ML only */
    size_t n_values;

    const char *experiment;           /* Azure ML's experiment_name, or NULL */
    const char *target, *target_type; /* the compute the file names, or NULL */
    bool gang;  /* no command starts before every replica exists (jobs without a launcher) */
    bool ranks; /* every process is a rank, counted over all roles, as with `run -n` */

    /* The values of the file's own secrets, NULL-terminated, or NULL: to be masked wherever text of
     * the job is shown. */
    const char *const *secret_texts;

    struct retry_policy retry;
    int64_t deadline_s; /* the job fails when its commands have run for so long; 0 = never */
    bool has_restart_budget;
    int32_t restart_budget; /* so many restarts of all its processes together (backoffLimit) */
    bool has_ttl;
    int64_t ttl_s; /* an ended job is forgotten after so long */
    enum clean_up clean_up;
    const struct elastic_spec *elastic; /* or NULL */
    const char *nproc;   /* PyTorchJob's nprocPerNode as it is written; NULL in its old form */
    bool sparse_cluster; /* TFJob: a worker is told of itself and the parameter servers only */

    bool clean_up_workers;
    bool debug, pause;                      /* enabled */
    const struct node *debug_at, *pause_at; /* the `enabled` keys, for messages */
    const struct debug_role *debug_roles, *resume_roles;
    size_t n_debug_roles, n_resume_roles;
    const char *const *debug_only; /* the roles that debug is about, or NULL: every one */

    const char *queue;          /* or NULL */
    int32_t priority;           /* -1 = not said */
    const char *container;      /* name of the training container, for the dialect's status */
    const struct node *name_at; /* for messages, or NULL */
    const struct config_value *config; /* what the file itself gives for config maps and secrets */
    size_t n_config;
    const struct node *root_at; /* the whole document, for raising it again; NULL: none */
};

/* One replica with one process, about which nothing more is said. */
struct role spec_new_role(const char *name, enum role_kind kind);

const struct role *spec_role(const struct job_spec *spec, const char *name); /* or NULL */

/* Do the role's processes only wait while the job is debugged? */
bool spec_debugs(const struct job_spec *spec, const struct role *role);

/* How many port numbers the job needs: roles in file order, replicas by index, requests in order,
 * numbers by index. Whoever leases ports gives them in this order (facts.ports). */
size_t spec_n_ports(const struct job_spec *spec);
bool port_applies(const struct port_request *p, int32_t index); /* to the role's replica index? */

/* The text with each `${{inputs.NAME}}` and `${{outputs.NAME}}` that names a value of the job replaced by
 * what `of` says for it; the text itself if there is none. */
const char *spec_fill_values(struct arena *a, const struct job_spec *spec, const char *text,
                             const char *(*of)(void *ctx, const struct job_value *v), void *ctx);

/* Checks that hold for every dialect: names, counts, limits against requests, shm against memory.
 * Adds its findings to ds, each at the node of the value. */
void spec_validate(const struct job_spec *spec, struct diags *ds);

/* The job of `muster run -n N --hosts H -- CMD…`: one role `worker`. argv is not copied.
 * dir is the caller's working directory. N must be a multiple of H (checked by the caller). */
struct job_spec *spec_from_command(struct arena *a, int32_t n, int32_t hosts,
                                   const char *const *argv, const char *dir);

#endif
