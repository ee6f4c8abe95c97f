/* make.c - documents made, copied and merged. */
#include "doc/make.h"

#include <string.h>

#include "base/tap.h"
#include "doc/yaml.h"
#include "doc/yaml_write.h"

static const struct node *read_text(struct arena *a, const char *text)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "", text, strlen(text), &ds, &doc);
    diags_release(&ds);
    return doc.roots[0];
}

static void is_yaml(const struct node *node, const char *want, const char *name)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    yaml_write(&sb, node);
    is_str(sb.buf, want, "%s", name);
}

static void test_making(struct arena *a)
{
    static const char *const words[] = {"x", "-y", "", NULL};
    struct node *map = make_map(a), *list = make_seq(a);

    make_put(a, map, "one", make_int(a, 1));
    make_put(a, map, "none", make_text(a, NULL));
    make_put(a, map, "words", make_texts(a, words));
    make_put(a, map, "flag", make_bool(a, false));
    is_yaml(map, "one: 1\nwords:\n- x\n- \"-y\"\n- \"\"\nflag: false\n", "values in order");
    make_put(a, map, "one", make_text(a, "2"));
    make_drop(map, "words");
    make_drop(map, "words");
    is_yaml(map, "one: \"2\"\nflag: false\n", "replaced in its place, dropped, dropped again");
    make_put(a, make_below(a, make_below(a, map, "a"), "b"), "c", make_int(a, 3));
    make_below(a, map, "empty");
    make_drop_empty(map, "empty");
    make_drop_empty(map, "a");
    is_yaml(map, "one: \"2\"\nflag: false\na:\n  b:\n    c: 3\n", "mappings on the way are made");
    for (int i = 0; i < 9; i++)
        make_add(a, list, make_int(a, i));
    make_remove(list, 0);
    make_remove(list, 7);
    make_add(a, list, make_int(a, 9));
    make_insert(a, list, 0, make_int(a, 7));
    is_int((long long)list->n, 9, "lists grow and shrink");
    is_int(list->items[0]->i * 100 + list->items[1]->i * 10 + list->items[8]->i, 719,
           "at both ends");
}

static void test_copy(struct arena *a)
{
    const struct node *from = read_text(a, "a: {b: [1, {c: d}], e: 2}\n");
    struct node *copy = make_copy(a, from);

    ok(node_equal(copy, from), "a copy is equal");
    make_put(a, make_item(make_list_below(a, make_below(a, copy, "a"), "b"), 1), "c",
             make_text(a, "x"));
    make_put(a, make_below(a, copy, "a"), "f", make_int(a, 1));
    is_str(node_find(from, "a", "b", NULL)->items[1]->pairs[0].value->text, "d",
           "what is changed in it is not changed in the original");
    ok(!make_item(make_list_below(a, make_below(a, copy, "a"), "b"), 0), "a number is no mapping");
    ok(!make_item(make_list_below(a, make_below(a, copy, "a"), "b"), 2), "there is no third item");
}

/* mine, old, new; what comes out, and how many changes did not fit. */
static const struct {
    const char *mine, *old, *new, *want, *name;
    size_t misfits;
} merges[] = {
    {"{a: 1, x: 9}", "{a: 1}", "{a: 1}", "a: 1\nx: 9\n", "nothing changed: mine", 0},
    {"{a: 1, x: 9}", "{a: 1}", "{a: 2}", "a: 2\nx: 9\n", "one value", 0},
    {"{x: 9}", "{}", "{b: 1}", "x: 9\nb: 1\n", "a new key", 0},
    {"{a: 1, b: 2}", "{a: 1, b: 2}", "{a: 1}", "a: 1\n", "a key less", 0},
    {"{l: [{m: 1, k: 2}, 3]}", "{l: [{m: 1}, 3]}", "{l: [{m: 5}, 3]}", "l:\n- m: 5\n  k: 2\n- 3\n",
     "inside a list", 0},
    {"{l: [1, 2]}", "{l: [1, 2]}", "{l: [1]}", "l:\n- 1\n", "a shorter list is taken whole", 0},
    {"{x: 9}", "{a: 1}", "{a: 2}", "x: 9\na: 2\n", "what mine has not is added, and counted", 1},
    {"{x: 9}", "{a: 1}", "{}", "x: 9\n", "what mine has not is gone already", 1},
    {"{a: 7}", "{}", "{a: 2}", "a: 2\n", "what only mine had is replaced, and counted", 1},
};

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_making(a);
    test_copy(a);
    for (size_t i = 0; i < ARRAY_SIZE(merges); i++) {
        size_t misfits = 0;
        const struct node *made =
            make_merge(a, read_text(a, merges[i].mine), read_text(a, merges[i].old),
                       read_text(a, merges[i].new), &misfits);

        is_yaml(made, merges[i].want, merges[i].name);
        is_int((long long)misfits, (long long)merges[i].misfits, "  its misfits");
    }
    return tap_done();
}
