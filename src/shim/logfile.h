/* logfile.h - one log being written, by the supervisor or by a rank wrapper.
 *
 * Before its bytes a line goes to RUN_DIR/marks whenever the stream changes, and every
 * LOGFILE_MARK_MS: `MS OFFSET STREAM LOGNAME` (rundir/marks.h reads them). A log that cannot be
 * written any more (a full disk) stays so: what is missing is then its end, not something in its
 * middle.
 */
#ifndef SHIM_LOGFILE_H
#define SHIM_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOGFILE_MARK_MS 100

struct logfile {
    const char *name;
    int fd;          /* O_APPEND; -1: it is not open */
    int marks_fd;    /* O_APPEND; -1: there are no marks */
    int error;       /* -errno: it cannot be written */
    bool is_err;     /* the last mark: its stream, */
    int64_t mark_ms; /* its time, 0: there is none so far */
    uint64_t size;
};

/* Begins with an open file. */
void logfile_begin(struct logfile *l, int fd, int marks_fd);

/* Returns how many of the n bytes were written. If fewer, error says why. */
size_t logfile_write(struct logfile *l, bool is_err, const char *data, size_t n);

#endif
