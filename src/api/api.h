/* api.h - HTTP for the daemon: REST, events, the page (doc/design/api.md).
 *
 * It runs in the daemon's loop and reads what the daemon knows; what changes something goes
 * over the sockets that other verbs use, and job files are read in processes of their own. */
#ifndef API_API_H
#define API_API_H

#include "daemon/daemon.h"

struct api_options {
    const char *listen;              /* ADDR:PORT for HTTPS; NULL: only here */
    const char *cert, *key, *tokens; /* paths; all of them, if it listens */
    const char *version, *commit;    /* of this program */
};

/* For daemon_options.front. The options must outlive the daemon. Weak: only muster-serve has it. */
const struct daemon_front *api_front(const struct api_options *o) __attribute__((weak));

#endif
