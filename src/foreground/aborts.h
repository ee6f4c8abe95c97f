/* aborts.h - which rank ended an MPI job, by what the logs say of it.
 *
 * A rank that calls MPI_Abort may be ended by its mpirun before it can exit, or exit with 0: then
 * nothing but a message tells it from the others.
 */
#ifndef FOREGROUND_ABORTS_H
#define FOREGROUND_ABORTS_H

#include <sys/types.h>

#include "job/job.h"

struct aborts {
    uint32_t attempt, launch; /* seen last */
    off_t from;               /* what that launch's mpirun says begins here in the launcher's log */
    bool looked;
};

/* A rank has started. */
void aborts_follow(struct aborts *a, const struct job *job, const struct event *ev, int logs_fd);

/* Once all of the last mpirun has ended and no rank of it has failed by itself: what to report to
 * the job core. False: nothing. */
bool aborts_find(struct aborts *a, const struct job *job, int logs_fd, struct observation *ret);

#endif
