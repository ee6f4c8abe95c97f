/* json_pick.c - the wanted part of a JSON text, and texts that are cut off. */
#include "doc/json_pick.h"

#include <stdlib.h>
#include <string.h>

#include "base/tap.h"

static const char *const paths[] = {"type",          "object.name", "object.spec.containers.name",
                                    "object.labels", "object.list", NULL};

static void test_rows(void)
{
    static const struct {
        const char *text, *picked; /* NULL: no JSON */
        const char *what;
    } rows[] = {
        {"{\"type\":\"A\",\"other\":{\"type\":1}}", "{\"type\":\"A\"}", "a member at the top"},
        {" { \"other\" : [ {}, \"]\" ] ,\n \"type\" : -1.5e3 } ", "{\"type\":-1.5e3}", "blanks"},
        {"{\"object\":{\"uid\":\"u\",\"name\":\"n\",\"spec\":{\"x\":[1,{\"name\":2}],"
         "\"containers\":"
         "[{\"name\":\"a\",\"image\":\"i\"},{\"image\":\"j\"},{\"name\":\"b\"}]}}}",
         "{\"object\":{\"name\":\"n\",\"spec\":{\"containers\":[{\"name\":\"a\"},{},{\"name\":"
         "\"b\"}"
         "]}}}",
         "a path goes on in each item of a list"},
        {"{\"object\":{\"labels\":{\"a\":{\"b\":[1,2]},\"c\":null}}}",
         "{\"object\":{\"labels\":{\"a\":{\"b\":[1,2]},\"c\":null}}}", "all that is below a path"},
        {"{\"objects\":1,\"obj\":2,\"object.name\":3,\"typ\":4}", "{}", "no part of a key"},
        {"{\"a\":\"\\\"type\\\":1\",\"b\":\"\\\\\",\"type\":\"\\\"\"}", "{\"type\":\"\\\"\"}",
         "quotes and backslashes in strings"},
        {"{\"object\":7}", "{\"object\":7}", "a scalar in the place of an object"},
        {"{\"object\":{\"list\":[]},\"x\":{}}", "{\"object\":{\"list\":[]}}", "empty lists"},
        {"[{\"type\":1,\"x\":2},[{\"type\":3}],4]", "[{\"type\":1},[{\"type\":3}],4]", "lists"},
        {"{}", "{}", "nothing"},
        {"\"text\"", "\"text\"", "a scalar"},
        {"", NULL, "no text"},
        {"{\"type\":\"A\"", NULL, "a cut off object"},
        {"{\"type\":\"A", NULL, "a cut off string"},
        {"{\"type\":\"A\\", NULL, "a string that ends with a backslash"},
        {"{\"x\":{\"y\":[}", NULL, "a cut off member that is skipped"},
        {"{\"type\"}", NULL, "a key without a value"},
        {"{\"type\":1}}", NULL, "text behind the end"},
        {"{type:1}", NULL, "a key without quotes"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf out = STRBUF_INIT;
        size_t n = strlen(rows[i].text);
        auto_free char *copy = memcpy(malloc(n + 1), rows[i].text, n + 1); /* for sanitizers */

        strbuf_addstr(&out, "before ");
        ok(json_pick(copy, n, paths, &out) == !!rows[i].picked, "%s", rows[i].what);
        is_str(out.buf + strlen("before "), rows[i].picked ? rows[i].picked : "",
               "%s: what is picked", rows[i].what);
    }
}

static void test_depth(void)
{
    auto_strbuf struct strbuf deep = STRBUF_INIT, out = STRBUF_INIT;

    for (int i = 0; i < 100000; i++)
        strbuf_addch(&deep, '[');
    ok(!json_pick(deep.buf, deep.len, paths, &out), "a text that is too deep is refused");
    ok(out.len == 0, "and leaves nothing");
}

int main(void)
{
    test_rows();
    test_depth();
    return tap_done();
}
