/* queue_file.h - the file of `muster sim --queue`: machines, queues and jobs of a simulated day. */
#ifndef CLI_QUEUE_FILE_H
#define CLI_QUEUE_FILE_H

#include "base/err.h"
#include "doc/diag.h"
#include "queue/day.h"

struct queue_file {
    struct doc doc;
    struct diags diags;
    struct day day;           /* if there were no errors */
    const char *const *names; /* of its jobs; NULL for those that were generated */
};

/* Reads it; everything lives in the arena but the diagnostics. Returns 0, -EINVAL if there are
 * errors among them, or another -errno if the file cannot be read (then e has the text). The
 * caller calls diags_release() in every case. seed replaces that of the file unless it is
 * negative. */
int queue_file_read(struct arena *a, const char *path, int64_t seed, struct queue_file *ret,
                    struct err *e);

#endif
