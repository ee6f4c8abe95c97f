/* websocket.h - frames of RFC 6455, as a client writes and reads them. Pure packing and unpacking.
 */
#ifndef ENGINE_KUBERNETES_WEBSOCKET_H
#define ENGINE_KUBERNETES_WEBSOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum ws_kind { WS_MORE = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

/* Appends one whole message, masked with that key as every client has to. */
void ws_write(struct strbuf *out, enum ws_kind kind, const void *data, size_t n, uint32_t mask);

struct ws_frame {
    enum ws_kind kind;
    bool last; /* of its message */
    const char *data;
    size_t n;
};

/* The frame at the front of buf: its length, 0 if it is not complete, -EPROTO if it is none that a
 * server may send, or larger than LIMIT_FRAME_BYTES. */
long ws_read(const char *buf, size_t n, struct ws_frame *ret);

#endif
