/* marks.h - which bytes of a log came from stdout and which from stderr, and when.
 *
 * RUN_DIR/marks has one line per mark, `MS OFFSET STREAM LOGNAME`: from OFFSET on, the bytes of
 * that log came from this stream (`o` or `e`) and were read at that time. A mark is written before
 * its bytes, so whoever reads a log first and the marks afterwards has every mark of what was read.
 * Where there are no marks everything counts as stdout.
 */
#ifndef RUNDIR_MARKS_H
#define RUNDIR_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_NAME "marks"

struct marks;
struct marks_of; /* those of one log */

struct mark {
    uint64_t until; /* where the next one begins; UINT64_MAX: not known yet */
    int64_t ms;     /* real time; 0: unknown */
    bool is_err;
};

/* dir_fd is the run directory and stays the caller's; the file may be made later. Without times,
 * marks that change nothing but the time are not kept. */
struct marks *marks_new(int dir_fd, bool times);
void marks_free(struct marks *m);

/* Those of a log, by its name; they live as long as m does. */
struct marks_of *marks_of(struct marks *m, const char *log);

/* Reads what was added. Beyond LIMIT_MARKS (with times: LIMIT_MARK_TIMES) that wait to be asked
 * for, the rest stays in the file; times that may be among them are unknown. */
void marks_read(struct marks *m);

/* What holds at an offset. Offsets of one log must not go backwards: what lies before is forgotten.
 */
struct mark marks_at(struct marks *m, struct marks_of *of, uint64_t offset);

#endif
