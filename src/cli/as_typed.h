/* as_typed.h - hints name commands that work where they are read.
 *
 * Messages are written with `muster VERB`. Whoever typed build/muster, with no muster on PATH,
 * reads `build/muster VERB`: every message passes through here on its way out.
 */
#ifndef CLI_AS_TYPED_H
#define CLI_AS_TYPED_H

#include "base/strbuf.h"

/* argv[0] of this process; it is not copied. Before the first message. */
void set_typed(const char *argv0);

/* Appends text, in which each `muster` before a verb or an option is the command as it was typed,
 * if that has a slash. */
void add_as_typed(struct strbuf *out, const char *text);

/* "try: LINE" on stderr. */
void print_try(const char *line);

#endif
