/* shell_call.h - which programs shell text calls, seen through `exec`, `env`, `nohup` and the like.
 */
#ifndef DIALECT_SHELL_CALL_H
#define DIALECT_SHELL_CALL_H

#include "base/shellwords.h"

struct shell_call {
    const char *program;            /* without its directory; "" if only the shell can tell */
    const struct shell_word *words; /* the program's own word and those after it */
    size_t n;
};

/* The next simple command from words[*at] on; false if there is none. *at is then behind it. */
bool shell_call_next(const struct shell_word *words, size_t n, size_t *at, struct shell_call *ret);

/* `sh -c TEXT`: the text, or NULL if the call is no such thing or the text is not plain. */
const char *shell_call_script(const struct shell_call *call);

#endif
