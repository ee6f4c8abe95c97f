/* strbuf.c - see strbuf.h. */
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

char strbuf_empty[1];

void strbuf_release(struct strbuf *sb)
{
    if (sb->cap)
        free(sb->buf);
    *sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_reserve(struct strbuf *sb, size_t extra)
{
    size_t need, cap = sb->cap ? sb->cap : 64;

    if (__builtin_add_overflow(sb->len, extra, &need) || need >= SIZE_MAX / 2)
        need = SIZE_MAX / 2; /* xrealloc_array() ends it */
    need++;
    if (need <= sb->cap)
        return;
    while (cap < need)
        cap *= 2;
    sb->buf = xrealloc_array(sb->cap ? sb->buf : NULL, cap, 1);
    sb->cap = cap;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t n)
{
    if (!n)
        return;
    if (n >= sb->cap - sb->len) /* most of the time there is room */
        strbuf_reserve(sb, n);
    memcpy(sb->buf + sb->len, data, n);
    sb->len += n;
    sb->buf[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
    strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
    if (sb->cap - sb->len < 2)
        strbuf_reserve(sb, 1);
    sb->buf[sb->len++] = c;
    sb->buf[sb->len] = '\0';
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(sb->cap ? sb->buf + sb->len : NULL, sb->cap ? sb->cap - sb->len : 0, fmt, ap);
    if (n > 0) {
        if (!sb->cap || (size_t)n >= sb->cap - sb->len) {
            strbuf_reserve(sb, (size_t)n);
            n = vsnprintf(sb->buf + sb->len, sb->cap - sb->len, fmt, again);
        }
        sb->len += (size_t)n;
    }
    va_end(again);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(sb, fmt, ap);
    va_end(ap);
}

void strbuf_truncate(struct strbuf *sb, size_t len)
{
    if (len < sb->len) {
        sb->len = len;
        sb->buf[len] = '\0';
    }
}

void strbuf_consume(struct strbuf *sb, size_t n)
{
    if (n > sb->len)
        n = sb->len;
    if (!n)
        return;
    memmove(sb->buf, sb->buf + n, sb->len - n + 1);
    sb->len -= n;
}

char *strbuf_detach(struct strbuf *sb)
{
    char *s = sb->cap ? sb->buf : xstrdup("");

    *sb = (struct strbuf)STRBUF_INIT;
    return s;
}

static void add_escape(struct strbuf *sb, uint32_t c)
{
    static const char letters[] = "abtnvfr"; /* from 7 on */

    if (c >= 7 && c <= 13) {
        strbuf_addch(sb, '\\');
        strbuf_addch(sb, letters[c - 7]);
    } else if (c < 0x100) {
        strbuf_addf(sb, "\\x%02x", c);
    } else {
        strbuf_addf(sb, "\\u%04x", c);
    }
}

void strbuf_add_escaped(struct strbuf *sb, const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c;

        len = utf8_decode(s + i, n - i, &c);
        if (!len) {
            len = 1;
            strbuf_addf(sb, "\\x%02x", (unsigned char)s[i]);
        } else if (utf8_is_control(c)) {
            add_escape(sb, c);
        } else {
            strbuf_add(sb, s + i, len);
        }
    }
}

/* A '=' makes an assignment of a command's first words; after a dash it cannot. */
static bool shell_safe(const char *s)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./:@%+,";

    for (const char *p = s; *p; p++) {
        if (!strchr(safe, *p) && !(*p == '=' && s[0] == '-'))
            return false;
    }
    return *s != '\0';
}

void strbuf_add_shell_word(struct strbuf *sb, const char *s)
{
    if (shell_safe(s)) {
        strbuf_addstr(sb, s);
        return;
    }
    strbuf_addch(sb, '\'');
    for (; *s; s++) {
        if (*s == '\'')
            strbuf_addstr(sb, "'\\''");
        else
            strbuf_addch(sb, *s);
    }
    strbuf_addch(sb, '\'');
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

void strbuf_add_typed_word(struct strbuf *sb, const char *s)
{
    const char *p = s;

    while (*p && !is_control(*p))
        p++;
    if (!*p) {
        strbuf_add_shell_word(sb, s);
        return;
    }
    strbuf_addstr(sb, "$'");
    for (; *s; s++) {
        if (is_control(*s))
            strbuf_addf(sb, "\\%03o", (unsigned char)*s);
        else if (*s == '\'' || *s == '\\')
            strbuf_addf(sb, "\\%c", *s);
        else
            strbuf_addch(sb, *s);
    }
    strbuf_addch(sb, '\'');
}
