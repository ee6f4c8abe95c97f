/* series.h - RUN_DIR/usage.jsonl read back: what each rank has used, over time.
 *
 * A job can write into its run directory, so the text may be anything: lines that are not as
 * inspect/usage_log.h has them are skipped, and there are at most LIMIT_SERIES_ROWS ranks.
 */
#ifndef STORY_SERIES_H
#define STORY_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct series_point {
    int64_t ms; /* since the run was created; ascending */
    uint64_t cpu_ms, memory, read, written;
    uint32_t cpu; /* percent of one core since the point before, or the start */
};

struct series_row {
    const char *replica;
    int32_t rank; /* -1: what else ran in the replica */
    struct series_point *v;
    size_t n, cap;
    uint64_t peak_memory; /* of all points */
    uint32_t peak_cpu;
};

struct series { /* in the arena, in the order in which they were first seen */
    struct series_row *rows;
    size_t n;
    int64_t last_ms;
};

const struct series *series_read(struct arena *a, const char *text, size_t len);

/* The row of a rank, or NULL. rank -1: of the replica's first row. */
const struct series_row *series_of(const struct series *s, const char *replica, int32_t rank);

#endif
