/* log_gaps.h - logs that are not complete, because they could not be written (a full disk), and by
 * how much. */
#ifndef FOREGROUND_LOG_GAPS_H
#define FOREGROUND_LOG_GAPS_H

#include "engine/engine.h"
#include "job/report.h"

struct log_gaps {
    struct log_gap *v; /* its texts are heap or static */
    size_t n, cap;
    int64_t not_shown; /* bytes that are in no log and were not shown either */
};

void log_gaps_release(struct log_gaps *g);

void log_gaps_add(struct log_gaps *g, const struct unlogged *u);

/* That of a log, or NULL if it is complete. log may be NULL. */
const struct log_gap *log_gaps_find(const struct log_gaps *g, const char *log);

/* "logs are incomplete: worker-0.log lacks 12 KiB, worker-1.log lacks 1.5 MiB (No space left on
 * device)", and how much was not shown either. Nothing if all are complete. */
void log_gaps_sentence(const struct log_gaps *g, struct strbuf *out);

#endif
