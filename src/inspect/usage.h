/* usage.h - what the processes of running jobs use: CPU time, memory, bytes read and written.
 *
 * Every process of a job carries MUSTER_RUN_ID, MUSTER_ROLE and MUSTER_INDEX, so one look at /proc
 * finds the owner of each; no plan is needed, and one look serves all jobs. A process without them
 * counts for its parent's owner. Owners are remembered between two looks, so a process that changes
 * its environment later stays where it is. Values that no run of Muster can have are ignored.
 *
 * Memory is the sum of resident sets: pages that processes share count once for each.
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
    uint64_t cpu_ms;                /* of these and of their children that were waited for */
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
/* The same in pieces, for a loop that must not wait: at most so many processes at a time. True when
 * the look is complete and the rows are new. */
bool usage_step(struct usage *u, size_t most);
size_t usage_rows(const struct usage *u, const struct usage_row **ret);

/* The rows of one run. */
size_t usage_rows_of(const struct usage *u, const char *run_id, const struct usage_row **ret);

#endif
