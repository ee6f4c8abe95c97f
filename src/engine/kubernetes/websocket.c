/* websocket.c - see websocket.h. */
#include "engine/kubernetes/websocket.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"

void ws_write(struct strbuf *out, enum ws_kind kind, const void *data, size_t n, uint32_t mask)
{
    const unsigned char *p = data;
    unsigned char key[4];

    memcpy(key, &mask, 4);
    strbuf_addch(out, (char)(0x80 | kind));
    if (n < 126) {
        strbuf_addch(out, (char)(0x80 | n));
    } else {
        int bytes = n <= UINT16_MAX ? 2 : 8;

        strbuf_addch(out, (char)(0x80 | (bytes == 2 ? 126 : 127)));
        for (int i = bytes - 1; i >= 0; i--)
            strbuf_addch(out, (char)((uint64_t)n >> (8 * i)));
    }
    strbuf_add(out, key, 4);
    strbuf_reserve(out, n);
    for (size_t i = 0; i < n; i++)
        strbuf_addch(out, (char)(p[i] ^ key[i % 4]));
}

long ws_read(const char *buf, size_t n, struct ws_frame *ret)
{
    const unsigned char *p = (const unsigned char *)buf;
    size_t head = 2;
    uint64_t len;

    if (n < 2)
        return 0;
    len = p[1] & 0x7f;
    if (len == 126)
        head = 4;
    else if (len == 127)
        head = 10;
    if (n < head)
        return 0;
    if (head > 2)
        len = 0;
    for (size_t i = 2; i < head; i++)
        len = len << 8 | p[i];
    if ((p[0] & 0x70) || (p[1] & 0x80) || len > LIMIT_FRAME_BYTES)
        return -EPROTO;
    *ret = (struct ws_frame){
        .kind = p[0] & 0x0f, .last = p[0] & 0x80, .data = buf + head, .n = (size_t)len};
    return n - head < len ? 0 : (long)(head + len);
}
