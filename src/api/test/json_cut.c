/* json_cut.c - pages of a list in a long JSON text. */
#include "api/json_cut.h"

#include <string.h>

#include "base/tap.h"

static const char plan[] =
    "{\"jobs\":[{\"name\":\"list\",\"x\":{\"list\":[9]},\"list\": [ {\"a\":\"]},{\"}, "
    "[1,2],\"\\\"\",3 ],\"notes\":[]}]}";

static const char *cut(const char *text, size_t from, size_t n, struct strbuf *out)
{
    size_t total = 77;

    strbuf_truncate(out, 0);
    if (!json_cut(text, strlen(text), "list", 2, from, n, out, &total))
        return out->len || total != 77 ? "refused, but changed" : NULL;
    strbuf_addf(out, " of %zu", total);
    return out->buf;
}

int main(void)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

#define REST ",\"notes\":[]}]} of 4"
#define HEAD "{\"jobs\":[{\"name\":\"list\",\"x\":{\"list\":[9]},\"list\": ["
    is_str(cut(plan, 0, 2, &out), HEAD "{\"a\":\"]},{\"},[1,2]]" REST, "the first two elements");
    is_str(cut(plan, 2, 9, &out), HEAD "\"\\\"\",3 ]" REST, "the remaining elements");
    is_str(cut(plan, 4, 1, &out), HEAD "]" REST, "a range past the end is empty");
    is_str(cut("{\"a\":{\"list\":[]}}", 0, 1, &out), "{\"a\":{\"list\":[]}} of 0", "an empty list");
    ok(!cut("{\"a\":{\"list\":{}}}", 0, 1, &out), "a value that is not a list is refused");
    ok(!cut("{\"list\":[]}", 0, 1, &out), "a list at another depth is not found");
    for (size_t n = 0; n < sizeof(plan) - 1; n++) {
        size_t total;

        strbuf_truncate(&out, 0);
        if (json_cut(plan, n, "list", 2, 0, 9, &out, &total) && n < strlen(HEAD) + 20)
            ok(false, "cut off after %zu bytes", n);
    }
    ok(true, "truncated text is refused");
    return tap_done();
}
