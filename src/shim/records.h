/* records.h - how the ranks of a job of the operator ended, as its launcher gets to know it and
 * tells it in the end. Pure: times are arguments.
 *
 * Pods of such a job hold the user's programs alone, and the operator sees how containers end. Rank
 * records are brought by two more processes:
 *
 *     muster-shim launch     around the launcher's command: listens, and writes what it was told
 *                            into the container's termination message (launch.c)
 *     muster-record          around each rank, put there by MPI's own means: reports (record.c)
 *
 * The message is one line, so that what the user's own program has written there stays readable:
 *
 *     muster-ranks: {"launches":[{"size":4,"program":7,"began":5120,"over":20,"ok":1,"failed":1,
 *         "stopped":2,"lost":0,"first":[{"rank":3,"host":"pi-worker-1","ago":31,"code":7}]}]}
 *
 * Times are milliseconds before the launcher's end: clocks of nodes differ, and the operator knows
 * the end by the pod. "first" has the first LIMIT_RECORD_FAILURES failures in their order; of each
 * "code", "signal" or neither (nobody can say how), and "oom" or "exec" (an errno) if so.
 *
 * Calls of mpirun are told if a rank of them failed, and the last one whatever became of it. One
 * that was followed by another with the same program was tried again, and does not count.
 */
#ifndef SHIM_RECORDS_H
#define SHIM_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/strbuf.h"

#define RECORDS_PREFIX "muster-ranks: "

/* Where ranks report to, "PORT@ADDRESS": in the environment of launcher and ranks. Open MPI passes
 * on what looks like a parameter of its own, Hydra everything. */
#define RECORDS_VARIABLE "OMPI_MCA_muster_records"
#define RECORDS_WRAPPER "muster-record"

struct records;
struct record; /* a rank */

struct records *records_new(void);
void records_free(struct records *r);

struct record_rank {
    uint32_t rank, size;
    const char *launch, *host;
    int64_t program;
};

struct record_end {
    int status; /* of wait(2) */
    bool told, oom;
    int exec_error; /* 0 or -errno */
};

/* A rank begins. NULL: it cannot be one. Valid until records_end() or records_lost(). */
struct record *records_begin(struct records *r, const struct record_rank *rank, ns_t now);
void records_told(struct record *k); /* its launcher has told it to end */
void records_end(struct records *r, struct record *k, const struct record_end *end, ns_t now);
/* Its connection was closed, and nobody can say how it ended. */
void records_lost(struct records *r, struct record *k, ns_t now);

/* The line, without a newline; nothing if no rank has reported. At most LIMIT_RECORD_BYTES. */
void records_write(const struct records *r, ns_t now, struct strbuf *out);

#endif
