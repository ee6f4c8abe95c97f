/* bind_hint.c - what somebody may have meant who wrote a value of another type. See bind.h. */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "doc/bind.h"

static bool is_scalar(const struct node *node)
{
    return node->type != NODE_SEQ && node->type != NODE_MAP;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n >= k && strcmp(text + n - k, end) == 0;
}

/* "5"; 1h where seconds are counted, 16Gi where MB are. */
static const char *integer_hint(struct arena *a, const char *name, const struct node *node)
{
    int64_t v;

    if (node->type != NODE_STRING || strlen(node->text) != node->len || !node->len)
        return NULL;
    if (!node->quoted && (unsigned char)node->text[0] == 0xe2)
        return "these are typographic quotes; remove them";
    if (node->len < 11 && strspn(node->text, "0123456789") == node->len)
        return "remove the quotes";
    if (duration_ms(node->text, &v) == 0 && v % 1000 == 0 &&
        (strstr(name, "Seconds") || ends_with(name, "timeout")))
        return arena_printf(a, "the unit is seconds: %lld", (long long)(v / 1000));
    if (ends_with(name, "MB") && quantity_units(node->text, &v) == 0 && v >= 1 << 20)
        return arena_printf(a, "the unit is MB: %lld", (long long)(v >> 20));
    return NULL;
}

/* "1 Gi", "4GiB", "4gb", "2 cores": the number, and the unit that is nearest. */
static const char *quantity_hint(struct arena *a, const char *name, const struct node *node)
{
    static const char *const units[][2] = {{"ki", "Ki"}, {"mi", "Mi"}, {"gi", "Gi"}, {"ti", "Ti"},
                                           {"k", "k"},   {"m", "M"},   {"g", "G"},   {"t", "T"}};
    size_t digits = node->type == NODE_STRING ? strspn(node->text, "0123456789.") : 0;
    const char *unit = digits ? node->text + digits : "";

    unit += strspn(unit, " ");
    if (!digits || !*unit)
        return NULL;
    if (strncasecmp(unit, "core", 4) == 0 || strncasecmp(unit, "gpu", 3) == 0)
        return arena_printf(a, "write %.*s", (int)digits, node->text);
    for (size_t i = 0; strcmp(name, "cpu") != 0 && i < ARRAY_SIZE(units); i++) {
        size_t n = strlen(units[i][0]);

        if (strncasecmp(unit, units[i][0], n) == 0 &&
            (!unit[n] || strcasecmp(unit + n, "b") == 0 || strcasecmp(unit + n, "ytes") == 0))
            return arena_printf(a, "write %.*s%s", (int)digits, node->text, units[i][1]);
    }
    return NULL;
}

static const char *mapping_hint(struct arena *a, const char *name, const struct node *node)
{
    const struct node *first = node->type == NODE_SEQ && node->n ? node->items[0] : NULL;

    (void)a, (void)name;
    if (!first)
        return NULL;
    if (first->type == NODE_MAP && node_get(first, "name"))
        return "write each name as a key, `NAME:`, with its fields below it";
    if (first->type == NODE_MAP)
        return "remove the `- `";
    return "write `NAME: value`, without `- ` and brackets";
}

static const char *list_hint(struct arena *a, const char *name, const struct node *node)
{
    if (node->type != NODE_MAP || !node->n)
        return NULL;
    if (strcmp(name, "env") == 0 && is_scalar(node->pairs[0].value))
        return arena_printf(a, "write one list item per variable: - {name: %.40s, value: …}",
                            node->pairs[0].key->text);
    return "add `- ` before the first key of each item";
}

static const char *strings_hint(struct arena *a, const char *name, const struct node *node)
{
    bool lines =
        ends_with(name, "ommands"); /* OpenPAI's are a script's lines, not a program's words */

    (void)a;
    if (node->type != NODE_STRING)
        return NULL;
    return lines || node->len >= 60
               ? "add `- ` before it, on its own line"
               : "write a list, one word per item: [\"program\", \"argument\"]";
}

static const char *string_hint(struct arena *a, const char *name, const struct node *node)
{
    (void)name;
    if (is_scalar(node) && node->type != NODE_NULL)
        return arena_printf(a, "quote it: \"%s\"", node->text);
    if (node->type == NODE_MAP && node->n == 1 && is_scalar(node->pairs[0].value) &&
        node->pairs[0].value->type != NODE_NULL)
        return "': ' starts a mapping; quote the text";
    if (node->type == NODE_SEQ && node->n && is_scalar(node->items[0]))
        return node->n == 1 ? "remove the brackets or the `- `" : "write it as one string";
    return NULL;
}

const char *bind_type_hint(const struct binder *b, const char *name, const char *what,
                           const struct node *node)
{
    static const struct {
        const char *what;
        const char *(*hint)(struct arena *a, const char *name, const struct node *node);
    } rows[] = {
        {"an integer", integer_hint}, {"a quantity", quantity_hint},
        {"a mapping", mapping_hint},  {"a list of strings", strings_hint},
        {"a list", list_hint},        {"a string", string_hint},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strncmp(what, rows[i].what, strlen(rows[i].what)) == 0)
            return rows[i].hint(b->a, name, node);
    return NULL;
}
