/* stack.h - what a debugger says of a process, where there is one.
 *
 * py-spy for a Python whose stack we cannot read ourselves, else gdb, found by PATH. The process
 * stands still while it is looked at and goes on afterwards, also if the debugger is killed because
 * it takes too long.
 */
#ifndef INSPECT_STACK_H
#define INSPECT_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

enum stack_of {
    STACK_OF_PROGRAM,
    STACK_OF_PYTHON, /* its Python stack is known: only libraries that wait are looked for */
    STACK_OF_UNKNOWN_PYTHON, /* it is not */
};

/* The stacks of all its threads, or a line that says why there are none. False: there is no
 * debugger here at all, and nothing was added. */
bool stack_of(pid_t pid, enum stack_of what, int64_t limit_ms, struct strbuf *out);

#endif
