/* link.h - the supervisor's end of its socketpair with muster: frames, buffered in both directions.
 *
 * Nothing here ever waits, except link_flush_wait() at the very end: a muster that is slow must not
 * keep the supervisor from reaping. What cannot be sent yet stays in memory; link_is_full() tells
 * when that has become so much that nothing more should be let in.
 */
#ifndef SHIM_LINK_H
#define SHIM_LINK_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "shim/wire.h"

struct link {
    int fd;
    struct strbuf in, out;
    size_t in_done, out_done; /* bytes at the front that are dealt with */
};

void link_init(struct link *l, int fd); /* makes fd non-blocking */
void link_release(struct link *l);      /* closes fd */

/* Reads what is there, once. 0, or -ECONNRESET if the other side is gone (-errno if it failed). */
int link_fill(struct link *l);

/* The next whole frame of what was read: its length, 0 if there is none yet, -EPROTO. The reader
 * points into the link's buffer and is good until the next call. */
long link_next(struct link *l, enum wire_type *ret_type, struct wire_reader *ret);

/* Sends what can be sent. 0 (something may be left: link_pending()) or -errno. */
int link_flush(struct link *l);
/* Waits at most timeout_ms for all of it to be sent. */
int link_flush_wait(struct link *l, int timeout_ms);

static inline bool link_pending(const struct link *l)
{
    return l->out.len > l->out_done;
}
bool link_is_full(const struct link *l);

#endif
