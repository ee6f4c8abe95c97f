/* base64.h - text of RFC 4648's alphabet to bytes, and back. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#define BASE64_ROOM(len) ((len) / 4 * 3 + 3) /* bytes that a text of that length can become */

/* Newlines count for nothing, padding is wanted; 0, or -EINVAL if it is no such text. */
int base64_decode(const char *text, size_t len, char *out, size_t *ret_len);

#define BASE64_TEXT(n) (((n) + 2) / 3 * 4 + 1) /* room for the text of n bytes, with its NUL */

void base64_encode(const void *data, size_t n, char *out);

#endif
