/* news.h - what a person at the terminal is told while the job goes on: retries, restarts, pauses.
 */
#ifndef FOREGROUND_NEWS_H
#define FOREGROUND_NEWS_H

#include "base/strbuf.h"
#include "job/job.h"

/* One line about an event that was just applied, or nothing. */
void news_of(const struct job *job, const struct event *e, struct strbuf *out);

#endif
