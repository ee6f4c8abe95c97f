/* array.c - which jobs a submission makes. */
#include "daemon/array.h"

#include <string.h>

#include "base/tap.h"
#include "doc/json_read.h"

static const struct node *parsed(struct arena *a, const char *text)
{
    return json_node(a, text, strlen(text));
}

static int64_t total_of(const char *text)
{
    auto_arena struct arena *a = arena_new();

    return array_total(parsed(a, text));
}

static void totals(void)
{
    is_int(total_of("{}"), 1, "one job");
    is_int(total_of("{\"count\":7}"), 7, "--count");
    is_int(total_of("{\"count\":2,\"matrix\":[{\"name\":\"a\",\"values\":[\"1\",\"2\",\"3\"]},"
                    "{\"name\":\"b\",\"values\":[\"x\",\"y\"]}]}"),
           12, "each combination, twice");
    is_int(total_of("{\"count\":0}"), 0, "none is invalid");
    is_int(total_of("{\"count\":-5}"), 0, "a negative count");
    is_int(total_of("{\"count\":10001}"), 0, "too many");
    is_int(total_of(
               "{\"count\":9223372036854775807,\"matrix\":[{\"name\":\"a\",\"values\":[\"1\"]}]}"),
           0, "far too many");
    is_int(total_of("{\"matrix\":[{\"name\":\"a\",\"values\":[]}]}"), 0, "no value");
    is_int(total_of("{\"matrix\":[{\"name\":\"a\"}]}"), 0, "no values");
    is_int(total_of("{\"matrix\":[5]}"), 0, "no axis");
    is_int(total_of("{\"count\":10000,\"matrix\":[{\"name\":\"a\",\"values\":[\"1\",\"2\"]}]}"), 0,
           "more than the limit together");
}

static void variables(void)
{
    static const char *const want[] = {"a=1 b=x", "a=1 b=y", "a=2 b=x",
                                       "a=2 b=y", "a=1 b=x", "a=1 b=y"};
    auto_arena struct arena *a = arena_new();
    const struct node *root =
        parsed(a, "{\"count\":2,\"matrix\":[{\"name\":\"a\",\"values\":[\"1\",\"2\"]},"
                  "{\"name\":\"b\",\"values\":[\"x\",\"y\"]}]}");

    for (int i = 0; i < 6; i++) {
        auto_strvec struct strvec vars = STRVEC_INIT;
        auto_strbuf struct strbuf label = STRBUF_INIT;

        array_vars(root, i, &vars);
        array_label("ID", &vars, &label);
        is_str(label.buf + 3, want[i], "job %d", i);
    }
}

static void requests(void)
{
    auto_arena struct arena *a = arena_new();
    auto_strvec struct strvec vars = STRVEC_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strvec_push(&vars, "a=\"quoted\"");
    array_request("{\"job\":{\"argv\":[]}}",
                  &(struct array_place){.id = "ID", .name = "n-3", .index = 3, .count = 9}, &vars,
                  &text);
    is_int((int64_t)array_common(text.buf), 18, "the same for all as far as the place");
    is_int((int64_t)array_common("{\"job\":{\"argv\":[\",\\\"array\\\":\"]}}"), 32,
           "or as a whole");
    const struct node *root = parsed(a, text.buf), *array = node_get(root, "array");
    ok(root && node_get(root, "job"), "the request is still there");
    is_str(node_text(node_get(array, "name"), ""), "n-3", "with the job's name");
    is_int(node_get(array, "index")->i, 3, "its place");
    is_str(node_text(node_get(array, "vars")->items[0], ""), "a=\"quoted\"", "and its variables");
}

int main(void)
{
    totals();
    variables();
    requests();
    return tap_done();
}
