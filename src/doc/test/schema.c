/* schema.c - what schemas and pages make of bind tables, kind by kind; mappings with names of the
 * author's and strings that are one of some words, in the decoder too. */
#include "doc/schema.h"

#include <stddef.h>
#include <string.h>

#include "base/tap.h"
#include "doc/yaml.h"

struct item {
    const struct node *at;
    const char *colour;
};

struct top {
    const struct node *at;
    const char *text, *name;
    int32_t count, one;
    bool on;
    const char *const *list;
    const struct item *item;
    BIND_LIST(struct item) items;
    BIND_LIST(struct item) named;
    const struct node *any, *amount, *times, *env, *mode;
};

#define AT(member) .offset = offsetof(struct top, member)

static const char *const colours[] = {"red", "green", NULL};
static const char *const never[] = {"never", NULL};

static const struct bind_field item_fields[] = {
    {.key = "colour",
     .kind = BIND_STRING,
     .required = true,
     .words = colours,
     .offset = offsetof(struct item, colour)},
};
static const struct bind_table item_table = BIND_TABLE("an item", struct item, item_fields);
static const struct bind_table same_table = BIND_TABLE_LENIENT("an item", struct item, item_fields);

static const struct bind_field top_fields[] = {
    {.key = "text", .kind = BIND_STRING, AT(text), .doc = "A text. Of \"words\"."},
    {.key = "name", .kind = BIND_STRING, .required = true, .non_empty = true, AT(name)},
    {.key = "count", .kind = BIND_INT, .min = 1, .max = 9, .def = 4, AT(count)},
    {.key = "one", .kind = BIND_INT, .min = 1, .max = 1, AT(one)},
    {.key = "on", .kind = BIND_BOOL, AT(on)},
    {.key = "list", .kind = BIND_STRINGS, .non_empty = true, AT(list)},
    {.key = "item", .kind = BIND_STRUCT, .required = true, .table = &item_table, AT(item)},
    {.key = "items", .kind = BIND_STRUCTS, .table = &same_table, AT(items)},
    {.key = "named",
     .kind = BIND_STRUCTS,
     .by_name = true,
     .non_empty = true,
     .table = &item_table,
     AT(named)},
    {.key = "any", .kind = BIND_NODE, AT(any)},
    {.key = "amount", .kind = BIND_NODE, .takes = TAKES_QUANTITY, AT(amount)},
    {.key = "times",
     .kind = BIND_NODE,
     .takes = TAKES_INT | TAKES_STRING,
     .max = INT32_MAX,
     .words = never,
     AT(times)},
    {.key = "env", .kind = BIND_NODE, .takes = TAKES_SCALAR, .by_name = true, AT(env)},
    {.key = "mode",
     .kind = BIND_NODE,
     .takes = TAKES_BOOL | TAKES_MAP,
     .table = &item_table,
     AT(mode)},
    {.key = "known", .kind = BIND_KNOWN},
    {.key = "noted", .kind = BIND_NOTED, .why = "does nothing"},
};
static const struct bind_table top_table = BIND_TABLE("the top", struct top, top_fields);

/* --- the schema ----------------------------------------------------------------------------- */

static const char *const schema_rows[] = {
    "\"text\":{\"description\":\"A text. Of \\\"words\\\".\",\"type\":[\"string\",\"null\"]}",
    "\"name\":{\"type\":\"string\",\"minLength\":1}",
    "\"count\":{\"type\":[\"integer\",\"null\"],\"minimum\":1,\"maximum\":9,\"default\":4}",
    "\"one\":{\"type\":[\"integer\",\"null\"],\"minimum\":1,\"maximum\":1}",
    "\"on\":{\"type\":[\"boolean\",\"null\"]}",
    "\"list\":{\"type\":[\"array\",\"null\"],\"minItems\":1,\"items\":{\"type\":\"string\"}}",
    "\"item\":{\"anyOf\":[{\"$ref\":\"#/definitions/item\"}]}",
    "\"items\":{\"type\":[\"array\",\"null\"],\"items\":{\"$ref\":\"#/definitions/item-2\"}}",
    "\"named\":{\"type\":[\"object\",\"null\"],\"minProperties\":1,\"additionalProperties\":{"
    "\"anyOf\":["
    "{\"$ref\":\"#/definitions/item\"}]}}",
    "\"any\":{}",
    "\"amount\":{\"type\":[\"string\",\"number\",\"null\"]}",
    "\"times\":{\"anyOf\":[{\"type\":[\"integer\",\"null\"],\"minimum\":0},{\"enum\":[\"never\"]}]"
    "}",
    "\"env\":{\"type\":[\"object\",\"null\"],\"additionalProperties\":{\"type\":[\"string\","
    "\"number\","
    "\"boolean\",\"null\"]}}",
    "\"mode\":{\"anyOf\":[{\"type\":[\"boolean\",\"null\"]},{\"$ref\":\"#/definitions/item\"}]}",
    "\"known\":{}",
    "\"noted\":{\"description\":\"Ignored: it does nothing.\"}",
    "\"required\":[\"name\",\"item\"],\"additionalProperties\":false,\"definitions\":{",
    "\"item\":{\"type\":\"object\",\"properties\":{\"colour\":{\"enum\":[\"red\",\"green\"]}},"
    "\"required\":["
    "\"colour\"],\"additionalProperties\":false}",
    "\"item-2\":{\"type\":\"object\",\"properties\":{\"colour\":{\"enum\":[\"red\",\"green\"]}},"
    "\"required\":["
    "\"colour\"]}",
};

static void test_json(void)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct json j = JSON_COMPACT(&out);

    schema_json(&j, &top_table, "t");
    for (size_t i = 0; i < ARRAY_SIZE(schema_rows); i++)
        has(out.buf, schema_rows[i], "%s", schema_rows[i]);
}

/* --- the page ------------------------------------------------------------------------------- */

static const char *const page_rows[] = {
    ".Ss The document\\&\n",
    ".It Cm text\n\\&A text.\n\\&Of \\(dqwords\\(dq.\n.Pq a string\n",
    ".It Cm count\n.Pq an integer from 1 to 9\n",
    ".It Cm item\n.Pq a mapping; required; see item\n",
    ".It Cm items\n.Pq a list; see items[]\n",
    ".It Cm named\n.Pq a mapping from names to a mapping; see item\n",
    ".It Cm times\n.Pq an integer from 0 on, or never\n",
    ".It Cm any\n.Pq anything\n",
    ".It Cm known\nAccepted; has no effect on a run.\n",
    ".It Cm noted\nIgnored, with a note: it does nothing.\n",
    ".El\n.Pp\nAny other key is an error.\n.Ss item\\&\n",
    ".Ss items[]\\&\n",
    "Any other key is ignored, with a warning.\n",
    ".It Cm colour\n.Pq red or green; required\n",
};

static void test_mdoc(void)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    schema_mdoc(&out, &top_table);
    for (size_t i = 0; i < ARRAY_SIZE(page_rows); i++)
        has(out.buf, page_rows[i], "row %zu of the page", i);
}

/* --- the decoder ---------------------------------------------------------------------------- */

static void test_decoder(void)
{
    static const char good[] =
        "name: n\nitem: {colour: red}\nnamed: {b: {colour: green}, a: {colour: red}}\n";
    static const char bad[] = "name: n\nitem: {colour: grene}\nnamed: {a: 5}\nitems: {}\n";
    auto_arena struct arena *a = arena_new();
    const struct top *top;
    struct diags ds;
    struct doc doc;
    const struct binder b = {.a = a, .ds = &ds, .root = &top_table};

    diags_init(&ds, a);
    yaml_read(a, "x", good, strlen(good), &ds, &doc);
    top = bind_map(&b, &top_table, doc.roots[0]);
    is_int((long long)ds.n, 0, "good values");
    is_int((long long)top->named.n, 2, "entries by name");
    is_str(top->named.v[0].at->parent_key, "b", "in the file's order");
    is_str(top->named.v[1].colour, "red", "each by the table");

    yaml_read(a, "x", bad, strlen(bad), &ds, &doc);
    bind_map(&b, &top_table, doc.roots[0]);
    is_int((long long)ds.n, 3, "bad ones");
    is_str(ds.v[0].code, "E0209", "a word that is none of them");
    has(ds.v[0].hint, "green", "with the nearest");
    has(ds.v[1].message, "`a` must be a mapping", "an entry is called by its name");
    has(ds.v[2].message, "`items` must be a list", "a list is no mapping");
    diags_release(&ds);
}

int main(void)
{
    test_json();
    test_mdoc();
    test_decoder();
    return tap_done();
}
