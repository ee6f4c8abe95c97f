/* edit.c - fuzzes --set: the first line is PATH=VALUE, the rest a YAML document.
 *
 * Whatever they are: the tree that comes of it is well formed, the one it was made from is
 * untouched, and an edit that is not made is told. */
#include <string.h>

#include "base/limits.h"
#include "common.h"
#include "doc/edit.h"
#include "doc/yaml.h"

static size_t check_made(const struct node *node, const struct node *parent, int depth)
{
    size_t n = 1;

    MUST(node->parent == parent && depth <= LIMIT_DEPTH);
    MUST(node->text && (node->type == NODE_SEQ || node->type == NODE_MAP || !node->n));
    for (size_t i = 0; node->type == NODE_SEQ && i < node->n; i++) {
        MUST(node->items[i]->index == i);
        n += check_made(node->items[i], node, depth + 1);
    }
    for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++) {
        const struct pair *p = &node->pairs[i];

        MUST(strcmp(p->value->parent_key, p->key->text) == 0);
        n += check_made(p->key, node, depth + 1);
        n += check_made(p->value, node, depth + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size);
    size_t line = strcspn(text, "\n");
    const char *rest = text + line + (text[line] == '\n');
    const struct edit *edit;
    struct doc doc, again;
    struct diags ds;
    struct err e;

    if (edit_parse(a, arena_strndup(a, text, line), &edit, &e) < 0) {
        MUST(e.code == -EINVAL && *e.text);
        return 0;
    }
    diags_init(&ds, a);
    yaml_read(a, "x", rest, strlen(rest), &ds, &doc);
    yaml_read(a, "x", rest, strlen(rest), &ds, &again);
    for (size_t i = 0; i < doc.n_roots; i++) {
        size_t before = ds.n_errors;
        const struct node *made = edit_apply(a, edit, doc.roots[i], &ds);

        MUST(made || ds.n_errors > before);
        if (made)
            MUST(check_made(made, NULL, 0) <= LIMIT_NODES);
        MUST(node_equal(doc.roots[i], again.roots[i]));
    }
    diags_release(&ds);
    return 0;
}
