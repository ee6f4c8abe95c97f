/* http_uri.c - paths and queries taken apart. */
#include "http/http_uri.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"

static char out[64];

static const char *decode(const char *text, bool plus)
{
    return http_decode(text, strlen(text), plus, out, sizeof(out)) ? out : "refused";
}

static const char *query(const char *text, const char *key)
{
    int r = http_query(text, key, out, 8);

    return r > 0 ? out : r == 0 ? "nothing" : "refused";
}

static bool add_pair(void *ctx, const char *key, const char *value)
{
    strbuf_addf(ctx, "%s=%s;", key, value);
    return strcmp(key, "stop") != 0;
}

int main(void)
{
    char a[16], b[16], *const seg[] = {a, b};
    auto_strbuf struct strbuf all = STRBUF_INIT;

    is_str(decode("a%20b%2F+", false), "a b/+", "percent");
    is_str(decode("a+b%2b", true), "a b+", "plus");
    is_str(decode("%4", false), "refused", "half of one");
    is_str(decode("%", false), "refused", "less");
    is_str(decode("%zz", false), "refused", "no digits");
    is_str(decode("%00", false), "refused", "a NUL");
    ok(http_decode("abc", 3, false, out, 4) && !http_decode("abcd", 4, false, out, 4), "room");

    ok(http_path_is("/jobs/x%2Fy/logs", "/jobs/*/logs", seg, 2, sizeof(a)), "a path");
    is_str(a, "x/y", "its segment, decoded after it was cut out");
    ok(http_path_is("/a/1/b/2", "/a/*/b/*", seg, 2, sizeof(a)) && strcmp(b, "2") == 0, "two");
    ok(!http_path_is("/a/1/b/2", "/a/*/b/*", seg, 1, sizeof(a)), "more than there is room for");
    ok(!http_path_is("/a/", "/a/*", seg, 2, sizeof(a)), "an empty one");
    ok(!http_path_is("/a/.", "/a/*", seg, 2, sizeof(a)), ".");
    ok(!http_path_is("/a/%2e%2e", "/a/*", seg, 2, sizeof(a)), "..");
    ok(!http_path_is("/a/0123456789abcdef", "/a/*", seg, 2, sizeof(a)), "a long one");
    ok(!http_path_is("/a/b", "/a", seg, 2, sizeof(a)) && !http_path_is("/a", "/a/b", seg, 2, 16) &&
           http_path_is("/", "/", seg, 2, sizeof(a)),
       "paths of other lengths");

    is_str(query("a=1&b=x%26y&c", "b"), "x&y", "a value");
    is_str(query("a=1&b=2&a=3", "a"), "1", "the first one");
    is_str(query("c&d=", "c"), "", "without a value");
    is_str(query("aa=1", "a"), "nothing", "another key");
    is_str(query("a=%", "a"), "refused", "one that cannot be decoded");
    is_str(query("a=12345678", "a"), "refused", "a long one");
    ok(http_query_each("a=1&&b=%20", add_pair, &all), "all of them");
    is_str(all.buf, "a=1;b= ;", "in their order");
    ok(!http_query_each("stop=1&a=2", add_pair, &all), "until it is enough");
    ok(!http_query_each("%=1", add_pair, &all), "or refused");
    return tap_done();
}
