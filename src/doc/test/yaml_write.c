/* yaml_write.c - what is written is read back as the same document. */
#include "doc/yaml_write.h"

#include <string.h>

#include "base/tap.h"
#include "doc/yaml.h"

static const struct node *read_text(struct arena *a, const char *text)
{
    struct diags ds;
    struct doc doc;
    const struct node *root;

    diags_init(&ds, a);
    yaml_read(a, "x", text, strlen(text), &ds, &doc);
    root = ds.n_errors || doc.n_roots != 1 ? NULL : doc.roots[0];
    diags_release(&ds);
    return root;
}

static const char *const documents[] = {
    "{}",
    "[]",
    "hello",
    "{a: 1, b: -2, c: 1.50, d: true, e: null, f: \"true\", g: \"5\", h: ''}",
    "{a: [1, [2, [3]], {b: c, d: [e]}, []], f: {}}",
    "[{a: 1, b: 2}, {c: {d: {e: [f]}}}]",
    "{k: \"-mca\", l: \"a: b\", m: \"# no\", n: \"two\\nlines\\n\", o: \" x \", p: \"a:\", q: yes}",
    "{\"nvidia.com/gpu\": 8, \"a b\": 1, \"-x\": 2, \"null\": 3, \"\": 4}",
    "{t: 2001-01-01, h: 0x10, o: 0o7, i: .inf, e: 1e3, v: 1.2.3, u: \"\\u00e9\\U0001F600\"}",
    "{image: \"mpioperator/mpi-operator:latest\", path: /data, at: \"@x\"}",
    "{star: \"*x\", amp: \"&x\"}",
    "{big: 9223372036854775807, small: -9223372036854775808}",
};

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        auto_arena struct arena *a = arena_new();
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        const struct node *first = read_text(a, documents[i]), *again;

        if (!first) {
            ok(false, "%s cannot be read", documents[i]);
            continue;
        }
        yaml_write(&sb, first);
        again = read_text(a, sb.buf);
        ok(again && node_equal(first, again), "%s", documents[i]);
    }

    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    yaml_write(&sb, read_text(a, "{a: {b: [x, {c: 1, d: [z]}]}, e: 'no'}"));
    is_str(sb.buf, "a:\n  b:\n  - x\n  - c: 1\n    d:\n    - z\ne: \"no\"\n", "how it looks");

    auto_strbuf struct strbuf numbers = STRBUF_INIT;

    yaml_write(&numbers, read_text(a, "{mode: 0444, mask: 0x1f}"));
    is_str(numbers.buf, "mode: 0444\nmask: 0x1f\n", "a number keeps its base");
    return tap_done();
}
