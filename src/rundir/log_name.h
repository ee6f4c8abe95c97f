/* log_name.h - what the name of a log says of whose it is:
 * REPLICA[.process-N][.task-TYPE-N][.rank-N[.launch-N]][.attempt-N][.restart-N][.init-NAME].log. */
#ifndef RUNDIR_LOG_NAME_H
#define RUNDIR_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct log_owner {
    char replica[LIMIT_NAME + 16];
    size_t role_len; /* of replica, without the index */
    int64_t rank;    /* -1 = it is the replica's own */
    int64_t attempt;
    bool init;        /* of an init container */
    const char *part; /* its "init-NAME" or a task's "TYPE-N", in the log's name; or NULL */
    size_t part_len;
};

/* False: it is no log's name. */
bool log_name_parse(const char *name, struct log_owner *ret);

#endif
