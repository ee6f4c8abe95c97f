/* shim.h - the supervisor's state, and the seams between its parts.
 *
 * One supervisor stays with the processes of one job attempt. It is pid 1 of the job's pid
 * namespace, so its death ends them all, and whatever loses its parent becomes its child. At level
 * `none` there is no such namespace: it still adopts what loses its parent, but its own death ends
 * only what it started itself.
 *
 *     supervise.c  the loop, reaping, the end
 *     request.c    what muster asks for
 *     master.c     the connection to muster, lost and made again; history.c what the next one hears
 *     process.c    main processes: SPAWN to EXITED
 *     setup.c      what is done once: mounts, directories, limits on descriptors
 *     replica.c    a replica's namespaces; killing all that is inside
 *     volumes.c    what is mounted in a replica; shadow_dir.c where the place for it is missing
 *     overlay.c    --overlay: a writable layer over the machine; mounts.c what is mounted there
 *     network.c    level `network`: the job's bridge, a replica's eth0
 *     family.c     level `none`: whose process it is, told by ancestors and environment
 *     probe.c      can a level be had here at all
 *     spawn.c      one process, from the request to its exec
 *     output.c     a process's pipes into its log
 *     logfile.c    one log, and the marks that say what came from which stream
 *     server.c     the socket of rsh agents and rank wrappers
 *     group.c      limits by cgroup
 *     trial.c      the network between replicas, tried
 *     pod.c        the supervisor as the first process of a container; feed.c sends its logs
 *
 * Everything is single-threaded and driven by one epoll set, one event per turn: a handler may free
 * any watch but its own without looking around.
 */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "shim/history.h"
#include "shim/link.h"

struct shim;

enum level { LEVEL_NAMES, LEVEL_NETWORK, LEVEL_NONE };

struct watch { /* what an epoll event points to; the first member of what is watched */
    void (*ready)(struct shim *s, struct watch *w);
};

struct replica {
    uint32_t id;
    char *name, *host, *address;
    int64_t cpu_milli, memory, shm; /* -1: not limited */
    uint32_t first_table, n_tables; /* of mounts: its own, and those of its init commands */

    bool is_open;       /* its namespaces are there */
    int mnt_fd, uts_fd; /* what a process joins; -1 at level none */
    int net_fd;         /* level network, else -1 */
    ino_t uts_ino;      /* what a process inside is known by */

    char *cwd;        /* of its first process: what an agent's command gets too */
    const char **env; /* one block of memory */

    uint32_t n_main; /* its main processes that live */
    bool waits;      /* it has no process of its own; waiting_process stands for it */
    uint32_t waiting_process, waiting_instance;
    bool stayed;  /* a command of that process ran beside the waiting and has ended */
    bool expects; /* it was opened for a main process that is still to come */

    struct replica *next_condemned; /* see replica_condemn() */
    bool condemned;

    struct group *group; /* NULL without a limit */
};

/* A child that is waited for: a main process, an agent's command, a rank without its wrapper.
 * Others are orphans that nobody asks for. */
struct child {
    struct child *next; /* in its bucket */
    pid_t pid;
    struct replica *replica;
    bool is_main;
    bool told;                  /* is_main: it was sent a signal that it does not die of at once */
    uint32_t process, instance; /* is_main: muster's number for it, and which start of it */
    /* Is told the end once, after the child has left the table; frees it. */
    void (*ended)(struct shim *s, struct child *c, int status, int64_t max_rss);
};

#define SHIM_BUCKETS 512

/* See overlay.h. */
struct overlay {
    bool wanted, keep; /* keep: the upper directories stay when the job has ended */
    bool whole;        /* one layer over /; else one over each directory of it */
    char *base;        /* holds REPLICA (upper), REPLICA.mounts/PATH (of other file systems) */
    char **real;       /* paths that the layer does not cover; NULL-terminated */
};

struct shim {
    enum level level;
    pid_t pid; /* its own */
    int epoll_fd;
    struct watch link_watch, signal_watch;
    struct link link;
    int signal_fd;
    int ends_fd;         /* an epoll set of main processes: it gives them in the order they ended */
    bool link_wants_out; /* EPOLLOUT is asked for */
    bool is_set_up;
    bool waits_for_master; /* when muster is gone; else the job ends then */
    bool greeted;          /* whoever is connected may ask for things */
    uint32_t attempt;      /* of the job */
    int master_fd;         /* where the next one connects */
    struct watch master_watch;
    struct history history; /* if it waits */
    bool stopping;          /* everything was told to end */
    bool held;              /* everything has ended, and replicas are kept */
    bool over;              /* the loop ends */
    int exit_code;          /* then */

    char *run_id, *run_dir, *scratch_dir;
    char **kept;           /* what no mount hides; NULL-terminated */
    struct vtable *tables; /* of mounts */
    uint32_t n_tables;
    char *hosts;             /* text of the job's /etc/hosts: more names of replicas */
    int logs_fd, scratch_fd; /* directories */
    int exits_fd;            /* RUN_DIR/exits, one line per ending */
    int marks_fd;            /* RUN_DIR/marks; 0: not opened yet, -1: there are none */
    int stdin_fd;            /* what the supervisor was started with */
    int null_fd;
    int mnt_fd, uts_fd;   /* its own namespaces */
    int net_fd, net_sock; /* level network: and a netlink socket there */
    struct rlimit files;  /* what processes get back */

    struct replica *replicas;
    uint32_t n_replicas;
    struct replica *condemned;
    struct child *children[SHIM_BUCKETS];
    struct output *outputs; /* all pipes being read */
    struct server *server;
    struct launch *newest_launch; /* of mpirun; ranks.c */
    struct rank *ranks;           /* that live */
    bool unobserved;              /* a proxy of Hydra has ended, and no rank of it had a wrapper */
    struct outer *outer;          /* see outer.h */
    struct groups *groups;
    struct overlay overlay;
    struct pod *pod;      /* NULL: it is not in one */
    struct trial *trials; /* under way; trial.h */
};

/* --- supervise.c ------------------------------------------------------------------------------ */

/* By its name on the command line; false if there is no such level. */
bool level_of(const char *name, enum level *ret);

/* The loop, from the first event to the end of everything, and the exit code. */
int supervise(struct shim *s);

int shim_watch(struct shim *s, int fd, struct watch *w); /* for reading; closing fd ends it */
int shim_pause(struct shim *s, int fd, struct watch *w, bool pause);

void shim_watch_end(struct shim *s, int pidfd, pid_t pid);
void child_add(struct shim *s, struct child *c);
struct child *child_find(const struct shim *s, pid_t pid); /* or NULL */
struct child *child_take(struct shim *s, pid_t pid);       /* out of the table; or NULL */

/* Appends a line to RUN_DIR/exits: time, replica, process, "exit" or "signal" and the code; status
 * -1: "unknown". */
void shim_record(struct shim *s, ns_t at, const char *replica, const char *process, int status);

/* WIRE_NOTE. */
void shim_note(struct shim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A frame that says what has happened; kept for the next master. */
size_t report_begin(struct shim *s, enum wire_type type);
void report_end(struct shim *s, size_t frame);

/* --- master.c --------------------------------------------------------------------------------- */

/* The connection is of no more use: the end of the job, or of waiting for another. */
void master_lost(struct shim *s, const char *why);
int master_listen(struct shim *s, struct err *e);
void master_close(struct shim *s);                        /* nobody can come any more */
int master_attach(struct shim *s, struct wire_reader *r); /* WIRE_ATTACH */

/* --- request.c -------------------------------------------------------------------------------- */

void ready_frame(struct shim *s); /* WIRE_READY */
void refuse_frame(struct shim *s, const struct err *e);

/* Does what one frame asks. -EPROTO if it is none that muster may send now. */
int request_handle(struct shim *s, enum wire_type type, struct wire_reader *r);

/* Does to every main process and rank what SIGNAL of everything does. */
void signal_everything(struct shim *s, int sig);

/* --- process.c -------------------------------------------------------------------------------- */

/* WIRE_SPAWN: answers STARTED or SPAWN_FAILED. */
int process_spawn(struct shim *s, struct wire_reader *r);
/* A replica that only waits has ended: EXITED with status 0. */
void process_waiting_ended(struct shim *s, struct replica *r);

/* --- setup.c ---------------------------------------------------------------------------------- */

/* Descriptors, signals and limits, before anything is known. */
void setup_process(struct shim *s);

/* Private mounts, a fresh /proc, DIR/hosts over /etc/hosts, and the supervisor's own namespaces. */
int setup_namespaces(struct shim *s, const char *dir, struct err *e);

/* Mounts and directories of a run. hosts is the text of the private /etc/hosts. */
int setup_run(struct shim *s, const char *run_dir, const char *hosts, struct err *e);

/* --- replica.c -------------------------------------------------------------------------------- */

/* Makes the replica's namespaces unless they are there. */
int replica_open(struct shim *s, struct replica *r, struct err *e);
/* A mount namespace as the replica's own, with the mounts of another of its tables on top: a
 * descriptor, or -errno. */
int replica_view(struct shim *s, const struct replica *r, uint32_t table, struct err *e);
/* What its /dev/shm holds. 0 or -errno. */
int replica_shm(const struct shim *s, const struct replica *r, struct statvfs *ret);

/* Condemned replicas lose every process inside at the next replicas_purge(), in one go. */
void replica_condemn(struct shim *s, struct replica *r);
void replicas_purge(struct shim *s);
/* The same, but looks first, cheaply, whether anything can be there: for replicas whose last main
 * process has ended by itself. */
void replicas_purge_leftovers(struct shim *s);

/* Every process of the job but ourselves, at once. */
void replicas_kill_all(struct shim *s);
void replicas_continue_all(struct shim *s); /* SIGCONT for all that is stopped */

/* The replica a process is inside of, or NULL. */
struct replica *replica_of_pid(const struct shim *s, pid_t pid);

/* --- network.c -------------------------------------------------------------------------------- */

/* Makes, in the network namespace we are in, a bridge, and for every replica a namespace of its own
 * with lo and eth0. */
int network_open(struct shim *s, struct err *e);
/* Inside a replica: lets /sys show its own interfaces. */
void network_show(const struct shim *s);

/* --- family.c --------------------------------------------------------------------------------- */

/* Is it a process of the job? Then *ret is its replica, or NULL if that cannot be told. */
bool family_find(const struct shim *s, pid_t pid, struct replica **ret);

/* --- spawn.c ---------------------------------------------------------------------------------- */

struct spawn {
    const struct replica *replica; /* open */
    const char *cwd;
    const char *const *argv; /* not empty; argv[0] without a slash is looked up in env's PATH */
    const char *const *env;
    int fds[3];
    int mnt_fd;    /* the mount namespace it is in; 0: the replica's */
    int script_fd; /* what the process gets as WIRE_SCRIPT_FD, above that number; 0: nothing */
};

/* Starts a process in its own session inside its replica. Returns when it has become its program:
 * 0 with its pid (and pidfd, if wanted), or -errno with what went wrong ("exec", "chdir /x") in e.
 */
int spawn_process(const struct shim *s, const struct spawn *sp, pid_t *ret_pid, int *ret_pidfd,
                  struct err *e);

/* --- output.c --------------------------------------------------------------------------------- */

bool output_log_name_ok(const char *name); /* a plain name: it stays below RUN_DIR/logs */
int output_open_log(struct shim *s, const char *name); /* a descriptor or -errno */

/* Descriptors have run short: closes a log until its next byte comes. False if none is open. */
bool output_spare_fd(struct shim *s);

/* RUN_DIR/marks for logfile_begin(), opened by the first who asks; -1 if it cannot be had. */
int output_marks_fd(struct shim *s);

/* Copies everything that comes from the two pipes, stdout's and stderr's (-1: both use the first),
 * into that log, until their end. Takes the descriptors. */
struct output *output_new(struct shim *s, const int fds[2], const char *name);
/* Its process is gone: copies what is there; what its children write later is still copied. */
void output_detach(struct shim *s, struct output *o);
/* Is the pipe of that inode one of those being copied, a process's stdout or stderr? */
bool output_reads(const struct shim *s, ino_t inode);
/* Copies what is there and stops listening. */
void outputs_close(struct shim *s);

/* Output that a log could not take. */
struct unlogged {
    int error;      /* -errno */
    int64_t untold; /* bytes that muster does not know of yet */
};
/* So many bytes more are missing; n of them go to muster to be shown, unless it does not keep up.
 */
void unlogged_add(struct shim *s, const char *log, struct unlogged *u, bool is_err, int64_t missing,
                  const char *data, size_t n);
/* At the end: how many muster has not been told of. */
void unlogged_tell(struct shim *s, const char *log, struct unlogged *u);

#endif
