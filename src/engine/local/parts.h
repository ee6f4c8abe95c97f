/* parts.h - what the files of the local engine share.
 *
 *     local.c     the operations: requests become frames
 *     starts.c    processes that are to be started, until the shim has room for their frames
 *     receive.c   the shim's frames become observations
 *     shim_life.c a shim from its start to its end, and one that does not answer
 */
#ifndef ENGINE_LOCAL_PARTS_H
#define ENGINE_LOCAL_PARTS_H

#include <uv.h>

#include "base/strbuf.h"
#include "engine/engine.h"
#include "engine/local/launch.h"
#include "shim/wire.h"

struct local {
    struct engine engine;
    const struct plan *plan;
    const struct engine_client *client;
    uv_loop_t *loop;
    int stdin_fd, scratch_fd, logs_fd;
    const struct inherited *inherited; /* or NULL */
    bool waits;                        /* its shims go on without us, until another attaches */
    struct shim_process shim;          /* pid 0: there is none */
    uv_poll_t *poll;      /* of its socket, or NULL; libuv keeps it for a while after that */
    uv_poll_t *end_poll;  /* of its pidfd, while its end is waited for; or NULL */
    uv_timer_t *patience; /* runs while the shim has to answer or to end */
    ns_t asked_at;        /* clock_mono() of what it has to answer, or of its last sign of life */
    bool ready;           /* it has said so */
    bool was_ready;       /* some shim of this job has */
    bool killing;         /* it has to answer a STOP */
    bool hurried;         /* somebody does not want to wait for what it was asked for */
    bool forced;          /* it did not answer, and was killed */
    bool gone;            /* its stream has ended, its process may not have */
    struct err unready;   /* why it could not be used; code 0: it could */
    struct strbuf in, out, later;
    char **cgroups;         /* directories to remove if the shim cannot */
    bool ending;            /* the shim was asked to end */
    bool releasing;         /* for good */
    bool released;          /* and the client was told */
    bool bye;               /* it has said that all of it has ended */
    bool lost;              /* and nothing can be started any more */
    uint32_t attempt, next; /* of the shim; of what was asked for last */
    struct start *starts;   /* of each process: the one that was asked for last */
    uint32_t *queue;        /* processes whose start was asked for and not sent: a ring */
    size_t queue_cap, queue_first, queue_n;
    uint32_t *opened;    /* of each replica: the attempt that it was last asked for */
    struct inits *inits; /* NULL: the job has no init commands */
};

/* --- local.c ---------------------------------------------------------------------------------- */

/* Sends what can be sent; the rest when there is room. */
void local_flush(struct local *lo);

/* The engine holds nothing of the job any more. */
void local_released(struct local *lo);

/* --- starts.c --------------------------------------------------------------------------------- */

/* Keeps the start of starts[process] until there is room. */
void starts_add(struct local *lo, uint32_t process);
/* Adds frames of the next ones to `out`, up to LIMIT_STARTS_SENT bytes. False: none was due. */
bool starts_fill(struct local *lo);
/* The attempt is being stopped: what was not sent is not started any more. */
void starts_drop(struct local *lo);

/* --- receive.c -------------------------------------------------------------------------------- */

void local_on_socket(uv_poll_t *poll, int status, int events);

/* --- shim_life.c ------------------------------------------------------------------------------ */

/* It runs and was not asked to end. */
static inline bool is_live(const struct local *lo)
{
    return lo->shim.pid && !lo->ending && !lo->gone;
}

/* Starts a shim and sends it the set-up. READY, or REFUSED, comes as a frame. */
int shim_begin(struct local *lo, struct err *e);
/* Connects to the one that waits for its master; READY comes as a frame, and all that is true. */
int shim_attach(struct local *lo, struct err *e);
/* The shim of an attempt after the first, and what was asked of it meanwhile. */
void shim_begin_attempt(struct local *lo);
/* The set-up has failed, or nothing was heard of it: kills the shim, and reports when it ended. */
void shim_not_ready(struct local *lo, const struct err *e);
/* Something was asked that must not remain without an answer. */
void shim_expect_answer(struct local *lo);
/* Its stream has ended, after a BYE or not. What follows comes when the process has ended, too. */
void shim_stream_ended(struct local *lo);
/* Lets it go on without us. */
void shim_leave(struct local *lo);
/* Kills what is left, and waits for it: only for free, of an engine that was not released. */
void shim_end_now(struct local *lo);

#endif
