/* log_read.h - lines of the logs of a run, some at a time, forwards or backwards from a cursor,
 * those of several logs merged in the order of time.
 *
 * A line has the time at which its last byte was read from the process (rundir/marks.h). Lines are
 * ordered by time, then by the name of their log, then by their place in it; a cursor is such a
 * place: "MS.OFFSET.LOG". So it stays valid while logs grow, and is short whatever their number.
 *
 * A page reads a bounded number of bytes of each log. Where that is not enough to know all lines up
 * to some time, the page ends there.
 */
#ifndef API_LOG_READ_H
#define API_LOG_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

struct logs_of; /* a run's logs, and what was read of their marks */

/* dir_fd is the run directory; it is duplicated. -ENOENT: it has no logs. */
int logs_open(int dir_fd, struct logs_of **ret, struct err *e);
void logs_free(struct logs_of *lo); /* NULL is fine */
/* Looks for new logs and reads new marks. */
void logs_look(struct logs_of *lo);
/* Sum of the sizes: has anything been written? */
uint64_t logs_size(const struct logs_of *lo);

struct log_place {
    int64_t ms;
    uint64_t offset;
    const char *log; /* "" = before all others of that time */
};
bool log_place_read(struct arena *a, const char *text, struct log_place *ret);
void log_place_write(struct strbuf *out, const struct log_place *p);

struct log_wish {
    const char *replica;            /* NULL: all */
    int64_t rank, attempt;          /* -1, 0: all */
    const char *grep;               /* NULL: all */
    const struct log_place *before; /* the last lines before it; */
    const struct log_place *after;  /* the first lines after it; neither: the last ones */
    size_t most;
    bool ended;     /* nobody writes any more: a line without an end counts */
    int64_t now_ms; /* of a run that goes on: lines of the last LIMIT_LOG_SETTLE_MS are left for the
                     * next page, because others may get the same time; 0: not so */
};

struct log_line {
    struct log_place at; /* ms 0: its time is not known */
    const char *replica;
    int64_t rank, attempt; /* rank -1: none */
    const char *text;      /* in the arena, without its end */
    size_t len;
};

struct log_page {
    struct log_line *v; /* in order */
    size_t n;
    bool more_before;             /* there may be lines before the first of them */
    struct log_place first, last; /* cursors */
    bool cut; /* the limit of bytes was reached: lines may be missing; continue with a cursor */
};

void logs_read(struct logs_of *lo, struct arena *a, const struct log_wish *w, struct log_page *ret);

#endif
