/* make.c - see make.h. */
#include "doc/make.h"

#include <string.h>

/* Trees are const for their readers. What this file made, or copied, it may change. */
static void *ours(const void *p)
{
    void *q;

    memcpy(&q, &p, sizeof(q));
    return q;
}

static struct node *new_node(struct arena *a, enum node_type type)
{
    struct node *node = ARENA_NEW(a, struct node);

    node->type = type;
    node->text = "";
    return node;
}

struct node *make_map(struct arena *a)
{
    return new_node(a, NODE_MAP);
}

struct node *make_seq(struct arena *a)
{
    return new_node(a, NODE_SEQ);
}

struct node *make_text(struct arena *a, const char *text)
{
    struct node *node;

    if (!text)
        return NULL;
    node = new_node(a, NODE_STRING);
    node->text = text;
    node->len = strlen(text);
    return node;
}

struct node *make_int(struct arena *a, int64_t i)
{
    struct node *node = new_node(a, NODE_INT);

    node->i = i;
    node->text = arena_printf(a, "%lld", (long long)i);
    node->len = strlen(node->text);
    return node;
}

struct node *make_bool(struct arena *a, bool value)
{
    struct node *node = new_node(a, NODE_BOOL);

    node->i = value;
    node->text = value ? "true" : "false";
    node->len = strlen(node->text);
    return node;
}

struct node *make_texts(struct arena *a, const char *const *v)
{
    struct node *seq;

    if (!v)
        return NULL;
    seq = make_seq(a);
    for (; *v; v++)
        make_add(a, seq, make_text(a, *v));
    return seq;
}

/* --- growing -------------------------------------------------------------------------------- */

/* Room for one more: lists grow when their length is a power of two, so that no node has to
 * remember how much it could hold. */
static void *grown(struct arena *a, const void *v, size_t n, size_t size)
{
    size_t room = n ? n * 2 : 1;
    void *more;

    if (n & (n - 1))
        return ours(v);
    more = arena_calloc(a, room, size);
    if (n)
        memcpy(more, v, n * size);
    return more;
}

static struct pair *pair_of(struct node *map, const char *key)
{
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->pairs[i].key->text, key) == 0)
            return ours(&map->pairs[i]);
    return NULL;
}

void make_put(struct arena *a, struct node *map, const char *key, const struct node *value)
{
    struct pair *pair, *pairs;

    if (!value)
        return;
    pair = pair_of(map, key);
    if (pair) {
        pair->value = value;
        return;
    }
    pairs = grown(a, map->pairs, map->n, sizeof(*pairs));
    pairs[map->n++] = (struct pair){make_text(a, key), value};
    map->pairs = pairs;
}

void make_add(struct arena *a, struct node *seq, const struct node *value)
{
    const struct node **items;

    if (!value)
        return;
    items = grown(a, seq->items, seq->n, sizeof(struct node *));
    items[seq->n++] = value;
    seq->items = items;
}

void make_insert(struct arena *a, struct node *seq, size_t i, const struct node *value)
{
    const struct node **items;

    make_add(a, seq, value);
    items = ours(seq->items);
    memmove(items + i + 1, items + i, (seq->n - 1 - i) * sizeof(*items));
    items[i] = value;
}

void make_drop(struct node *map, const char *key)
{
    struct pair *pair = pair_of(map, key);

    if (!pair)
        return;
    memmove(pair, pair + 1, (size_t)(map->pairs + map->n - (pair + 1)) * sizeof(*pair));
    map->n--;
}

void make_remove(struct node *seq, size_t i)
{
    const struct node **items = ours(seq->items);

    memmove(items + i, items + i + 1, (seq->n - i - 1) * sizeof(*items));
    seq->n--;
}

void make_drop_empty(struct node *map, const char *key)
{
    const struct node *value = node_get(map, key);

    if (value && (value->type == NODE_MAP || value->type == NODE_SEQ) && value->n == 0)
        make_drop(map, key);
}

static struct node *below(struct arena *a, struct node *map, const char *key, enum node_type type)
{
    struct pair *pair = pair_of(map, key);
    struct node *made;

    if (pair && pair->value->type == type)
        return ours(pair->value);
    made = new_node(a, type);
    make_put(a, map, key, made);
    return made;
}

struct node *make_below(struct arena *a, struct node *map, const char *key)
{
    return below(a, map, key, NODE_MAP);
}

struct node *make_list_below(struct arena *a, struct node *map, const char *key)
{
    return below(a, map, key, NODE_SEQ);
}

struct node *make_item(struct node *seq, size_t i)
{
    return i < seq->n && seq->items[i]->type == NODE_MAP ? ours(seq->items[i]) : NULL;
}

/* --- copies --------------------------------------------------------------------------------- */

struct node *make_copy(struct arena *a, const struct node *from)
{
    struct node *node = new_node(a, from->type);

    *node = *from;
    node->parent = NULL;
    node->parent_key = NULL;
    node->n = 0;
    node->items = NULL;
    node->pairs = NULL;
    for (size_t i = 0; from->type == NODE_SEQ && i < from->n; i++)
        make_add(a, node, make_copy(a, from->items[i]));
    if (from->type == NODE_MAP && from->n) {
        size_t room = 1; /* a power of two, as grown() expects it */
        struct pair *pairs;

        while (room < from->n)
            room *= 2;
        pairs = ARENA_ARRAY(a, struct pair, room);
        for (size_t i = 0; i < from->n; i++)
            pairs[i] = (struct pair){from->pairs[i].key, make_copy(a, from->pairs[i].value)};
        node->pairs = pairs;
        node->n = from->n;
    }
    return node;
}

/* --- merging -------------------------------------------------------------------------------- */

static bool equal_or_both_absent(const struct node *x, const struct node *y)
{
    return x && y ? node_equal(x, y) : x == y;
}

static const struct node *merge_maps(struct arena *a, const struct node *mine,
                                     const struct node *old, const struct node *new,
                                     size_t *misfits)
{
    struct node *made = make_copy(a, mine);

    for (size_t i = 0; i < new->n; i++) {
        const char *key = new->pairs[i].key->text;
        const struct node *was = node_get(old, key), *is = new->pairs[i].value;
        const struct node *have = node_get(mine, key);

        if (equal_or_both_absent(was, is))
            continue;
        if (was && have) {
            make_put(a, made, key, make_merge(a, have, was, is, misfits));
            continue;
        }
        *misfits += was || have;
        make_put(a, made, key, is);
    }
    for (size_t i = 0; i < old->n; i++) {
        const char *key = old->pairs[i].key->text;

        if (node_get(new, key))
            continue;
        *misfits += node_get(mine, key) == NULL;
        make_drop(made, key);
    }
    return made;
}

static const struct node *merge_lists(struct arena *a, const struct node *mine,
                                      const struct node *old, const struct node *new,
                                      size_t *misfits)
{
    struct node *made = make_seq(a);

    for (size_t i = 0; i < mine->n; i++)
        make_add(a, made, make_merge(a, mine->items[i], old->items[i], new->items[i], misfits));
    return made;
}

const struct node *make_merge(struct arena *a, const struct node *mine, const struct node *old,
                              const struct node *new, size_t *ret_misfits)
{
    if (node_equal(old, new))
        return mine;
    if (mine->type == NODE_MAP && old->type == NODE_MAP && new->type == NODE_MAP)
        return merge_maps(a, mine, old, new, ret_misfits);
    if (mine->type == NODE_SEQ && old->type == NODE_SEQ && new->type == NODE_SEQ &&
        mine->n == old->n && old->n == new->n)
        return merge_lists(a, mine, old, new, ret_misfits);
    return new;
}
