/* logs.h - parts of a log for the screen of `muster top`, however large the log is.
 *
 * At most LIMIT_TOP_CHUNK bytes are read at a time, from a regular file; a line that is longer
 * comes as its end. A progress bar is its last state. Nothing is escaped here.
 */
#ifndef TOP_LOGS_H
#define TOP_LOGS_H

#include "base/arena.h"

struct log_window {
    const char *const *lines;
    const int64_t *starts; /* where each begins in the log */
    size_t n;
    int64_t size;
};

/* At most `most` lines that end at `end` (-1: the end of the log) or before. -errno: there is no
 * such log. */
int log_window(struct arena *a, int logs_fd, const char *name, int64_t end, size_t most,
               struct log_window *ret);
/* Where the next `lines` lines end; -1: the log has no more. */
int64_t log_window_after(int logs_fd, const char *name, int64_t at, size_t lines);

/* The last line that is not empty, in the arena; "" if there is none. */
const char *log_last_line(struct arena *a, int logs_fd, const char *name);

#endif
