/* submit.h - `muster submit`: a job handed to somebody who runs it, at each place in its own way.
 *
 *     submit.c          the verb: options, and which place
 *     submit_cluster.c  --on kubernetes: a MusterJob for the operator
 */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/job_options.h"
#include "engine/engine.h"

struct submit_options {
    const char *on; /* or NULL: as the configuration says */
    bool wait;
    struct job_options job; /* checked */
};

/* Prints the id of each job of the file on stdout. Returns the exit code, after telling why. */
int submit_to_cluster(const struct engine_class *place, struct submit_options *o, const char *file);

#endif
