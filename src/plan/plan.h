/* plan.h - what will run where: a pure function of a spec and of facts about the machine.
 *
 * The plan names every replica, its host name and address, each process Muster itself starts, its
 * command and, on demand, its environment with the origin of every value. No clock, no I/O: what
 * has to be looked up (is there a directory? which MPI is it?) comes in as `struct facts`.
 *
 * The plan lives in an arena and is const. An environment is made per process when it is wanted
 * (plan_env), because some families cost O(N) in each of N processes.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/err.h"
#include "base/strvec.h"
#include "spec/spec.h"

enum mpi_impl {
    MPI_NOT_FOUND,
    MPI_OPEN_MPI_4, /* ORTE: orterun, orted */
    MPI_OPEN_MPI_5, /* PRRTE: prterun, prted */
    MPI_HYDRA,      /* MPICH's mpiexec.hydra */
    MPI_INTEL,      /* Hydra's names, its own variables */
    MPI_UNKNOWN,    /* something called mpirun that says neither */
};
const char *mpi_impl_words(enum mpi_impl impl); /* "Open MPI 4", "MPICH (Hydra)", … */

/* One value of a Secret or ConfigMap, looked up for a variable or a volume. Lives in memory only: never
 * in the journal, the plan as shown, or a file. */
struct secret_value {
    enum env_source source;
    const char *name, *key, *value;
    size_t len;  /* of value, where it becomes a file */
    bool binary; /* it has NULs in it: no variable can hold it */
};

/* What stands for a volume here. */
enum place_kind {
    PLACE_NONE,   /* nothing; why says why */
    PLACE_FRESH,  /* an empty directory of the replica's own, below PLAN_VOLUMES */
    PLACE_SHARED, /* an empty directory of the job's */
    PLACE_HERE,   /* what is at `here` */
    PLACE_FILES,  /* files made of the values of a config map or secret */
};

/* What a mount becomes here (engine/local/volumes.c). */
struct mount_place {
    const struct mount *mount;
    const char *path; /* the mount point, without the links that lead to it */
    enum place_kind kind;
    const char *here;  /* PLACE_HERE; PLACE_FILES: the directory of the values, or NULL */
    const char *cover; /* path is not there, this directory above it is; or NULL */
    bool inside;       /* path is to be made: it is in a volume that begins empty */
    bool makes_sub;    /* sub_path is made if it is missing */
    const char *why;   /* what a person should know, or NULL */
};

struct mount_table {
    const struct mount_place *v; /* by path */
    size_t n;
};

/* What stands for a role's image here (--image). */
struct image_place {
    const char *prefix; /* its bin is first in PATH; NULL: the machine itself */
    bool conda;         /* a conda environment, else a virtual one */
    bool mapped, any;   /* the user said so; for any image */
};

/* Facts about this machine, collected before planning (engine/local/facts.c). */
struct facts {
    bool root; /* effective uid 0 */
    int cpus;
    int64_t memory;          /* of the machine in bytes; 0 = not known */
    const char *shim;        /* absolute path of muster-shim */
    const char *isolation;   /* "names", "network", "none" */
    const char *run_id;      /* of this run; explain: "RUN_ID" */
    const char *run_dir;     /* absolute; explain: the place it would have, with "RUN_ID" in it */
    const char *scratch_dir; /* short path for sockets and MPI session directories */
    const char *caller_dir;  /* working directory of the caller */
    const char *const *caller_env;  /* environ; only the stated list is taken from it */
    bool clean_env;                 /* --clean-env: nothing of caller_env but PATH, HOME, … */
    const char *const *inherit_env; /* --inherit-env patterns, NULL-terminated; or NULL */
    const char *user;               /* name of the caller */
    const int *ports;               /* spec_n_ports() of them, in its order; 0 = not reserved */
    const char *interface;          /* by which replicas reach each other: "lo", "eth0" */
    const char *const *interfaces;  /* names that exist for a replica, NULL-terminated */
    const char *isolation_why;      /* why it is not the best level, or NULL */
    uint32_t network; /* level `network`: its /16, as a number; 0 = replicas are on the loopback */
    bool python_link; /* `python` is missing here, `python3` is not: bin/ has a link */
    int gpus;         /* of this machine, or pretended by --gpus */
    bool gpus_pretended;
    bool horovodrun; /* is there one on PATH */
    const struct secret_value
        *secrets; /* what --secrets and --configmaps gave; n_secrets of them */
    size_t n_secrets;
    bool cgroup_limits;     /* limits can be enforced */
    const char *cgroup_why; /* if not: why, for a note */

    /* mpi: only where spec_calls_mpi() */
    enum mpi_impl mpi;
    const char *mpirun;      /* absolute path found, or NULL */
    const char *mpi_version; /* "4.1.4" or NULL */
    bool mpi_home_ok;        /* mpi->home/bin/mpirun exists and was used */
    bool mpi_prefix_ok;      /* mpi->home/bin/orted (or prted) exists: --prefix may be passed */
    const bool *workdir_ok;  /* per role of the spec: its workdir is a directory here */
    const char *program; /* what the ranks run, by its first word; NULL: only a shell could tell */
    int program_errno;   /* that cannot be executed here: -ENOENT, -EACCES; 0 = it can */
    bool sshd_ok;        /* mpi->sshd_path exists */
    const char *sshd_found; /* nearest existing sshd, or NULL */

    const char *python3;    /* what python_link leads to, or NULL */
    const char *python;     /* what commands find by the name they use for it, or NULL */
    const char *rdma_lacks; /* the job asks for RDMA, which needs what is not here; or NULL */
    const struct image_place *images; /* per role of the spec; NULL: the machine itself */
    /* per role of the spec: the mounts of its processes, then of each of its init commands */
    const struct mount_table *const *mounts; /* NULL: there are none at all */
    const char *const *const
        *init_dirs;               /* per role and init command: its directory, NULL: the role's */
    const char *const *skip_init; /* --skip-init: names, "" for all; NULL-terminated; or NULL */
};

bool isolation_is(const struct facts *facts, const char *level);

struct process {             /* a process that Muster starts itself; MPI ranks are not among them */
    uint32_t id;             /* index in plan->processes */
    uint32_t replica;        /* index in plan->replicas */
    int32_t slot;            /* 0..slots-1 within the replica */
    int32_t rank;            /* -1 unless it is a rank (run -n, spec->ranks) */
    const struct task *task; /* of its role's tasks, the one it is; or NULL */
    int32_t task_index;      /* among those of its type */
    const char *const *argv; /* NULL for a replica that only waits; secrets in it are "***" */
    const char *shell;       /* at most one of argv and shell */
    const char *shell_secret; /* what really runs if a secret is in it; NULL otherwise */
    enum shell_kind shell_kind;
    const char
        *log; /* of its first start, below RUN_DIR/logs: "launcher-0.log", "worker-0.3.log" */

    /* What is different while the job is debugged, and after a pause. */
    bool debug;                     /* debugged: it only waits */
    const char *const *debug_argv;  /* what runs beside it then, or NULL */
    const char *const *resume_argv; /* resumed: what runs instead, or beside what waits; or NULL */
};

struct plan_port {
    const char *label;
    const int *numbers;
    int n;
};

struct replica {
    uint32_t id;
    const char *name; /* "worker-2", "launcher-0" */
    const struct role *role;
    uint32_t role_index; /* index of role in the spec */
    int32_t index;       /* within the role */
    const char *host;    /* "mpi-example-worker-2" */
    const char *address; /* "127.1.0.4"; level `network`: "10.77.0.4" */
    bool named;          /* its host name resolves inside the job: not at level `none` */
    uint32_t first_process, n_processes;
    const struct plan_port *ports;
    size_t n_ports;
};

enum origin { ORIGIN_JOB, ORIGIN_DIALECT, ORIGIN_FRAMEWORK, ORIGIN_MUSTER, ORIGIN_CALLER };
const char *origin_name(enum origin o);

/* "emptyDir", "hostPath", … */
const char *volume_source_name(enum volume_source source);

struct env_value {
    const char *name, *value;
    enum origin origin;
    const char *why; /* the reason of a default of Muster's own, or NULL */
};

struct plan_note {
    enum severity severity; /* warning or note */
    const char *message;
};

struct plan {
    const struct job_spec *spec;
    const struct facts *facts;
    const struct replica *replicas; /* launcher first, then roles in file order */
    uint32_t n_replicas;
    const struct process *processes;
    uint32_t n_processes;
    int32_t launcher;                  /* process id of the launcher, -1 if there is none */
    int32_t world;                     /* number of ranks expected, -1 if not known */
    const char *const *workdirs;       /* per role: the directory used; see plan_workdir() */
    const struct env_value *passed_on; /* of the caller's variables those that reach a process */
    size_t n_passed_on;
    const char *hosts_file; /* text of the private /etc/hosts */
    const char *hostfile;   /* text in the implementation's format, or NULL */
    const char
        *other_hostfile; /* the same in the other format, for commands that find another mpirun */
    const char *other_hostfile_name;
    const char *operator_hostfile; /* as an MPIJob's operator writes it, or NULL */
    const char *discover_hosts;    /* its script that tells the hosts, or NULL */
    const char *peers_json;        /* CONTRACTS §5 MUSTER_PEERS */
    bool calls_mpi;                /* some command may call mpirun: framework MPI, or it is named */
    bool rank_wrapper;             /* ranks are started through the shim */
    const struct plan_note *notes;
    size_t n_notes;
};

/* Do its commands call `python`? python3 is another. */
bool plan_calls_python(const struct job_spec *spec);

/* Builds the plan. -EINVAL with e set if the job cannot be planned (too many replicas, no command).
 * spec and facts must outlive the plan. */
int plan_build(struct arena *a, const struct job_spec *spec, const struct facts *facts,
               const struct plan **ret, struct err *e);

/* The replica's ports of that label, or NULL. */
const struct plan_port *plan_port(const struct replica *replica, const char *label);

/* "8000,8001": the numbers of a port, comma separated. */
const char *plan_port_text(struct arena *a, const struct plan_port *port);

/* The key "ports" with {"label": number, or a list of them}, inside an open JSON object. */
struct json;
void plan_ports_json(struct json *j, const struct replica *replica);

/* Replica of a role by index. Replicas of one role stand together. */
const struct replica *plan_replica(const struct plan *plan, const struct role *role, int32_t index);

/* What other processes of the job reach the replica by: its host name, or its address where host
 * names do not resolve. For every variable and file that carries a host. */
const char *plan_reachable(const struct replica *replica);

/* The name by which a cluster's DNS knows the replica, "job-worker-0.default.svc", where the dialect has
 * one; else NULL. It resolves where host names do. */
const char *plan_service(struct arena *a, const struct plan *plan, const struct replica *replica);

/* The directory that a replica's processes begin in. */
const char *plan_workdir(struct arena *a, const struct plan *plan, const struct replica *replica);

/* May a command of the job call mpirun, itself or through horovodrun or deepspeed? */
bool spec_calls_mpi(const struct job_spec *spec);

/* Which start of a process: the attempt of the whole job, and how often the process itself was started
 * in it. Both count from 1. */
struct start {
    uint32_t attempt, instance;
    bool resumed; /* after a pause: a file may have another command for that */
    bool debug;   /* the job is debugged: its replicas come up, its training does not */
};
#define FIRST_START ((struct start){.attempt = 1, .instance = 1})
/* The same as the file has it: a job that is debugged begins with that. */
#define PLAN_START(plan) ((struct start){.attempt = 1, .instance = 1, .debug = (plan)->spec->debug})

/* Does this start of a process only make the replica a host that waits? */
bool process_waits(const struct process *process, struct start start);

/* The command that runs beside one that waits, unexpanded; or NULL. Its end with 0 ends nothing. */
const char *const *process_beside(const struct process *process, struct start start);

/* Is what this start executes the process's own shell text, in the form that holds secrets? */
bool process_hides_script(const struct process *process, struct start start);

/* What is executed for a process: its argv, with the values of secrets where it names them, or its
 * shell with the text as the last word. Text that holds a secret (shell_secret) is not in it: the
 * words end before "-c" then, and whoever starts the process hands the text over where others cannot
 * read it. NULL for a replica that only waits. */
const char *const *plan_exec_argv(struct arena *a, const struct plan *plan,
                                  const struct process *process, struct start start);

/* The devices of a replica that asks for GPUs, as CUDA_VISIBLE_DEVICES names them: its share of
 * those of this machine, or "" where there are not enough for the whole job. NULL: it asks for none. */
const char *plan_gpus(struct arena *a, const struct plan *plan, const struct replica *replica);

/* Name below RUN_DIR/logs of what this start of a process writes: "worker-0.log", and later ones
 * "worker-0.attempt-2.log", "worker-0.attempt-2.restart-1.log"; "" for a replica that only waits. */
#define PLAN_LOG_NAME 192
const char *plan_log_name(const struct process *process, struct start start,
                          char out[PLAN_LOG_NAME]);

/* The environment of one process, in a stable order, each name once. ENV_SECRET values are "***" if
 * masked. A later origin of this list wins over an earlier one: caller, muster's defaults for MPI
 * (overridable, so weaker than the job's), framework, dialect, job; CONTRACTS §5 names always win. */
size_t plan_env(struct arena *a, const struct plan *plan, uint32_t process, struct start start,
                bool masked, const struct env_value **ret);

/* --- init commands (init.c) ------------------------------------------------------------------- */

/* Does this start of a replica's process run init command i of its role first? */
bool plan_runs_init(const struct plan *plan, const struct replica *replica, size_t i,
                    struct start start);
/* What is executed for it, its environment and directory; as for a process, secrets are masked in what
 * is shown only. NULL: it needs its image's entry point. */
const char *const *plan_init_argv(struct arena *a, const struct plan *plan,
                                  const struct replica *replica, size_t i, struct start start,
                                  bool masked);
size_t plan_init_env(struct arena *a, const struct plan *plan, const struct replica *replica,
                     size_t i, struct start start, bool masked, const struct env_value **ret);
const char *plan_init_workdir(struct arena *a, const struct plan *plan,
                              const struct replica *replica, size_t i);
/* "worker-0.init-fetch.log", later "worker-0.attempt-2.init-fetch.log" */
const char *plan_init_log(const struct replica *replica, const char *init, struct start start,
                          char out[PLAN_LOG_NAME]);

/* The part of its volume that a mount of the replica means, $(NAME) expanded; "" = all of it. i: of the
 * init command, -1 = the replica's processes. */
const char *plan_sub_path(struct arena *a, const struct plan *plan, const struct replica *replica,
                          int i, const struct mount *mount);

/* Names below the run directory that the engine writes before anything starts. */
#define PLAN_HOSTFILE "hostfile"
#define PLAN_HOSTFILE_OPEN_MPI "hostfile.openmpi"
#define PLAN_HOSTFILE_HYDRA "hostfile.hydra"
#define PLAN_PEERS "peers.json"
#define PLAN_OUTPUTS "outputs" /* Azure ML: PLAN_OUTPUTS/NAME */
/* What stands at /etc/mpi in the pods of an MPIJob. */
#define PLAN_OPERATOR "mpi"
#define PLAN_DISCOVER_HOSTS "discover_hosts.sh"
/* Below the scratch directory, because Open MPI splits its agents' paths at spaces. */
#define PLAN_BIN "bin"                  /* first in PATH: ssh, rsh -> the shim */
#define PLAN_VOLUMES "volumes"          /* PLAN_VOLUMES/REPLICA/VOLUME; of the job: .job */
#define PLAN_RANK_WRAPPER "muster-rank" /* in PLAN_BIN -> the shim */

#endif
