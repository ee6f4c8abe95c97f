/* timeline.h - a run's journal in words, for `events` and `show`. */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strvec.h"

/* Adds a line in words per event: "20:00:00.123  exited  worker-1/3  exit code 7". happened: only
 * what happened, without the decisions that led to it. A line of the journal that is not complete
 * yet is left out. */
void timeline_words(const char *journal, size_t len, bool happened, struct strvec *ret);

#endif
