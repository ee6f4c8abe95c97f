/* history.h - what a shim that outlives its master has reported, so that the next one hears it
 * again.
 *
 * Of each process the present start and its end, of each replica that it is open, of the last two
 * mpiruns all ranks: what a job core may not have in its journal. Reports are kept as frames, in
 * their order.
 */
#ifndef SHIM_HISTORY_H
#define SHIM_HISTORY_H

#include "base/strbuf.h"
#include "shim/wire.h"

struct history {
    struct record *v;
    size_t n, cap;
};

void history_release(struct history *h);

/* One whole frame. What is no report (notes, answers) is not kept. */
void history_add(struct history *h, const char *frame, size_t n);

/* The instance of the process that was reported last; 0: none. */
uint32_t history_instance(const struct history *h, uint32_t process);

/* Appends all of it, or what is about one process. */
void history_put(const struct history *h, struct strbuf *out);
void history_put_process(const struct history *h, uint32_t process, struct strbuf *out);

#endif
