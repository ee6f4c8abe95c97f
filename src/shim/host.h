/* host.h - a worker of the operator: a container whose own command runs, and beside it the commands
 * of its job's launcher.
 *
 * The first versions of MPIJob have workers that only sleep; mpirun in the launcher starts its
 * daemons in them by `kubectl exec`, with a kubectl from an image of its own and the right to exec.
 * Here the worker's command is a child of `muster-shim host`, which listens on PEER_PORT, and the
 * launcher's rsh agent is `muster-shim kubexec`: no image, no right, no way through the API server.
 * Both have the job's key, a file that is mounted from a Secret. There is no supervisor, no record
 * and nothing that muster is told: these pods are read by their status alone.
 */
#ifndef SHIM_HOST_H
#define SHIM_HOST_H

#include "shim/peer.h"

#endif
