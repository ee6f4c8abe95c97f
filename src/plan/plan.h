/* plan.h - what will run where: a pure function of a spec and a site (site.h).
 *
 * The plan has every replica with host name and address, each process that Muster starts with its
 * command and, on demand, its environment with the origin of every value. No clock, no I/O: what
 * must be looked up (directories, the MPI implementation) is in `struct facts`.
 *
 * The plan lives in an arena and is const. Environments are built on demand per process (plan_env),
 * because some families cost O(N) in each of N processes.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/site.h"

struct process {              /* a process that Muster starts; not an MPI rank */
    uint32_t id;              /* index in plan->processes */
    uint32_t replica;         /* index in plan->replicas */
    int32_t slot;             /* 0..slots-1 within the replica */
    int32_t rank;             /* -1 unless it is a rank (run -n, spec->ranks) */
    const struct task *task;  /* its task, or NULL */
    int32_t task_index;       /* among tasks of its type */
    const char *const *argv;  /* NULL for a replica that only waits; secrets in it are "***" */
    const char *shell;        /* at most one of argv and shell */
    const char *shell_secret; /* what really runs if shell contains a secret; or NULL */
    enum shell_kind shell_kind;
    const char *log; /* log of its first start, in RUN_DIR/logs: "worker-0.3.log" */

    /* Overrides in debug mode and after a pause. */
    bool debug;                     /* debug mode: it only waits */
    const char *const *debug_argv;  /* what runs meanwhile, or NULL */
    const char *const *resume_argv; /* resumed: what runs instead, or while it waits; or NULL */
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
    const char *address; /* "127.1.0.4"; level `network`: "10.77.0.4"; site.service: a name there */
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
    const char *name, *value; /* value: "" of a reference */
    /* The secret, config map, field or resource that the site resolves (site.references). */
    const struct env_entry *reference;
    enum origin origin;
    bool local;      /* applies to this machine only; omitted with site.elsewhere */
    bool expands;    /* $(NAME) in it is expanded by the site (site.references) */
    const char *why; /* the reason of a default of Muster, or NULL */
};

/* The subject of a note, most important first: run shows only a few. */
enum note_weight {
    NOTE_MACHINE,  /* the job changes this machine: always shown */
    NOTE_FAILS,    /* the job cannot succeed as it is */
    NOTE_REPLACED, /* something other than in the file is used */
    NOTE_GPUS,     /* fewer GPUs than requested */
    NOTE_SIZE,     /* fewer cores or less memory than requested */
};

struct plan_note {
    enum severity severity; /* warning or note */
    enum note_weight weight;
    const char *message;
    size_t roles; /* length of the leading role names in the message: "ps, worker"; or 0 */
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
    const struct env_value *passed_on; /* the caller's variables that are passed on */
    size_t n_passed_on;
    const char *hosts_file; /* text of the private /etc/hosts; NULL: names resolve by Services */
    const char *hostfile;   /* text in the implementation's format, or NULL */
    const char *other_hostfile; /* the same in the other format, for another mpirun */
    const char *other_hostfile_name;
    const char *operator_hostfile; /* as written by the MPIJob operator, or NULL */
    const char *discover_hosts;    /* its script that lists the hosts, or NULL */
    const char *peers_json;        /* CONTRACTS §5 MUSTER_PEERS */
    bool calls_mpi;    /* some command may call mpirun: framework MPI, or found in a command */
    bool rank_wrapper; /* ranks are started through the shim */
    const struct plan_note *notes; /* by weight */
    size_t n_notes;
};

/* The run directory as this machine has it: logs, journal and report are there. */
static inline const char *plan_records(const struct plan *plan)
{
    const struct site *site = &plan->facts->site;

    return site->records ? site->records : site->run_dir;
}

/* Do its commands call `python` (not python3)? */
bool plan_calls_python(const struct job_spec *spec);

/* Builds the plan. -EINVAL with e set if the job cannot be planned (too many replicas, no command).
 * spec and facts must outlive the plan. */
int plan_build(struct arena *a, const struct job_spec *spec, const struct facts *facts,
               const struct plan **ret, struct err *e);

/* A missing program without which the process fails, or NULL (notes_missing.c). */
const struct missing *plan_missing(const struct plan *plan, const struct process *process);
/* One sentence: what is missing, and what to do about it. */
const char *missing_text(struct arena *a, const struct plan *plan, const struct missing *m);
/* All of them; the same text for several roles is merged: "ROLE, ROLE: TEXT". */
/* A sentence if a job has far more processes than the machine has CPUs (0: unknown); else NULL. */
const char *plan_crowd(struct arena *a, uint64_t processes, int cpus);

size_t plan_missing_texts(struct arena *a, const struct plan *plan, const char ***ret);
/* Is there any such process? */
bool plan_refused(const struct plan *plan);

/* The replica's ports of that label, or NULL. */
const struct plan_port *plan_port(const struct replica *replica, const char *label);

/* "8000,8001": the numbers of a port, comma separated. */
const char *plan_port_text(struct arena *a, const struct plan_port *port);

/* The key "ports" with {"label": number, or a list of them}, inside an open JSON object. */
struct json;
void plan_ports_json(struct json *j, const struct replica *replica);

/* A replica of a role by index. Replicas of a role are contiguous. */
const struct replica *plan_replica(const struct plan *plan, const struct role *role, int32_t index);

/* How other processes reach the replica: its host name, or its address if host names do not
 * resolve. For every variable and file that contains a host. */
const char *plan_reachable(const struct replica *replica);

/* The DNS name of the replica on a cluster, "job-worker-0.default.svc", if the platform or the site
 * has one; else NULL. It resolves where host names do. */
const char *plan_service(struct arena *a, const struct plan *plan, const struct replica *replica);

/* All names that resolve to the replica, separated by blanks; its host name first. */
const char *plan_host_names(struct arena *a, const struct plan *plan, const struct replica *rp);

/* The working directory of a replica's processes. NULL: that of the image (site.elsewhere). */
const char *plan_workdir(struct arena *a, const struct plan *plan, const struct replica *replica);

/* May a command of the job call mpirun, itself or through horovodrun or deepspeed? */
bool spec_calls_mpi(const struct job_spec *spec);

/* A start of a process: the attempt of the job, and the instance of the process within it. Both
 * count from 1. */
struct start {
    uint32_t attempt, instance;
    bool resumed; /* after a pause, for which a file may set another command */
    bool debug;   /* debug mode: replicas start without their commands */
};
#define FIRST_START ((struct start){.attempt = 1, .instance = 1})
/* The first start with the debug mode of the file. */
#define PLAN_START(plan) ((struct start){.attempt = 1, .instance = 1, .debug = (plan)->spec->debug})

/* Does this start of a process only make the replica a waiting host? */
bool process_waits(const struct process *process, struct start start);

/* The command that runs while the process waits, unexpanded; or NULL. Its exit with status 0 ends
 * nothing. */
const char *const *process_waiting_argv(const struct process *process, struct start start);

/* Does this start execute shell_secret of the process? */
bool process_hides_script(const struct process *process, struct start start);

/* What is executed for a process: its argv with secrets filled in, or its shell with the command as
 * the last argument. A command that contains a secret (shell_secret) is not included: the arguments
 * end before "-c", and the caller passes the command where other users cannot read it. NULL for a
 * replica that only waits. */
const char *const *plan_exec_argv(struct arena *a, const struct plan *plan,
                                  const struct process *process, struct start start);

/* CUDA_VISIBLE_DEVICES of a replica that requests GPUs: its share of this machine's GPUs, or "" if
 * there are not enough for the whole job. NULL: it requests none. */
const char *plan_gpus(struct arena *a, const struct plan *plan, const struct replica *replica);

/* Name of the log of this start in RUN_DIR/logs: "worker-0.log", and later ones
 * "worker-0.attempt-2.log", "worker-0.attempt-2.restart-1.log"; "" for a replica that only waits.
 */
#define PLAN_LOG_NAME 192
const char *plan_log_name(const struct process *process, struct start start,
                          char out[PLAN_LOG_NAME]);

/* The environment of one process, in a stable order, each name once. ENV_SECRET values are "***" if
 * masked. With site.references, env_from of the role is not included, and values of the job are as
 * in the file. Later origins override earlier ones: caller, defaults of Muster, framework, dialect,
 * job; names of CONTRACTS §5 cannot be overridden. */
size_t plan_env(struct arena *a, const struct plan *plan, uint32_t process, struct start start,
                bool masked, const struct env_value **ret);

/* What the platform's own operator appends to the variables of a container, in its order; the last
 * one of a name counts there. Kubeflow's kinds only. */
size_t plan_operator_env(struct arena *a, const struct plan *plan, uint32_t process,
                         const struct env_value **ret);

/* --- init commands (init.c) ------------------------------------------------------------------- */

/* Does this start of a replica's process run init command i of its role first? */
bool plan_runs_init(const struct plan *plan, const struct replica *replica, size_t i,
                    struct start start);
/* Its argv, environment and directory; secrets are masked only if `masked`. NULL: it needs the
 * entry point of its image. */
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

/* The subPath of a mount with $(NAME) expanded; "" = the whole volume. i: index of the init
 * command, -1 = processes of the replica. */
const char *plan_sub_path(struct arena *a, const struct plan *plan, const struct replica *replica,
                          int i, const struct mount *mount);

/* Names below the run directory that the engine writes before anything starts. */
#define PLAN_HOSTFILE "hostfile"
#define PLAN_HOSTFILE_OPEN_MPI "hostfile.openmpi"
#define PLAN_HOSTFILE_HYDRA "hostfile.hydra"
#define PLAN_PEERS "peers.json"
#define PLAN_OUTPUTS "outputs" /* Azure ML: PLAN_OUTPUTS/NAME */
/* The content of /etc/mpi in pods of an MPIJob. */
#define PLAN_OPERATOR "mpi"
#define PLAN_DISCOVER_HOSTS "discover_hosts.sh"
/* Below the scratch directory, because Open MPI splits its agents' paths at spaces. */
#define PLAN_BIN "bin"                  /* first in PATH: ssh, rsh -> the shim */
#define PLAN_OVERLAY "overlay"          /* below the run directory: the layer of --overlay */
#define PLAN_VOLUMES "volumes"          /* PLAN_VOLUMES/REPLICA/VOLUME; of the job: .job */
#define PLAN_RANK_WRAPPER "muster-rank" /* in PLAN_BIN -> the shim */

#endif
