/* feed.h - sends what logs hold to a muster that cannot read the files itself.
 *
 * Every log, and RUN_DIR/marks, is sent from the offset that muster asks for, so that after a lost
 * connection nothing is missing and nothing comes twice. It is read from the files, which hold all
 * of it: a muster that does not keep up costs no memory here.
 *
 * The end of a process is told after all that it has written: reports wait for the logs.
 */
#ifndef SHIM_FEED_H
#define SHIM_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "shim/wire.h"

struct shim;
struct feed_log;

struct feed {
    struct feed_log *v; /* the first is RUN_DIR/marks */
    size_t n, cap;
    bool on;            /* somebody follows */
    struct strbuf held; /* reports that wait for logs */
};

/* A log of that name may be written from now on. No pod: does nothing. */
void feed_add(struct shim *s, const char *name);
/* A new connection: nothing is sent before it says from where on. */
void feed_stop(struct shim *s);
int feed_follow(struct shim *s, struct wire_reader *r); /* WIRE_FOLLOW */
/* The history, for a new connection, and TOLD at its end. */
void feed_tell_all(struct shim *s);
/* The report that begins there in the link's buffer may have to wait. No pod: it does not. */
void feed_hold(struct shim *s, size_t frame, bool is_end);

/* Sends what is there, until the connection has enough to do. True: that is why it stopped. */
bool feed_logs(struct shim *s);
/* Sends all of it, for at most so long. */
void feed_finish(struct shim *s, int timeout_ms);

#endif
