/* exit_spec.h - OpenPAI's table of exit codes: what a code is called, whose fault it is, what
 * follows.
 *
 * Codes below zero are those of its controller; the others are a command's own, as far as OpenPAI
 * tells them apart. What it finds by searching the log is known here by code alone.
 */
#ifndef JOB_EXIT_SPEC_H
#define JOB_EXIT_SPEC_H

#include "job/job.h"

enum { /* of the controller */
       PAI_STOP_REQUESTED = -210,
       PAI_ATTEMPT_COMPLETED = -220,
       PAI_NODE_LOST = -1001,
       PAI_DEADLINE = -1004,
       PAI_OUT_OF_MEMORY = -1200,
       PAI_GANG_TIMEOUT = 251,
       PAI_NO_IMAGE = 254,
};

struct exit_spec {
    int from, to;
    enum failure_class class;
    const char *type;   /* USER_FAILURE, PLATFORM_FAILURE, … */
    const char *phrase; /* or NULL: it has none, or one by what is in the log */
};

/* Never NULL: a code that is not in the table is an unknown failure, as `exit 1` is. */
const struct exit_spec *exit_spec(int code);

const char *failure_class_behavior(enum failure_class class); /* TRANSIENT, PERMANENT, … */
const char *failure_class_reaction(enum failure_class class); /* ALWAYS_RETRY, NEVER_RETRY, … */

#endif
