/* port_owner.h - who has a port that a job needs. */
#ifndef ENGINE_LOCAL_PORT_OWNER_H
#define ENGINE_LOCAL_PORT_OWNER_H

#include <stdbool.h>

#include "base/arena.h"

/* Words for whoever holds the TCP port, as far as we may see: "python3 (pid 123)", "python3 (pid
 * 123) of run RUN_ID (job NAME)", "muster (pid 123), run RUN_ID", "another process (uid 1000)". */
const char *port_owner(struct arena *a, unsigned port);

/* Is the port only in use by connections that were closed a moment ago? */
bool port_is_closing(unsigned port);

#endif
