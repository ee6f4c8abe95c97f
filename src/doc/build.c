/* build.c - see build.h. What YAML and JSON share between their texts and the tree. */
#include "doc/build.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

void build_doc(struct arena *a, const char *file, const char **text, size_t *len, size_t max_roots,
               struct doc *ret)
{
    static const char bom[] = "\xef\xbb\xbf";

    if (*len >= 3 && memcmp(*text, bom, 3) == 0) {
        *text += 3;
        *len -= 3;
    }
    *ret = (struct doc){
        .file = arena_strdup(a, file),
        .source = arena_strndup(a, *text, *len),
        .source_len = *len,
        .roots = ARENA_ARRAY(a, const struct node *, max_roots),
    };
}

void build_stop(struct builder *b, struct pos pos, const char *what, int limit)
{
    if (!b->stop)
        diag_pos(b->ds, pos, "", "E0005", NULL, "more than %d %s", limit, what);
    b->stop = b->doc->broken = true;
}

struct node *build_node(struct builder *b, const struct place *at, enum node_type type,
                        struct pos pos)
{
    struct node *node = ARENA_NEW(b->a, struct node);

    *node = (struct node){
        .type = type,
        .pos = pos,
        .parent = at->parent,
        .parent_key = at->key,
        .index = at->index,
        .text = "",
    };
    if (++b->n_nodes > LIMIT_NODES)
        build_stop(b, pos, "nodes in the document (with aliases expanded)", LIMIT_NODES);
    if (at->depth + (type == NODE_SEQ || type == NODE_MAP) > LIMIT_DEPTH)
        build_stop(b, pos, "levels of nesting", LIMIT_DEPTH);
    return node;
}

void build_add_item(struct nodes *list, const struct node *item)
{
    GROW(list->v, list->n, list->cap);
    list->v[list->n++] = item;
}

void build_add_pair(struct builder *b, struct pairs *list, const struct node *key,
                    const struct node *value)
{
    if (list->n == LIMIT_KEYS)
        build_stop(b, key->pos, "keys in one mapping", LIMIT_KEYS);
    GROW(list->v, list->n, list->cap);
    list->v[list->n++] = (struct pair){key, value};
}

void build_seq(struct builder *b, struct node *node, struct nodes *list)
{
    const struct node **items = ARENA_ARRAY(b->a, const struct node *, list->n);

    if (list->n)
        memcpy(items, list->v, list->n * sizeof(*items));
    node->items = items;
    node->n = list->n;
    free(list->v);
}

void build_map(struct builder *b, struct node *node, struct pairs *list)
{
    struct pair *pairs = ARENA_ARRAY(b->a, struct pair, list->n);

    if (list->n)
        memcpy(pairs, list->v, list->n * sizeof(*pairs));
    node->pairs = pairs;
    node->n = list->n;
    free(list->v);
}

/* --- keys ----------------------------------------------------------------------------------- */

struct key_set key_set_new(size_t n)
{
    size_t size = 8;

    while (size < n * 2)
        size *= 2;
    return (struct key_set){xcalloc(size, sizeof(size_t)), size - 1};
}

size_t *key_set_slot(struct key_set *set, const struct pairs *in, const struct node *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t i;

    for (size_t k = 0; k < key->len; k++)
        hash = (hash ^ (unsigned char)key->text[k]) * UINT64_C(1099511628211);
    for (i = (size_t)(hash ^ hash >> 32) & set->mask; set->slots[i]; i = (i + 1) & set->mask) {
        const struct node *other = in->v[set->slots[i] - 1].key;

        if (other->len == key->len && memcmp(other->text, key->text, key->len) == 0)
            break;
    }
    return &set->slots[i];
}

static void report_duplicate(struct builder *b, const struct pair *first, const struct pair *again)
{
    unsigned int line = first->key->pos.line;
    const char *key = again->key->text;

    if (node_equal(first->value, again->value))
        diag_at(b->ds, again->key, "W0001", "remove one of the two",
                "duplicate key \"%s\" with the same value (first at line %u)", key, line);
    else
        diag_at(b->ds, again->key, "E0007", "remove one of the two",
                "duplicate key \"%s\" with a different value (first at line %u)", key, line);
}

void build_unique(struct builder *b, struct pairs *list, struct key_set *set)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        size_t *slot = key_set_slot(set, list, list->v[i].key);

        if (*slot) {
            report_duplicate(b, &list->v[*slot - 1], &list->v[i]);
            list->v[*slot - 1] = list->v[i];
        } else {
            list->v[kept] = list->v[i];
            *slot = ++kept;
        }
    }
    list->n = kept;
}
