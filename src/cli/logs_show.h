/* logs_show.h - one log as `muster logs` shows it: byte by byte, or line by line with what stands
 * before each. stdout and stderr of a process are lines of their own; of a progress bar the last
 * state is one.
 */
#ifndef CLI_LOGS_SHOW_H
#define CLI_LOGS_SHOW_H

#include <regex.h>
#include <stdbool.h>
#include <sys/types.h>

#include "rundir/lines.h"
#include "rundir/marks.h"

struct show_how {
    const regex_t *regex; /* only lines that match; or NULL */
    bool timestamps, prefixed;
};

struct shown_log {
    char *name, *prefix; /* heap */
    off_t at;            /* so far it has been read */
    struct marks_of *marks;
    struct shown_stream {
        struct lines lines;
        struct strbuf told; /* the state of a bar that was shown as a line */
    } streams[2];
};

void shown_log_init(struct shown_log *log, const char *name, const char *prefix);
void shown_log_release(struct shown_log *log);

/* Begins with the last so many lines of what is there. */
void shown_log_tail(struct shown_log *log, int logs_fd, int64_t lines);

/* Shows everything that is new. False if nobody reads our output any more. */
bool shown_log_more(struct shown_log *log, int logs_fd, struct marks *marks,
                    const struct show_how *how);
/* The same for the bytes of one time only: called for the log whose next bytes are the oldest,
 * several logs are in the order of time. False if there is nothing more. */
bool shown_log_step(struct shown_log *log, int logs_fd, struct marks *marks,
                    const struct show_how *how);
/* When the next bytes were written; 0 if that is not known. */
int64_t shown_log_next(struct shown_log *log, struct marks *marks);
/* Shows bars that have moved since the last time; for logs that are followed. */
void shown_log_bars(struct shown_log *log, struct marks *marks, const struct show_how *how);
/* Shows the lines that have no end. */
void shown_log_end(struct shown_log *log, struct marks *marks, const struct show_how *how);

#endif
