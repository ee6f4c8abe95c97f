/* utf8.h - UTF-8 without a locale: decoding, and how wide a terminal draws a character. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at s (at most n bytes are looked at), stored in *ret; 0 if they are no
 * valid UTF-8 (overlong forms, surrogates and values beyond U+10FFFF are not). n must not be 0. */
size_t utf8_decode(const char *s, size_t n, uint32_t *ret);

/* Columns of a character: 0 (combining), 1, or 2 (East Asian wide, emoji). */
int utf8_width(uint32_t c);

/* Does it act on a terminal instead of showing: controls, DEL, C1, direction overrides? */
int utf8_is_control(uint32_t c);

#endif
