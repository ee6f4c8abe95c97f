/* peer.h - commands in the other pods of a run, over TCP.
 *
 * The supervisor of a pod listens on PEER_PORT once it has the run's key (RUN_DIR/scratch/key). For
 * each connection it starts `muster-shim peer`, which is to that supervisor an rsh agent like any
 * other. At the far end is an rsh agent whose host is in another pod (RUN_DIR/scratch/peers: lines
 * of HOST ADDRESS).
 *
 * Both ends prove that they have the key (greet.h). What follows is frames of shim/wire.h, not
 * encrypted: as open as MPI's own traffic between the same pods.
 */
#ifndef SHIM_PEER_H
#define SHIM_PEER_H

#include <stdbool.h>

#include "shim/greet.h"
#include "shim/shim.h"

#define PEER_PORT 20022

struct peer_call {
    const char *host, *command; /* command: a line for a shell */
    const char *origin;         /* the mpirun that asks; "": unknown */
    bool forward;               /* ranks hand on their output (forward.h) */
    bool no_stdin;
};

/* Listens, if the key is there and nobody does yet. */
void peer_listen(struct shim *s);

/* Runs a command at a host of another pod, with our stdin (unless no_stdin), stdout and stderr.
 * Returns its exit code, -ENOENT if no other pod has that host, or -errno after saying on stderr
 * what is wrong. */
int peer_run(const struct peer_call *call);
/* The same where the pod's address and the key are known. */
int peer_ask(const char *address, const unsigned char key[PEER_KEY_BYTES],
             const struct peer_call *call);

/* --- what role `host` shares (host.c) --------------------------------------------------------- */

int peer_socket(void); /* that listens on PEER_PORT, non-blocking, or -errno */
/* Has the other end of the connection proven that it has the key? */
bool peer_greet(int sock, const unsigned char key[PEER_KEY_BYTES]);
/* Runs the one command that a connection asks for. `agent` is a socket of packets (packet.h) to
 * whoever starts it, as an rsh agent has. 0, or -errno. */
int peer_serve(int sock, int agent);

#endif
