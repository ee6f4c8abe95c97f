/* timeline.h - a run's journal in words, for `events` and `show`. */
#ifndef CLIENT_TIMELINE_H
#define CLIENT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/strvec.h"
#include "doc/tree.h"

/* Adds a line in words per event: "20:00:00.123  exited  worker-1/3  exit code 7". happened: only
 * what happened, without the decisions that led to it. A line of the journal that is not complete
 * yet is left out. */
void timeline_words(const char *journal, size_t len, bool happened, struct strvec *ret);
/* What a line of the journal says besides time, event and whom it is about: "exit code 7". */
void timeline_details(const struct node *line, struct strbuf *out);

#endif
