/* story.h - a run over time: who ran when, what ended it, who failed first and who was stopped
 * because of it; attempts and pauses.
 *
 * Made from the journal of a run by folding it once more, event by event. A pure function; the
 * story lives in an arena.
 */
#ifndef STORY_STORY_H
#define STORY_STORY_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "job/job.h"

enum story_end {
    STORY_RUNS, /* still, or it is not known how it ended */
    STORY_SUCCEEDED,
    STORY_STOPPED,
    STORY_FAILED,
    STORY_FAILED_FIRST /* of its attempt */
};

struct story_span {
    ns_t from, to;
    enum story_end end;
    const char *words; /* "exit 7", "SIGTERM"; "" */
};

struct story_row {     /* a process or a rank */
    const char *label; /* "worker-1/3", "launcher-0" */
    const char *replica;
    int32_t rank; /* -1: none */
    struct story_span *spans;
    size_t n, cap;
};

struct story_attempt {
    uint32_t number;
    ns_t from, to;
    const char *why; /* "worker-1/3: exit 7" of one that failed; "" */
};

struct story {
    ns_t from, to; /* to: its end, or its last event */
    bool ended;
    struct story_row *rows; /* in the order of the plan */
    size_t n_rows;
    struct story_attempt *attempts;
    size_t n_attempts;
    struct story_span *pauses;
    size_t n_pauses;
    const char *first; /* label of the first failure of the last attempt; or NULL */
    size_t n_stopped;  /* rows that were stopped in it */
};

/* job: as journal_load() has it; journal: its text. Never fails: what cannot be read ends it. */
const struct story *story_make(struct arena *a, const struct job *job, const char *journal,
                               size_t len);

/* "worker-0/0 + 63 more": neighbours that look the same at this resolution. */
struct story_group {
    size_t first, n; /* rows */
    const char *label;
    const char *words;  /* how it ended: "exit 7, failed first; started 3 times" */
    enum story_end end; /* of the last span */
};
/* At most `most` groups; where there are more, the first failures and the first ones are kept and
 * *ret_left is the number of rows in the others. cells: the resolution. */
size_t story_groups(struct arena *a, const struct story *s, int cells, size_t most,
                    const struct story_group **ret, size_t *ret_left);

/* The time line as text of at most so many columns. */
void story_text(const struct story *s, int columns, struct strbuf *out);

#endif
