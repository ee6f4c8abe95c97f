/* daemon.h - `muster serve`: many jobs in one loop, which outlive it.
 *
 * Jobs are submitted over a socket that only this user and root may use, wait in a queue until what
 * they need is free, and run under shims of their own that wait for a daemon if there is none. What
 * was acknowledged is in the database; a daemon that is killed and started again continues every
 * job where it stands.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "base/err.h"
#include "daemon/planner.h"
#include "queue/queue.h"
#include "rundir/retention.h"

/* What the configuration says of it. */
struct daemon_config {
    const struct queue *queues; /* n_queues 0: there is one, "default" */
    uint32_t n_queues;
    enum queue_preemption preemption;
    int64_t cpus_milli, memory, gpus; /* what jobs may use together; 0, 0, -1: all */
    struct retention retention;       /* of run directories */
};
#define DAEMON_CONFIG_INIT                                                                         \
    {                                                                                              \
        .gpus = -1, .retention = RETENTION_INIT                                                    \
    }

/* What jobs may use together: the first of option (0, 0, -1: not given), configuration and machine
 * that says so. */
void daemon_machine(const struct daemon_config *c, int64_t cpus, int64_t memory, int64_t gpus,
                    struct queue_machine *ret);

struct daemon;
struct strbuf;

/* What runs in the daemon's loop beside its socket: HTTP (api/api.h). */
struct daemon_front {
    /* dir_fd: of the directory with the daemon's socket; it stays the daemon's. */
    int (*open)(struct daemon *d, const void *options, int dir_fd, void **ret, struct err *e);
    void (*close)(void *front); /* NULL is fine; the loop runs afterwards */
    /* The address of the page with a one-time key; job: an id or "". */
    int (*link)(void *front, const char *job, struct strbuf *ret, struct err *e);
    const void *options;
};

struct daemon_options {
    const struct daemon_front *front; /* NULL: none */
    planner_fn *plan;
    recorder_fn *record; /* NULL: nothing is kept */
    bool member;         /* it asks the system daemon before it starts a job (member.c) */
    bool stop_jobs;      /* at SIGTERM: end the jobs, too */
    int64_t cpus;        /* that jobs may use together; 0: all of this machine */
    int64_t memory;      /* likewise, bytes */
    int64_t gpus;        /* likewise; -1: all of this machine */
    /* Reads the configuration, at the beginning and at SIGHUP; *ret lives in the arena. Negative:
     * it has errors, which were told. */
    int (*configure)(struct arena *a, struct daemon_config *ret);
    void (*note)(const char *text); /* a line for whoever reads the daemon's output */
};

/* Serves until SIGTERM or SIGINT. 0, or -errno if it could not begin: -EBUSY: there is one already,
 * -EPROTO: its database is that of a newer muster. Weak: only muster-serve has it. */
int daemon_serve(const struct daemon_options *opts, struct err *e) __attribute__((weak));

struct fsck_options {
    bool repair;
    void (*tell)(const char *text, bool mended); /* a problem */
};
struct fsck_result {
    bool no_database;                    /* nothing was ever submitted */
    size_t jobs, directories, snapshots; /* that were checked */
    size_t problems, mended;
};
/* Checks the database against the run directories. -EBUSY: a daemon is running. */
int daemon_fsck(const struct fsck_options *opts, struct fsck_result *ret, struct err *e)
    __attribute__((weak));

/* The names of kill_points.h, NULL-terminated. */
const char *const *daemon_kill_points(void) __attribute__((weak));

#endif
