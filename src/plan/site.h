/* site.h - the inputs of a plan besides the job: machine, site, caller, and given values.
 *
 * The engine surveys these before planning. They are separate structures because they have
 * different sources and lifetimes; given values (secrets) are never stored.
 *
 * A site need not be this machine: paths, ports and names in it are as the processes will see them.
 */
#ifndef PLAN_SITE_H
#define PLAN_SITE_H

#include "spec/spec.h"

enum mpi_impl {
    MPI_NOT_FOUND,
    MPI_OPEN_MPI_4, /* ORTE: orterun, orted */
    MPI_OPEN_MPI_5, /* PRRTE: prterun, prted */
    MPI_HYDRA,      /* MPICH's mpiexec.hydra */
    MPI_INTEL,      /* Hydra's names, its own variables */
    MPI_UNKNOWN,    /* another program named mpirun */
};
const char *mpi_impl_words(enum mpi_impl impl); /* "Open MPI 4", "MPICH (Hydra)", … */

/* One value of a Secret or ConfigMap, looked up for a variable or a volume. Lives in memory only:
 * never in the journal, the plan as shown, or a file. */
struct secret_value {
    enum env_source source;
    const char *name, *key, *value;
    size_t len;  /* of value, for a file */
    bool binary; /* contains NULs: not possible in a variable */
};

/* What replaces a volume locally. */
enum place_kind {
    PLACE_NONE,   /* nothing; `why` gives the reason */
    PLACE_FRESH,  /* an empty directory per replica, below PLAN_VOLUMES */
    PLACE_SHARED, /* an empty directory shared by the job */
    PLACE_HERE,   /* the path `here` */
    PLACE_FILES,  /* files with the values of a config map or secret */
};

/* How a mount is done locally (engine/local/volumes.c). */
struct mount_place {
    const struct mount *mount;
    const char *path; /* the mount point, with symbolic links resolved */
    enum place_kind kind;
    const char *here;   /* PLACE_HERE; PLACE_FILES: the directory of the values, or NULL */
    const char *parent; /* nearest existing parent of a missing path; or NULL */
    bool inside;        /* path must be created: it is in a volume that starts empty */
    bool makes_sub;     /* create sub_path if it is missing */
    const char *why;    /* message for the user, or NULL */
};

struct mount_table {
    const struct mount_place *v; /* by path */
    size_t n;
};

/* What replaces the image of a role locally (--image). */
struct image_place {
    const char *prefix; /* its bin is first in PATH; NULL: this machine */
    bool conda;         /* a conda environment, else a virtual one */
    bool mapped, any;   /* set by the user; for any image */
};

/* A program, script or module of a command that was not found (engine/local/needs.c). */
struct missing {
    uint32_t role;           /* of the spec */
    int init;                /* index of the init command that needs it; -1: the role's command */
    const char *name;        /* as in the command: "./pi", "train.py", "python3 -m horovod" */
    const char *by;          /* interpreter of a script or module, as in the command; or NULL */
    const char *module;      /* of Python, or NULL */
    const char *dir;         /* where the command runs */
    const char *interpreter; /* the missing interpreter in the first line of an existing script */
    int code;     /* -ENOENT, -EACCES, -ELIBACC (the interpreter), -EILSEQ (its line ends in CR) */
    bool decides; /* the command fails without it */
    bool in_dir;  /* not in PATH, but `dir` has a program with this name */
};

/* The machine that the processes run on, and which of the job's programs it has. */
struct machine {
    bool root; /* effective uid 0 */
    int cpus;
    int64_t memory; /* bytes; 0 = unknown */
    int gpus;       /* found, or set by --gpus */
    bool gpus_pretended;
    const char *rdma_lacks; /* what is missing for the requested RDMA; or NULL */
    bool cgroup_limits;     /* limits can be enforced */
    const char *cgroup_why; /* the reason if not, for a note */

    /* mpi: only if spec_calls_mpi() */
    enum mpi_impl mpi;
    const char *mpirun;      /* absolute path found, or NULL */
    const char *mpi_version; /* "4.1.4" or NULL */
    bool mpi_home_ok;        /* mpi->home/bin/mpirun exists and was used */
    bool mpi_prefix_ok;      /* mpi->home/bin/orted (or prted) exists: --prefix may be passed */
    const char *program;     /* program of the ranks (first word); NULL: unknown, run by a shell */
    int program_errno;       /* -ENOENT, -EACCES if it is missing; 0 = found */
    bool sshd_ok;            /* mpi->sshd_path exists */
    const char *sshd_found;  /* nearest existing sshd, or NULL */

    bool horovodrun;               /* found in PATH */
    const char *python;            /* the Python that commands find, or NULL */
    bool python_link;              /* only `python3` exists: bin/ has a link `python` */
    const char *python3;           /* target of the link, or NULL */
    const bool *workdir_ok;        /* per role of the spec: its workdir exists */
    const char *const *alone;      /* per role: why each process is an MPI world of size 1; NULL */
    const struct missing *missing; /* n_missing of them, by role */
    size_t n_missing;
};

/* Where the processes run, as they will see it. */
struct site {
    const char *engine;      /* name of the engine that surveyed it; NULL: none has */
    const char *run_id;      /* explain: "RUN_ID" */
    const char *run_dir;     /* absolute; explain: with "RUN_ID" in it */
    const char *records;     /* the run directory on our machine; NULL: run_dir */
    const char *scratch_dir; /* short path for sockets and MPI session directories */
    const char *shim;        /* absolute path of muster-shim */

    /* Not on this machine: variables that only apply to this machine are omitted. */
    bool elsewhere;
    /* Secrets, config maps and fields remain references, resolved by the site. */
    bool references;
    /* The Service of all replicas if names resolve by Services; or NULL. Replicas then have no
     * addresses in advance. */
    const char *service;
    const char *context, *namespace_; /* of a cluster, or NULL; the context may be "" */
    /* Objects, files and variables are exactly those of the platform's own operator: its Services
     * are there, its hostfile is in run_dir. */
    bool operated;
    const char *cluster_domain; /* ends the names of its Services; NULL: they end with "svc" */

    /* The directory with the job's code, as processes see it, if the site has to be given it; or
     * NULL. It is sent from code_from on this machine, or is the claim code_volume. */
    const char *code, *code_from, *code_volume;
    /* Per value of the spec: the path of an input that is sent or of a value on a claim, as
     * processes see it; where it is on this machine, or the claim. NULL in them, or NULL: none. */
    const char *const *inputs, *const *inputs_from, *const *inputs_claims;
    const char *const *claims; /* NAME=CLAIM[:SUBPATH] for volumes of the job, or NULL */
    const char *gang; /* the scheduler that starts all replicas or none (kube/gang.h), or NULL */

    const char *isolation;     /* "names", "network", "none" */
    const char *isolation_why; /* why not a better level, or NULL */
    uint32_t network; /* level `network`: its /16, as a number; 0 = replicas are on the loopback */
    const int *ports; /* spec_n_ports() of them, in its order; 0 = not reserved */
    /* Per replica: the GPUs that it may see, "0,3"; NULL: shared out in the order of replicas. */
    const char *const *visible_gpus;
    const char *interface;         /* connects the replicas: "lo", "eth0" */
    const char *const *interfaces; /* names that exist for a replica, NULL-terminated */

    bool overlay;                     /* --overlay: a layer over the machine for each replica */
    bool private_workdir;             /* the layer covers working directories, too */
    const char *keep_overlay;         /* absolute directory to keep it in; NULL: discarded */
    const char *const *maps;          /* --map, "PATH=HERE", NULL-terminated; or NULL */
    const struct image_place *images; /* per role of the spec; NULL: this machine */
    /* per role of the spec: the mounts of its processes, then of each of its init commands */
    const struct mount_table *const *mounts; /* NULL: none */
    const char *const *const
        *init_dirs; /* per role and init command: its directory, NULL: the role's */
};

/* The user who runs the job, and what the job inherits. */
struct caller {
    const char *dir;                /* working directory */
    const char *user;               /* name */
    const char *const *env;         /* environ; only listed variables are passed on */
    bool clean_env;                 /* --clean-env: only PATH, HOME, … */
    bool inherit_all;               /* `run -n`: all of env */
    const char *const *inherit_env; /* --inherit-env patterns, NULL-terminated; or NULL */
    const char *const *skip_init;   /* --skip-init: names, "" for all; NULL-terminated; or NULL */
};

/* Values from --secrets and --configmaps. In memory only: never in the journal, the plan as shown,
 * or a file. */
struct given_values {
    const struct secret_value *secrets;
    size_t n_secrets;
    bool secrets_dir, configmaps_dir; /* --secrets, --configmaps were given */
};

/* All of it. */
struct facts {
    struct machine machine;
    struct site site;
    struct caller caller;
    struct given_values given;
};

/* Is this the isolation level? */
bool isolation_is(const struct facts *facts, const char *level);

#endif
