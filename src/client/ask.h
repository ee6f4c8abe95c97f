/* ask.h - the asking end of a run's control socket; what can be asked is in protocol.h. */
#ifndef CLIENT_ASK_H
#define CLIENT_ASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "doc/json.h"
#include "doc/tree.h"

struct answer {
    const struct node *head; /* in the arena; "ok" is true */
    struct strbuf body;      /* the caller's to release */
    pid_t pid;               /* of the muster that was asked; 0 = not known. Set on failure too */
    bool stopped;            /* it is, by Ctrl-Z or SIGSTOP: -ETIMEDOUT. Likewise */
};

/* Opens a request head in sb: the caller adds its own keys and calls json_end(). */
struct json ask_begin(struct strbuf *sb, const char *request);

/* Connects to the run whose scratch directory is dir_fd, sends the request (and descriptors 0, 1, 2
 * of ours if with_fds) and waits for the answer, for limit_ms at most. With descriptors, only the
 * request is limited: a command may take any time. A run that is stopped is not waited for.
 *   -ECONNREFUSED, -ENOENT  nobody is there
 *   -ECONNRESET             the run ended before it had answered
 *   -ETIMEDOUT              it is stopped or does not respond; e says what to do
 *   -EPERM                  it refused; e has its words
 *   others                  e says what */
int ask(struct arena *a, int dir_fd, const struct strbuf *request, bool with_fds, int limit_ms,
        struct answer *ret, struct err *e);

/* A body of JSON lines, one value each. */
struct answer_lines {
    const struct node **v;
    size_t n;
};
void answer_lines(struct arena *a, const struct answer *an, struct answer_lines *ret);

/* The text of a key of the head, "" if it is not there. */
const char *answer_str(const struct answer *an, const char *key);
int64_t answer_int(const struct answer *an, const char *key); /* 0 if it is not there */

#endif
