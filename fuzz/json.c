/* json.c - fuzzes the JSON reader, with and without comments.
 *
 * Whatever the bytes are: no crash, no leak, a well-formed tree, findings with places. What is read
 * without an error and written again reads as an equal tree. What is picked of a good text is good,
 * and the same. */
#include <string.h>

#include "base/strbuf.h"
#include "common.h"
#include "doc/json.h"
#include "doc/json_pick.h"
#include "doc/json_read.h"

/* false if the tree has a key that the writer cannot write. */
static bool write_node(struct json *j, const struct node *n)
{
    switch (n->type) {
    case NODE_NULL:
        json_null(j);
        break;
    case NODE_BOOL:
        json_bool(j, n->i);
        break;
    case NODE_INT:
        json_int(j, n->i);
        break;
    case NODE_FLOAT:
        json_str(j, "a float"); /* equal by its text, which the writer does not keep */
        break;
    case NODE_STRING:
        json_strn(j, n->text, n->len);
        break;
    case NODE_SEQ:
        json_array(j);
        for (size_t i = 0; i < n->n; i++) {
            if (!write_node(j, n->items[i]))
                return false;
        }
        json_end(j);
        break;
    case NODE_MAP:
        json_object(j);
        for (size_t i = 0; i < n->n; i++) {
            if (strlen(n->pairs[i].key->text) != n->pairs[i].key->len)
                return false;
            json_key(j, n->pairs[i].key->text);
            if (!write_node(j, n->pairs[i].value))
                return false;
        }
        json_end(j);
        break;
    }
    return true;
}

/* What is written from a tree without floats reads as that tree; one with floats is read twice. */
static void check_again(struct arena *a, const struct node *root)
{
    auto_strbuf struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct json j = JSON_PRETTY(&first), k = JSON_PRETTY(&second);
    struct diags ds;
    struct doc doc;

    if (!write_node(&j, root))
        return;
    diags_init(&ds, a);
    json_read(a, "x", first.buf, first.len, false, &ds, &doc);
    MUST(ds.n == 0 && write_node(&k, doc.roots[0]));
    MUST(first.len == second.len && memcmp(first.buf, second.buf, first.len) == 0);
    diags_release(&ds);
}

static void pick(struct arena *a, const char *text, size_t len, const struct node *good)
{
    static const char *const paths[] = {"a", "b.a", NULL};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct diags ds;
    struct doc doc;

    if (!json_pick(text, len, paths, &out) || !good)
        return;
    diags_init(&ds, a);
    json_read(a, "x", out.buf, out.len, false, &ds, &doc);
    MUST(ds.n_errors == 0 && out.len <= len);
    if (node_get(doc.roots[0], "a"))
        MUST(node_equal(node_get(doc.roots[0], "a"), node_get(good, "a")));
    diags_release(&ds);
}

static void read_one(const char *text, size_t len, bool comments)
{
    auto_arena struct arena *a = arena_new();
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    json_read(a, "x", text, len, comments, &ds, &doc);
    MUST(doc.n_roots == 1 && (!doc.broken || ds.n_errors));
    check_tree(doc.roots[0]);
    if (!ds.n_errors)
        check_again(a, doc.roots[0]);
    check_diags(&doc, &ds);
    pick(a, text, len, ds.n_errors || comments ? NULL : doc.roots[0]);
    diags_release(&ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_looks_like("x", (const char *)data, size);
    read_one((const char *)data, size, true);
    read_one((const char *)data, size, false);
    return 0;
}
