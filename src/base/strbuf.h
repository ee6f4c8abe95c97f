/* strbuf.h - a growing string.
 *
 * Invariants: buf is never NULL and always NUL-terminated at buf[len]; len counts bytes without the
 * NUL. Bytes may be anything, NUL included. Start with STRBUF_INIT; end with strbuf_release().
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/cleanup.h"

struct strbuf {
    char *buf;
    size_t len, cap;
};

extern char strbuf_empty[1];
#define STRBUF_INIT                                                                                \
    {                                                                                              \
        .buf = strbuf_empty                                                                        \
    }

void strbuf_release(struct strbuf *sb); /* back to STRBUF_INIT */
#define auto_strbuf CLEANUP(strbuf_release)

void strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);
void strbuf_truncate(struct strbuf *sb, size_t len);
void strbuf_consume(struct strbuf *sb, size_t n); /* drops n bytes at the front */

/* The string as heap memory of the caller's; sb is empty afterwards. */
char *strbuf_detach(struct strbuf *sb);

/* Adds text from outside with control characters, DEL, C1 and invalid UTF-8 written as \n, \t, \x1b
 * … so that it cannot act on a terminal. */
void strbuf_add_escaped(struct strbuf *sb, const char *s, size_t n);

/* Adds s quoted for a POSIX shell if it needs quotes. */
void strbuf_add_shell_word(struct strbuf *sb, const char *s);
/* The same for a person to read and to type again: control characters as $'\033', which bash, ksh
 * and zsh understand, and a terminal does not. */
void strbuf_add_typed_word(struct strbuf *sb, const char *s);

#endif
