/* daemon.h - what stands between mpirun and its ranks on a replica, and its loss.
 *
 * orted and hydra_pmi_proxy are commands of an rsh agent, below a shell; on the launcher's own host
 * it is mpirun itself. Where one is killed its ranks end by themselves, each with a status that
 * says nothing.
 */
#ifndef SHIM_DAEMON_H
#define SHIM_DAEMON_H

#include "base/limits.h"
#include "shim/shim.h"

struct daemon {
    pid_t pid;    /* it started the rank's wrapper; 0 = unknown */
    pid_t keeper; /* its parent, the agent's shell; 0 = none */
    bool is_mpirun;
    bool is_orted; /* or prted: it stays until mpirun ends it */
};

struct taken { /* a daemon that has told its ranks to end */
    struct taken *next;
    struct daemon daemon;
    const struct replica *replica;
};

struct loss { /* of a launch: the first thing that made its mpirun end the ranks */
    bool told;
    pid_t pid, keeper; /* of the daemon whose status is not known yet; 0 = none */
    uint32_t why, replica;
    ns_t at;
};

struct launch_name { /* of a launch: see shim/wire.h */
    uint32_t number;
    const char *origin, *id;
};
void launch_put(struct strbuf *out, const struct launch_name *name);
struct stand_in;
/* The end of WIRE_LAUNCH_OVER: how an mpirun ended that had no ranks; NULL: it had some. */
void launch_put_end(struct strbuf *out, const struct stand_in *of, int status);

struct daemon daemon_of(pid_t pid);

/* The nearest mpirun above a process, by /proc alone; 0 if there is none. Its origin, or "". */
pid_t mpirun_above(pid_t pid);
void mpirun_origin(pid_t pid, char text[LIMIT_LAUNCH_ID + 1]);

/* The mpirun that a daemon belongs to: above it, or above the rsh agent that asked for it; 0 if
 * there is none. */
pid_t daemon_mpirun(const struct shim *s, pid_t pid);

#define MPIRUN_NAME 16
/* The name of an mpirun that runs in the replica, "" if there is none. */
const char *mpirun_left(const struct shim *s, const struct replica *r, char name[MPIRUN_NAME]);

bool pid_is_dead(pid_t pid); /* or a zombie, or being killed */
bool daemon_is_dead(const struct daemon *d);
bool daemon_was_killed(const struct daemon *d); /* false also if that cannot be seen any more */

/* When it was started, at the latest; 0 = unknown. */
ns_t mpirun_began(pid_t mpirun);

/* The process that stands in for that mpirun, its parent; 0 if there is none. */
pid_t mpirun_stand_in(pid_t mpirun);

/* It has ended under a live rank that it had not told to end. Says so once per launch. */
void daemon_lost(struct shim *s, struct loss *loss, const struct daemon *d, const struct replica *r,
                 const struct launch_name *launch, ns_t at);
/* A child of ours has ended: if the loss waits for it, says how. */
void daemon_ended(struct shim *s, struct loss *loss, const struct launch_name *launch, pid_t pid,
                  int status);
/* mpirun itself has received a signal that ends it. */
void launch_signalled(struct shim *s, struct loss *loss, const struct launch_name *launch, int sig,
                      ns_t at);

#endif
