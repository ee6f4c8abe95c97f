/* terminal.h - `muster top` on a terminal, with ncurses; only in the program muster-top. */
#ifndef TOP_TERMINAL_H
#define TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct top_options {
    int64_t interval_ms;
    bool all;
    const char *job; /* opened at once: its id; or NULL */
};

/* Until q is pressed: 0. A signal ends the process as it would without top, with the terminal as it
 * was before. -errno: the terminal cannot be used. Weak: only muster-top has it. */
int top_show(const struct top_options *o, struct err *e) __attribute__((weak));

#endif
