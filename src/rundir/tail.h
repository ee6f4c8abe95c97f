/* tail.h - the last lines of a log, made harmless for a terminal and a report. */
#ifndef RUNDIR_TAIL_H
#define RUNDIR_TAIL_H

#include <stdbool.h>

#include "base/strvec.h"

/* At most LIMIT_TAIL_LINES lines from the last LIMIT_TAIL_BYTES bytes, control characters escaped.
 * A log that is missing or empty gives none. True if the first line is only the end of one. */
bool log_tail(int logs_fd, const char *name, struct strvec *ret);

/* The same of its beginning. */
void log_head(int logs_fd, const char *name, struct strvec *ret);

#endif
