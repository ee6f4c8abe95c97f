/* usage.h - what the processes of running jobs use: CPU time, memory, bytes read and written.
 *
 * Every process of a job carries MUSTER_RUN_ID, MUSTER_ROLE and MUSTER_INDEX, so one look at /proc
 * tells whose it is; no plan is needed, and one look serves all jobs. A process that has removed
 * them from its environment is not counted. Who a process is, is remembered between two looks.
 */
#ifndef INSPECT_USAGE_H
#define INSPECT_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One rank with all its processes, or what else runs in a replica. */
struct usage_row {
    const char *run_id, *replica; /* until the next look */
    int32_t rank;                 /* -1: none */
    pid_t pid;                    /* of the first process */
    uint32_t processes;
    uint64_t cpu_ms;                /* of all that were seen, ended ones among them */
    uint64_t memory;                /* resident, in bytes */
    uint64_t read, written;         /* by system calls, in bytes */
    uint32_t cpu_percent;           /* of one core, since the look before; 0 at the first */
    uint64_t read_rate, write_rate; /* bytes a second, likewise */
};

struct usage;

/* run_id: of which run; NULL: of all. */
struct usage *usage_new(const char *run_id);
void usage_free(struct usage *u); /* NULL is fine */

/* Looks; the rows are ordered by run, replica and rank. */
void usage_look(struct usage *u);
size_t usage_rows(const struct usage *u, const struct usage_row **ret);

/* The rows of one run. */
size_t usage_rows_of(const struct usage *u, const char *run_id, const struct usage_row **ret);

#endif
