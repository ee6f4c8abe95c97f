/* peer.h - commands in the other pods of a run, over TCP.
 *
 * The supervisor of a pod listens on PEER_PORT once it has the run's key (RUN_DIR/scratch/key). For
 * each connection it starts `muster-shim peer`, which is to that supervisor an rsh agent like any
 * other. At the far end is an rsh agent whose host is in another pod (RUN_DIR/scratch/peers: lines
 * of HOST ADDRESS).
 *
 * Both ends prove by HMAC-SHA-256 over each other's fresh numbers that they have the key, which is
 * never sent. What follows is frames of shim/wire.h, not encrypted: as open as MPI's own traffic
 * between the same pods.
 */
#ifndef SHIM_PEER_H
#define SHIM_PEER_H

#include <stdbool.h>

#include "shim/shim.h"

#define PEER_PORT 20022

/* Listens, if the key is there and nobody does yet. */
void peer_listen(struct shim *s);

/* Runs a command at a host of another pod, with our stdin (unless no_stdin), stdout and stderr.
 * Returns its exit code, -ENOENT if no other pod has that host, or -errno after saying on stderr
 * what is wrong. */
int peer_run(const char *host, const char *command, bool forward, const char *origin,
             bool no_stdin);

#endif
