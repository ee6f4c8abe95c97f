/* json.c - the JSON writer: well-formed whatever the strings are. */
#include "doc/json.h"

#include <math.h>
#include <string.h>

#include "base/tap.h"

static void test_shapes(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, pretty = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb), p = JSON_PRETTY(&pretty);

    json_object(&j);
    json_kv_str(&j, "name", "x");
    json_kv_str(&j, "none", NULL);
    json_kv_int(&j, "n", -3);
    json_kv_bool(&j, "b", true);
    json_key(&j, "list");
    json_array(&j);
    json_int(&j, INT64_MAX);
    json_double(&j, 0.5);
    json_double(&j, NAN);
    json_object(&j);
    json_end(&j);
    json_array(&j);
    json_end(&j);
    json_end(&j);
    json_kv_null(&j, "last");
    json_end(&j);
    is_str(sb.buf,
           "{\"name\":\"x\",\"none\":null,\"n\":-3,\"b\":true,"
           "\"list\":[9223372036854775807,0.5,null,{},[]],\"last\":null}",
           "compact");

    json_object(&p);
    json_key(&p, "a");
    json_array(&p);
    json_int(&p, 1);
    json_bool(&p, false);
    json_end(&p);
    json_key(&p, "b");
    json_object(&p);
    json_end(&p);
    json_end(&p);
    is_str(pretty.buf, "{\n  \"a\": [\n    1,\n    false\n  ],\n  \"b\": {}\n}", "pretty");
}

/* Deeper than what is indented in one piece. */
static void test_depth(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    const char *line;

    for (int i = 0; i < 20; i++)
        json_array(&j);
    json_int(&j, 1);
    line = strrchr(sb.buf, '\n');
    is_int((int)strspn(line + 1, " "), 40, "two spaces for each of 20 levels");
    is_str(line + 41, "1", "and then the value");
    for (int i = 0; i < 20; i++)
        json_end(&j);
    is_str(strrchr(sb.buf, '\n'), "\n]", "the last bracket has none");
}

static void test_strings(void)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"plain, é, and \t plain", "\"plain, é, and \\t plain\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\b\t\n\v\f\r\x1b", "\"\\b\\t\\n\\u000b\\f\\r\\u001b\""},
        {"\x7f\xc2\x9b", "\"\\u007f\\u009b\""},
        {"é日😀", "\"é日😀\""},
        {"x\xffy", "\"x\xef\xbf\xbdy\""},
        {"\xe6\x97", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct json j = JSON_COMPACT(&sb);

        json_str(&j, rows[i].in);
        is_str(sb.buf, rows[i].out, "string %zu", i);
    }
}

int main(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb);

    test_shapes();
    test_depth();
    test_strings();
    json_strn(&j, "a\0b", 3);
    is_str(sb.buf, "\"a\\u0000b\"", "a NUL inside");
    return tap_done();
}
