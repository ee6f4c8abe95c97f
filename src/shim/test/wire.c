/* wire.c - frames survive the way there and back, and broken ones are known as broken. */
#include "shim/wire.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/tap.h"

static void round_trip(void)
{
    static const char *const words[] = {"one", "", "three\n", NULL};
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    enum wire_type type = 0;
    struct wire_reader r;
    auto_free const char **back = NULL, **none = NULL;
    size_t begin = wire_frame_begin(&sb, WIRE_SPAWN);

    wire_put_u32(&sb, 0xdeadbeef);
    wire_put_i64(&sb, INT64_MIN);
    wire_put_str(&sb, "");
    wire_put_strs(&sb, words);
    wire_put_strs(&sb, NULL);
    wire_put_u32(&sb, (uint32_t)-ENOENT);
    wire_put_bytes(&sb, "a\0b", 3);
    wire_frame_end(&sb, begin);

    is_int(wire_frame_next(sb.buf, sb.len, &type, &r), (long long)sb.len, "a whole frame");
    is_int(type, WIRE_SPAWN, "its type");
    ok(wire_get_u32(&r) == 0xdeadbeef, "u32");
    ok(wire_get_i64(&r) == INT64_MIN, "i64");
    is_str(wire_get_str(&r), "", "an empty string");
    back = wire_get_strs(&r);
    is_str(back[0], "one", "strings, the first");
    is_str(back[2], "three\n", "strings, the last");
    ok(!back[3], "and no more");
    none = wire_get_strs(&r);
    ok(!none[0], "no strings");
    is_int((int32_t)wire_get_u32(&r), -ENOENT, "a negative i32");
    size_t n;
    const void *bytes = wire_get_bytes(&r, &n);
    ok(n == 3 && memcmp(bytes, "a\0b", 3) == 0, "bytes, whatever they are");
    ok(wire_done(&r), "nothing is left");
}

static void partial(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    enum wire_type type;
    struct wire_reader r;
    size_t begin = wire_frame_begin(&sb, WIRE_NOTE);
    bool whole = false;

    wire_put_str(&sb, "text");
    wire_frame_end(&sb, begin);
    for (size_t n = 0; n < sb.len; n++)
        whole = whole || wire_frame_next(sb.buf, n, &type, &r) != 0;
    ok(!whole, "no part of a frame is taken for one");
    wire_frame_end(&sb, wire_frame_begin(&sb, WIRE_BYE));
    is_int(wire_frame_next(sb.buf, sb.len, &type, &r), WIRE_HEADER + 5, "two: the first alone");
}

static void broken(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    auto_free const char **v = NULL;
    enum wire_type type;
    struct wire_reader r;
    uint32_t huge = LIMIT_FRAME_BYTES + 1;
    size_t begin = wire_frame_begin(&sb, WIRE_NOTE);

    wire_put_u32(&sb, UINT32_MAX); /* so many strings */
    wire_frame_end(&sb, begin);
    (void)wire_frame_next(sb.buf, sb.len, &type, &r);
    v = wire_get_strs(&r);
    ok(!v[0] && !wire_done(&r), "a count beyond the frame");
    (void)wire_frame_next(sb.buf, sb.len, &type, &r);
    ok(wire_get_i64(&r) == 0 && !wire_done(&r), "a number beyond the frame");
    (void)wire_frame_next(sb.buf, sb.len, &type, &r);
    memset(sb.buf + WIRE_HEADER, 'x', 4);
    is_str(wire_get_str(&r), "", "a string without an end");
    ok(!wire_done(&r), "is broken");
    is_int(wire_get_u32(&r), 0, "and stays so");
    (void)wire_frame_next(sb.buf, sb.len, &type, &r);
    ok(!wire_done(&r), "bytes left over");
    memcpy(sb.buf, &huge, sizeof(huge));
    is_int(wire_frame_next(sb.buf, sb.len, &type, &r), -EPROTO, "a frame beyond the limit");
    memset(sb.buf, 0, 6);
    sb.buf[6] = 1;
    is_int(wire_frame_next(sb.buf, sb.len, &type, &r), -EPROTO, "not a header of ours");
}

int main(void)
{
    round_trip();
    partial();
    broken();
    return tap_done();
}
