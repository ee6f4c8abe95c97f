/* secret_lines.c - job files as somebody may see them. */
#include "dialect/secret_lines.h"

#include <string.h>

#include "base/tap.h"

static struct strbuf out = STRBUF_INIT;

static const char *mask(const char *text, bool json)
{
    strbuf_truncate(&out, 0);
    mask_secret_lines(text, strlen(text), json, &out);
    return out.buf;
}

int main(void)
{
    is_str(mask("name: x\nsecrets:\n  a: b\n  c:\n  - d\nother: e\n", false),
           "name: x\nsecrets:\n  a: \"***\"\n  c:\n  - \"***\"\nother: e\n", "a block");
    is_str(mask("secrets: {a: b}\nx: y", false), "secrets: \"***\"\nx: y", "on one line");
    is_str(mask("secrets:\n  a: |\n    one: two\n\n    three\n  b: c\n", false),
           "secrets:\n  a: |\n    ***\n\n    ***\n  b: \"***\"\n", "a text of several lines");
    is_str(mask("secrets:\n  a: \"one\n    k: two\"\n  b: c\n", false),
           "secrets:\n  a: \"***\"\n    ***\n  b: \"***\"\n", "a value that goes on");
    is_str(mask("a: 1\r\nauth: x\r\nb: 2\r\n", false), "a: 1\r\nauth: \"***\"\r\nb: 2\r\n",
           "lines of Windows");
    is_str(mask("kind: Secret\ndata:\n  k: v\n", false), "kind: Secret\ndata:\n  k: \"***\"\n",
           "a Secret of Kubernetes");
    is_str(mask("kind: ConfigMap\ndata:\n  k: v\n", false), "kind: ConfigMap\ndata:\n  k: v\n",
           "and no other object");
    is_str(mask("{\"secrets\": {\"a\":\"b\",\"n\":[12,-1.5,true]},\"x\":\"y\",\"z\":3}", true),
           "{\"secrets\": {\"a\":\"***\",\"n\":[\"***\",\"***\",true]},\"x\":\"y\",\"z\":3}",
           "JSON");
    is_str(mask("{\"auth\" : \"a\\\"b\", \"x\":1}", true), "{\"auth\" : \"***\", \"x\":1}",
           "one value");
    is_str(mask("{\"secrets\":[\"a\"", true), "{\"secrets\":[\"***\"", "one that has no end");
    strbuf_release(&out);
    return tap_done();
}
