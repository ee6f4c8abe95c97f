/* base64.c - see base64.h. */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int base64_decode(const char *text, size_t len, char *out, size_t *ret_len)
{
    uint32_t bits = 0;
    size_t n = 0, digits = 0, padding = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' || text[i] == '\r')
            continue;
        if (text[i] == '=') {
            padding++;
            continue;
        }
        if (padding || digit(text[i]) < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)digit(text[i]);
        if (++digits % 4 != 1) /* every digit but a group's first completes a byte */
            out[n++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)));
    }
    if (padding > 2 || digits % 4 == 1 || (digits + padding) % 4)
        return -EINVAL;
    *ret_len = n;
    return 0;
}

void base64_encode(const void *data, size_t n, char *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);

        *out++ = letters[v >> 18];
        *out++ = letters[v >> 12 & 63];
        *out++ = left > 1 ? letters[v >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[v & 63] : '=';
    }
    *out = '\0';
}
