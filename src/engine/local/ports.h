/* ports.h - a port that is ours for the life of a job: its lease is its bound socket. */
#ifndef ENGINE_LOCAL_PORTS_H
#define ENGINE_LOCAL_PORTS_H

#include "base/err.h"

/* Binds a free port outside the ephemeral range, without options (so that a second holder gets
 * EADDRINUSE), then sets SO_REUSEADDR and SO_REUSEPORT so that the job's own server can bind it.
 * Returns the port; *ret_fd holds it until closed. */
int port_lease(int *ret_fd, struct err *e);

#endif
