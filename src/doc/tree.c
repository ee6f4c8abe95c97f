/* tree.c - looking around in a document tree. */
#include "doc/tree.h"

#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"

const char *node_type_words(enum node_type type)
{
    static const char *const words[] = {
        [NODE_NULL] = "nothing",   [NODE_BOOL] = "true or false", [NODE_INT] = "an integer",
        [NODE_FLOAT] = "a number", [NODE_STRING] = "a string",    [NODE_SEQ] = "a list",
        [NODE_MAP] = "a mapping",
    };

    return words[type];
}

/* By length too: a key with a NUL inside is not the key that ends there. */
static bool is_key(const struct node *key, const char *text, size_t len)
{
    return key->len == len && memcmp(key->text, text, len) == 0;
}

static const struct pair *find_pair(const struct node *map, const char *key, size_t len)
{
    if (!map || map->type != NODE_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++) {
        if (is_key(map->pairs[i].key, key, len))
            return &map->pairs[i];
    }
    return NULL;
}

const struct node *node_get(const struct node *map, const char *key)
{
    const struct pair *p = find_pair(map, key, strlen(key));

    return p ? p->value : NULL;
}

const char *node_text(const struct node *node, const char *otherwise)
{
    return node && node->type == NODE_STRING ? node->text : otherwise;
}

const struct node *node_key(const struct node *map, const char *key)
{
    const struct pair *p = find_pair(map, key, strlen(key));

    return p ? p->key : NULL;
}

bool node_absent(const struct node *map, const char *key)
{
    const struct node *value = node_get(map, key);

    return !value || value->type == NODE_NULL;
}

const struct node *node_label(const struct node *node)
{
    const struct node *key = NULL;

    if (node->parent && node->parent->type == NODE_MAP)
        key = node_key(node->parent, node->parent_key);
    return key ? key : node;
}

const struct node *node_find(const struct node *map, ...)
{
    const char *key;
    va_list ap;

    va_start(ap, map);
    while (map && (key = va_arg(ap, const char *)))
        map = node_get(map, key);
    va_end(ap);
    return map;
}

static bool plain_key(const char *key)
{
    return *key && key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-$")] == '\0';
}

static void add_step(struct strbuf *sb, const struct node *node)
{
    if (node->parent->type == NODE_SEQ) {
        strbuf_addf(sb, "[%zu]", node->index);
    } else if (plain_key(node->parent_key)) {
        strbuf_addf(sb, ".%s", node->parent_key);
    } else {
        strbuf_addstr(sb, "[\"");
        strbuf_add_escaped(sb, node->parent_key, strlen(node->parent_key));
        strbuf_addstr(sb, "\"]");
    }
}

const char *node_path(struct arena *a, const struct node *node)
{
    const struct node *steps[LIMIT_DEPTH + 1];
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    size_t n = 0;

    for (; node && node->parent && n < LIMIT_DEPTH + 1; node = node->parent)
        steps[n++] = node;
    if (n == 0)
        return ".";
    while (n > 0)
        add_step(&sb, steps[--n]);
    return arena_strndup(a, sb.buf, sb.len);
}

const char *node_words(struct arena *a, const struct node *node)
{
    enum { SHOWN = 48 };
    size_t n = node->len;

    switch (node->type) {
    case NODE_SEQ:
        return node->n ? "a list" : "an empty list";
    case NODE_MAP:
        return node->n ? "a mapping" : "an empty mapping";
    case NODE_NULL:
        return "nothing";
    case NODE_STRING:
        if (n <= SHOWN)
            return arena_printf(a, "the string \"%.*s\"", (int)n, node->text);
        for (n = SHOWN; n && (node->text[n] & 0xc0) == 0x80; n--) {
            /* not in the middle of a character */
        }
        return arena_printf(a, "the string \"%.*s…\"", (int)n, node->text);
    default:
        return arena_printf(a, "the %s %.*s", node->type == NODE_BOOL ? "bool" : "number",
                            n > SHOWN ? SHOWN : (int)n, node->text);
    }
}

static bool maps_equal(const struct node *a, const struct node *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct node *key = a->pairs[i].key;
        /* Usually in the same order, and then not quadratic. */
        const struct pair *other = is_key(b->pairs[i].key, key->text, key->len)
                                       ? &b->pairs[i]
                                       : find_pair(b, key->text, key->len);

        if (!other || !node_equal(a->pairs[i].value, other->value))
            return false;
    }
    return true;
}

bool node_equal(const struct node *a, const struct node *b)
{
    if (a->type != b->type || a->n != b->n)
        return false;
    switch (a->type) {
    case NODE_NULL:
        return true;
    case NODE_BOOL:
    case NODE_INT:
        return a->i == b->i;
    case NODE_FLOAT:
    case NODE_STRING:
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    case NODE_SEQ:
        for (size_t i = 0; i < a->n; i++) {
            if (!node_equal(a->items[i], b->items[i]))
                return false;
        }
        return true;
    case NODE_MAP:
        return maps_equal(a, b);
    }
    return false;
}
