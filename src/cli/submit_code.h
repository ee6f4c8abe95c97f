/* submit_code.h - the code of a job: copied when it is submitted (engine/snapshot.h). */
#ifndef CLI_SUBMIT_CODE_H
#define CLI_SUBMIT_CODE_H

#include "cli/submit_daemon.h"

struct submit_code {
    char *root; /* of this machine: absolute */
    char *name; /* of the snapshot in the daemon's store; NULL: the job runs in place */
};

/* Takes the snapshot that the options ask for: of the directory of a job file, or with --snapshot
 * of the working directory. */
int submit_code_take(const struct submit_options *o, const struct submitted *s, const char *cwd,
                     struct submit_code *ret, struct err *e);
/* Nothing was submitted: removes it again. */
void submit_code_drop(const struct submit_code *code);
void submit_code_release(struct submit_code *code);

/* For the daemon: the job runs in its working copy instead. */
void submit_code_move(struct arena *a, const struct submission *sub, struct submitted *s);

#endif
