/* data.h - what `muster top` shows: jobs, and the replicas and ranks of one of them.
 *
 * A snapshot: made anew at each refresh, in an arena, and const afterwards. Texts are as found in
 * files and logs; only draw.c makes them harmless.
 */
#ifndef TOP_DATA_H
#define TOP_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "job/job.h"

struct usage;

struct top_use {
    bool known;                     /* false: nothing runs, or it runs elsewhere */
    uint64_t cpu;                   /* percent of one core */
    uint64_t memory, read, written; /* bytes; bytes per second */
};

struct top_job {
    const char *id, *name, *dialect;
    const char *state;
    const char *dir;  /* run directory, "" while it waits */
    const char *note; /* why it waits, or its verdict; "" */
    const char *last; /* the last line of its first rank; NULL: not looked at */
    const char *log;  /* that of the first rank; "" or NULL: not known */
    bool alive, waits;
    int exit_code;           /* -1: none yet */
    ns_t since, until;       /* start (waiting: submission); end or now */
    uint32_t ranks, running; /* processes; 0 and 0: not looked at */
    struct top_use use;
};

struct top_row { /* a replica, a rank, or a replica with its only process */
    const char *replica;
    int32_t rank; /* -1: the row is of the replica */
    bool below;   /* a rank below the row of its replica */
    const char *state;
    const char *end; /* "exit 7", "SIGKILL", "stopped because of worker-1"; "" */
    bool failed;
    uint32_t restarts;
    struct top_use use;
    const char *log;  /* "": none */
    const char *last; /* NULL: not looked at */
};

struct top_data {
    ns_t now;
    struct top_job *jobs;
    size_t n_jobs;
    size_t running, waiting, ended;
    struct top_use total;
    /* Of the job that is open. */
    struct top_row *rows;
    size_t n_rows;
    const char *why_no_rows; /* or NULL */
    const char *unlisted;    /* why jobs that wait are missing (client/runs.h); or NULL */
    /* Of the log that is open. */
    const char *const *lines;
    size_t n_lines;
    int64_t log_size;
    bool log_at_end;
};

/* rows.c: the rows of a job, in the order of its plan; u may be NULL. */
size_t top_rows(struct arena *a, const struct job *job, const struct usage *u,
                struct top_row **ret);
void top_use_add(struct top_use *to, const struct top_use *more);

#endif
