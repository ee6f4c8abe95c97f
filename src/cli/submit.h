/* submit.h - `muster submit`: a job handed to somebody who runs it, at each place in its own way.
 *
 *     submit.c          the verb: which place
 *     submit_daemon.c   --on local: the daemon of this user
 *     submit_cluster.c  --on kubernetes: a MusterJob for the operator
 */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/submit_daemon.h"
#include "engine/engine.h"

/* Prints the id of each job of the file on stdout. Returns the exit code, after telling why. */
int submit_to_cluster(const struct engine_class *place, struct submit_options *o, const char *file);

#endif
