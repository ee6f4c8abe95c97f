/* bind.c - bind tables: values decoded, everything else told at its place. */
#include "doc/bind.h"

#include <stddef.h>
#include <string.h>

#include "base/tap.h"
#include "doc/yaml.h"

struct inner {
    const struct node *at;
    const char *path;
};

struct outer {
    const struct node *at;
    const char *name;
    int32_t count;
    bool on;
    const char *const *words;
    const struct inner *inner, *strict;
    BIND_LIST(struct inner) list;
    const struct node *any;
};

static const struct bind_field inner_fields[] = {
    {.key = "path", .kind = BIND_STRING, .required = true, .offset = offsetof(struct inner, path)},
};
static const struct bind_table inner_table =
    BIND_TABLE_LENIENT("inner", struct inner, inner_fields);
static const struct bind_table strict_table = BIND_TABLE("strict", struct inner, inner_fields);

static const struct bind_field outer_fields[] = {
    {.key = "name", .kind = BIND_STRING, .non_empty = true, .offset = offsetof(struct outer, name)},
    {.key = "count",
     .kind = BIND_INT,
     .min = 1,
     .max = 9,
     .def = 4,
     .offset = offsetof(struct outer, count)},
    {.key = "on", .kind = BIND_BOOL, .offset = offsetof(struct outer, on)},
    {.key = "words", .kind = BIND_STRINGS, .offset = offsetof(struct outer, words)},
    {.key = "inner",
     .kind = BIND_STRUCT,
     .table = &inner_table,
     .offset = offsetof(struct outer, inner)},
    {.key = "strict",
     .kind = BIND_STRUCT,
     .table = &strict_table,
     .offset = offsetof(struct outer, strict)},
    {.key = "list",
     .kind = BIND_STRUCTS,
     .table = &inner_table,
     .offset = offsetof(struct outer, list)},
    {.key = "any", .kind = BIND_NODE, .offset = offsetof(struct outer, any)},
    {.key = "known", .kind = BIND_KNOWN},
    {.key = "noted", .kind = BIND_NOTED, .why = "does nothing"},
};
static const struct bind_table outer_table = BIND_TABLE("outer", struct outer, outer_fields);

static const struct outer *read_outer(struct arena *a, const char *text, struct diags *ds)
{
    struct binder b = {.a = a, .ds = ds, .root = &outer_table};
    struct doc doc;

    diags_init(ds, a);
    yaml_read(a, "x", text, strlen(text), ds, &doc);
    return bind_map(&b, &outer_table, doc.roots[0]);
}

static void test_good(struct arena *a)
{
    static const char text[] = "name: x\ncount: 3\non: true\nwords: [a, b]\ninner: {path: /p}\n"
                               "list: [{path: a}, {path: b}]\nany: [1]\nknown: 1\n";
    struct diags ds;
    const struct outer *o = read_outer(a, text, &ds);

    is_int(ds.n, 0, "nothing to tell");
    is_str(o->name, "x", "a string");
    is_int(o->count, 3, "an integer");
    ok(o->on, "a bool");
    ok(!strcmp(o->words[1], "b") && !o->words[2], "strings");
    is_str(o->inner->path, "/p", "a structure");
    ok(o->list.n == 2 && !strcmp(o->list.v[1].path, "b"), "a list of them");
    is_int(o->list.v[1].at->pos.column, 19, "each with its place");
    is_int(o->any->type, NODE_SEQ, "a node as it is");
    diags_release(&ds);

    o = read_outer(a, "name:\ninner: ~\n", &ds);
    is_int(ds.n, 0, "no value is like no key");
    ok(!o->name && !o->inner && !o->words && !o->list.v && o->count == 4, "and gives the defaults");
    diags_release(&ds);
}

static void test_wrong(struct arena *a)
{
    static const struct {
        const char *text, *code;
        unsigned int line, column;
        const char *message, *hint;
    } rows[] = {
        {"nmae: x", "E0101", 1, 1, "unknown key `nmae` in outer", "did you mean `name`?"},
        {"path: x", "E0101", 1, 1, "unknown key", "belongs in inner"},
        {"zzzzz: x", "E0101", 1, 1, "unknown key", "known keys: name, count"},
        {"inner: {path: x, pth: 1}", "W0101", 1, 18, "unknown key `pth` in inner", "`path`"},
        {"name: 5", "E0107", 1, 7, "`name` must be a string, not the number 5", "\"5\""},
        {"name: [x]", "E0107", 1, 7, "not a list", NULL},
        {"name: yes", "W0102", 1, 7, "YAML 1.1 parsers read yes as true", "quote it"},
        {"name: \"\"", "E0104", 1, 7, "must not be empty", NULL},
        {"name: \"a\\0b\"", "E0215", 1, 7, "NUL", NULL},
        {"count: \"5\"", "E0107", 1, 8, "must be an integer, not the string \"5\"", "quotes"},
        {"count: 2.5", "E0107", 1, 8, "must be an integer, not the number 2.5", NULL},
        {"count: <N>", "E0107", 1, 8, "not the string \"<N>\"", "this looks like a template"},
        {"count: {{ .N }}", "E0008", 1, 9, "a key must be a string", "is template syntax"},
        {"count: 0", "E0203", 1, 8, "must be from 1 to 9, not 0", NULL},
        {"count: 99999999999", "E0203", 1, 8, "from 1 to 9", NULL},
        {"count: 07", "W0103", 1, 8, "octal", NULL},
        {"on: \"true\"", "E0107", 1, 5, "must be true or false", "remove the quotes"},
        {"on: off", "W0102", 1, 5, "off is read as false", "write false"},
        {"words: a b", "E0107", 1, 8, "must be a list of strings", "write a list"},
        {"words: [a, 5]", "E0107", 1, 12, "`words[1]` must be a string", "\"5\""},
        {"inner: 5", "E0107", 1, 8, "must be a mapping", "write {path: 5}"},
        {"inner: {}", "E0103", 1, 1, "`path` is required in inner", NULL},
        {"strict: {pth: x}", "E0101", 1, 10, "unknown key `pth` in strict", "`path`"},
        {"strict: {}", "E0103", 1, 1, "`path` is required in strict", NULL},
        {"inner:\n  path:", "E0103", 2, 3, "`path` has no value", NULL},
        {"list: {}", "E0107", 1, 7, "must be a list, not an empty mapping", NULL},
        {"list: [5]", "E0107", 1, 8, "must be a mapping", NULL},
        {"list: [{}]", "E0103", 1, 8, "`path` is required", NULL},
        {"noted: 1", "N0301", 1, 1, "`noted` does nothing", NULL},
        {"[]", "E0107", 1, 1, "`outer` must be a mapping", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct diag *d;
        struct diags ds;

        read_outer(a, rows[i].text, &ds);
        d = ds.n ? &ds.v[0] : &(struct diag){.code = "none", .message = ""};
        is_str(d->code, rows[i].code, "%s", rows[i].text);
        is_int(ds.n, 1, "once");
        ok(d->pos.line == rows[i].line && d->pos.column == rows[i].column, "at %u:%u", d->pos.line,
           d->pos.column);
        has(d->message, rows[i].message, "the message");
        if (rows[i].hint)
            has(d->hint, rows[i].hint, "the hint");
        diags_release(&ds);
    }
}

/* What may have been meant by a value of another type. */
static void test_hints(struct arena *a)
{
    static const struct {
        const char *name, *what, *value, *want;
    } rows[] = {
        {"n", "an integer", "\"12\"", "remove the quotes"},
        {"n", "an integer", "twelve", ""},
        {"ttlSecondsAfterFinished", "an integer", "1h", "the unit is seconds: 3600"},
        {"n", "an integer", "1h", ""},
        {"memoryMB", "an integer", "16Gi", "the unit is MB: 16384"},
        {"memory", "a quantity such as", "4 GiB", "write 4Gi"},
        {"memory", "a quantity such as", "1.5gb", "write 1.5G"},
        {"memory", "a quantity such as", "4 bananas", ""},
        {"cpu", "a quantity such as", "2 cores", "write 2"},
        {"cpu", "a quantity such as", "2mb", ""},
        {"m", "a mapping", "[{name: a}]",
         "write each name as a key, `NAME:`, with its fields below it"},
        {"m", "a mapping", "[{a: b}]", "remove the `- `"},
        {"m", "a mapping", "[a=b]", "write `NAME: value`, without `- ` and brackets"},
        {"m", "a mapping", "[]", ""},
        {"env", "a list", "{A: b}", "write one list item per variable: - {name: A, value: …}"},
        {"l", "a list", "{a: {}}", "add `- ` before the first key of each item"},
        {"l", "a list", "{}", ""},
        {"l", "a list of strings", "a b",
         "write a list, one word per item: [\"program\", \"argument\"]"},
        {"s", "a string", "5", "quote it: \"5\""},
        {"s", "a string", "[a]", "remove the brackets or the `- `"},
        {"s", "a string", "[a, b]", "write it as one string"},
        {"s", "a string", "{a: b}", "': ' starts a mapping; quote the text"},
        {"s", "a string", "{a: b, c: d}", ""},
        {"s", "true or false", "5", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct diags ds;
        struct doc doc;
        const char *hint;

        diags_init(&ds, a);
        yaml_read(a, "x", rows[i].value, strlen(rows[i].value), &ds, &doc);
        hint = bind_type_hint(&(struct binder){.a = a, .ds = &ds}, rows[i].name, rows[i].what,
                              doc.roots[0]);
        is_str(hint ? hint : "", rows[i].want, "%s as %s", rows[i].value, rows[i].what);
        diags_release(&ds);
    }
}

/* What is missing is told once, but it is told. */
static void test_misspelt(struct arena *a)
{
    static const struct {
        const char *text, *codes;
    } rows[] = {
        {"strict: {pth: x}", "E0101"},
        {"strict: {zzzzz: x}", "E0101 E0103"},
        {"strict: {pth: x}\ninner: {}", "E0101 E0103"},
        {"inner: {pth: x}", "W0101 E0103"}, /* the warning alone would accept it */
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *codes = "";
        struct diags ds;

        read_outer(a, rows[i].text, &ds);
        for (size_t k = 0; k < ds.n; k++)
            codes = arena_printf(a, "%s%s%s", codes, k ? " " : "", ds.v[k].code);
        is_str(codes, rows[i].codes, "%s", rows[i].text);
        diags_release(&ds);
    }
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_good(a);
    test_wrong(a);
    test_hints(a);
    test_misspelt(a);
    return tap_done();
}
