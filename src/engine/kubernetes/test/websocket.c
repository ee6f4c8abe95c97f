/* websocket.c - frames: the example of RFC 6455, lengths, and what no server may send. */
#include "engine/kubernetes/websocket.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"

static void test_write(void)
{
    static const unsigned char hello[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
                                          0x7f, 0x9f, 0x4d, 0x51, 0x58};
    static const size_t lengths[] = {0, 1, 125, 126, 65535, 65536};
    static const size_t heads[] = {6, 6, 6, 8, 8, 14};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    auto_free char *data = xcalloc(1, 65536);
    uint32_t mask;

    memcpy(&mask, hello + 2, 4);
    ws_write(&out, WS_TEXT, "Hello", 5, mask);
    ok(out.len == sizeof(hello) && memcmp(out.buf, hello, out.len) == 0, "RFC 6455, 5.7");
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        strbuf_truncate(&out, 0);
        ws_write(&out, WS_BINARY, data, lengths[i], mask);
        is_int((long long)(out.len - lengths[i]), (long long)heads[i], "%zu bytes", lengths[i]);
    }
}

static void test_read(void)
{
    static const char hello[] = "\x81\x05Hello";
    static const char more[4] = {WS_BINARY, 126, 0, 126};
    char buf[200] = {0};
    struct ws_frame f;

    for (size_t n = 0; n < 7; n++)
        is_int(ws_read(hello, n, &f), 0, "%zu bytes of 7", n);
    is_int(ws_read(hello, 7, &f), 7, "all of it");
    ok(f.kind == WS_TEXT && f.last && f.n == 5 && memcmp(f.data, "Hello", 5) == 0, "its content");
    memcpy(buf, more, sizeof(more));
    is_int(ws_read(buf, 129, &f), 0, "a longer one, not complete");
    is_int(ws_read(buf, 130, &f), 130, "complete");
    ok(f.kind == WS_BINARY && !f.last && f.n == 126, "its content");
    is_int(ws_read("\x81\x85xxxxHello", 11, &f), -EPROTO, "a server does not mask");
    is_int(ws_read("\xc1\x05Hello", 7, &f), -EPROTO, "no extension was agreed on");
    is_int(ws_read("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10, &f), -EPROTO, "too long");
}

int main(void)
{
    test_write();
    test_read();
    return tap_done();
}
