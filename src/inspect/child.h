/* child.h - work that may take long, in a child process that the loop does not wait for. */
#ifndef INSPECT_CHILD_H
#define INSPECT_CHILD_H

#include <uv.h>

#include "base/strbuf.h"

struct inspection;

/* Forks. The child calls work(arg) with our memory as it is now, a descriptor of the run directory,
 * and a text to fill; it has no other descriptor of ours but the standard ones, dies with us, and
 * is killed after LIMIT_INSPECTION_S. When it has ended, done() gets its text, of 0 bytes if it was
 * killed, and the inspection is gone. NULL: there is no process to be had. */
struct inspection *inspection_new(uv_loop_t *loop, int run_fd,
                                  void (*work)(void *arg, int run_fd, struct strbuf *out),
                                  void *arg, void (*done)(void *ctx, const char *text, size_t n),
                                  void *ctx);

/* Kills it, without done(). NULL is fine. The loop must turn once more. */
void inspection_stop(struct inspection *in);

#endif
