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

struct client {
    struct client *prev, *next;
    int fd;
    pid_t pid;               /* of the process that connected */
    struct command *command; /* of an agent, while it runs */
    struct rank *rank;       /* of a wrapper, from HELLO to EXIT */
};

int server_open(struct shim *s, struct err *e); /* listens on SCRATCH/agent.sock */
void server_close(struct shim *s);              /* serves what was sent, then closes all */
void server_catch_up(struct shim *s);           /* serves what clients have sent up to now */
void server_pause(struct shim *s, bool pause);

/* Packets: 0, or -EPROTO (the connection is closed). */
int command_run(struct shim *s, struct client *c, struct packet *p);
int rank_hello(struct shim *s, struct client *c, struct packet *p);
int rank_runs(struct shim *s, struct client *c, struct packet *p);
int rank_exit(struct shim *s, struct client *c, struct packet *p);

/* The connection is gone while c->command or c->rank was set. */
void command_abandoned(struct shim *s, struct client *c);
void rank_lost(struct shim *s, struct client *c);

void ranks_signal(struct shim *s, const struct replica *r, int sig); /* NULL: of all replicas */

#endif
