/* server.h - the supervisor's socket for rsh agents and rank wrappers.
 *
 *     server.c   connections and packets
 *     command.c  a command that an agent runs inside a replica
 *     ranks.c    MPI ranks, as their wrappers report them
 *
 * The connections live in an epoll set of their own, which is one member of the supervisor's: when
 * muster does not keep up, the whole set is put aside at once.
 */
#ifndef SHIM_SERVER_H
#define SHIM_SERVER_H

#include "shim/packet.h"
#include "shim/shim.h"

struct stand_in {    /* for an mpirun */
    int64_t program; /* what that runs (program.h), or 0 */
    bool observed;   /* its ranks have wrappers */
    ns_t began;
};

struct client {
    struct client *prev, *next;
    int fd;
    pid_t pid;               /* of the process that connected */
    struct command *command; /* of an agent, while it runs */
    struct rank *rank;       /* of a wrapper, from HELLO to EXIT */
    struct stand_in *mpirun; /* of a stand-in for mpirun, from HELLO to END */
};

int server_open(struct shim *s, struct err *e); /* listens on SCRATCH/agent.sock */
void server_close(struct shim *s);              /* serves what was sent, then closes all */
void server_catch_up(struct shim *s);           /* serves what clients have sent up to now */
/* Serves clients until no rank is left that has not ended, for LIMIT_LAST_RANKS_MS at most. */
void server_await_ranks(struct shim *s);
void server_pause(struct shim *s, bool pause);
/* The stand-in for mpirun that this process is; NULL: it is none. */
const struct stand_in *server_stand_in(const struct shim *s, pid_t pid);

/* Packets: 0, or -EPROTO (the connection is closed). */
int command_run(struct shim *s, struct client *c, struct packet *p);
int rank_hello(struct shim *s, struct client *c, struct packet *p);
int rank_runs(struct shim *s, struct client *c, struct packet *p);
int rank_unlogged(struct shim *s, struct client *c, struct packet *p);
int rank_told(struct client *c, struct packet *p);
int rank_exit(struct shim *s, struct client *c, struct packet *p);
int mpirun_hello(struct client *c, struct packet *p);
int mpirun_signal(struct shim *s, const struct client *c, struct packet *p);
int mpirun_end(struct shim *s, struct client *c, struct packet *p);

/* The connection is gone while c->command, c->rank or c->mpirun was set. */
void mpirun_lost(struct shim *s, struct client *c);
void command_abandoned(struct shim *s, struct client *c);
void rank_lost(struct shim *s, struct client *c);

/* Any child of ours has ended; it may be the daemon of ranks. Before its struct child is freed. */
void ranks_daemon_ended(struct shim *s, pid_t pid, int status);
/* The daemon of an mpirun has ended, and no rank of its was ever seen; agent: who asked for it. */
void ranks_daemon_failed(struct shim *s, const struct child *daemon, pid_t agent,
                         const char *origin, int status);
/* Reports an mpirun that was killed while its ranks are running. */
void ranks_check_mpiruns(struct shim *s);
/* The agent whose command it is; 0 if it is none's. */
pid_t command_agent(const struct shim *s, pid_t pid);
/* A rank that this process, or its child, has started has a wrapper. */
void command_observed(const struct shim *s, pid_t pid);
/* Is it the process of a command whose agent is gone? */
bool command_was_cut(const struct shim *s, pid_t pid);

/* An rsh agent asks for a host of another pod: the mpirun of that origin above it, if there is
 * one, has ranks there, and its end is reported from here. */
void elsewhere_add(struct shim *s, pid_t agent, const char *origin);
/* The mpirun that this process stands in for has received a signal. False: it has no ranks
 * elsewhere. */
bool elsewhere_signalled(struct shim *s, pid_t stand_in, int sig, ns_t at);
/* The launch of that stand-in's mpirun, if it has asked for daemons in other pods; else NULL. */
struct launch_name;
const struct launch_name *elsewhere_name(const struct shim *s, pid_t stand_in);

/* A child of ours has ended that may be such an mpirun. */
void elsewhere_reaped(struct shim *s, pid_t pid, int status);
void elsewhere_check(struct shim *s);

void ranks_signal(struct shim *s, const struct replica *r, int sig); /* NULL: of all replicas */

#endif
