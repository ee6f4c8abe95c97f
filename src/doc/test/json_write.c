/* json_write.c - what is written is what was read. */
#include <string.h>

#include "base/tap.h"
#include "doc/json_read.h"
#include "doc/json_write.h"

static const char *const texts[] = {
    "{}",
    "[]",
    "null",
    "{\"a\":[1,-2,true,false,null,\"\\u0000\\\"x\\\\\\n\"],\"b\":{\"c\":{}},\"d\":1.5,\"ä\":\"€\"}",
};

int main(void)
{
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        auto_strbuf struct strbuf out = STRBUF_INIT;

        json_write(&out, json_node(a, texts[i], strlen(texts[i])));
        is_str(out.buf, texts[i], "%s", texts[i]);
    }
    return tap_done();
}
