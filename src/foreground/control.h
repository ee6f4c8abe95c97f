/* control.h - the answering end of a run's control socket (client/protocol.h). */
#ifndef FOREGROUND_CONTROL_H
#define FOREGROUND_CONTROL_H

#include <uv.h>

#include "base/err.h"
#include "engine/engine.h"
#include "job/job.h"

struct control;

struct control_host { /* the run as its socket sees it */
    const struct job *job;
    struct engine *engine;
    const char *engine_name;
    int scratch_fd;
    void (*post)(void *ctx, const struct observation *o); /* folded, committed, acted upon */
    void (*signal)(void *ctx, int sig);
    pid_t (*stopped)(void *ctx); /* the pid of the supervisor if it is stopped; else 0 */
    void *ctx;
};

/* Listens. host is copied; what it points to must outlive the control. */
int control_open(uv_loop_t *loop, const struct control_host *host, struct control **ret,
                 struct err *e);

/* Closes every connection and removes the socket. NULL is fine. The loop must turn once more. */
void control_free(struct control *c);

#endif
