/* own_kind.c - see own_kind.h. */
#include "dialect/muster/own_kind.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "dialect/muster/muster_v1.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
#include "kube/metadata.h"
#include "kube/own.h"

struct own_kind {
    const struct node *at;
    const char *api_version, *kind;
    const struct kube_metadata *metadata;
    const struct node *spec;
};

#define AT(member) .offset = offsetof(struct own_kind, member)
static const struct bind_field fields[] = {
    {.key = "apiVersion", .kind = BIND_STRING, .required = true, AT(api_version)},
    {.key = "kind", .kind = BIND_STRING, .required = true, AT(kind)},
    {.key = "metadata",
     .kind = BIND_STRUCT,
     .required = true,
     .table = &kube_metadata_table,
     AT(metadata)},
    {.key = "spec", .kind = BIND_NODE, .required = true, AT(spec)},
    {.key = "status", .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER},
};
static const struct bind_table table = BIND_TABLE("the MusterJob", struct own_kind, fields);

bool own_kind_is(const struct node *root)
{
    return strcmp(node_text(node_get(root, "apiVersion"), ""), OWN_API_VERSION) == 0 &&
           strcmp(node_text(node_get(root, "kind"), ""), OWN_KIND) == 0;
}

/* --- the order of keys ------------------------------------------------------------------------ */

/* Keys of mappings whose order means something. What is below a template is never read. */
static bool has_order(const char *key)
{
    static const char *const keys[] = {"roles", "env", "ports", "mca"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool is_sorted(const struct node *map)
{
    for (size_t i = 1; i < map->n; i++)
        if (strcmp(map->pairs[i - 1].key->text, map->pairs[i].key->text) > 0)
            return false;
    return true;
}

/* Adds PATH: [KEY, …] for each mapping below that a cluster would change. */
static void write_order(struct arena *a, const struct node *node, const char *path, struct node *to)
{
    for (size_t i = 0; node->type == NODE_SEQ && i < node->n; i++)
        write_order(a, node->items[i], arena_printf(a, "%s.%zu", path, i), to);
    for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++) {
        const char *key = node->pairs[i].key->text;
        const struct node *value = node->pairs[i].value;
        const char *below = *path ? arena_printf(a, "%s.%s", path, key) : key;

        if (strcmp(key, "template") == 0)
            continue;
        if (value->type == NODE_MAP && has_order(key) && !is_sorted(value)) {
            struct node *names = make_list_below(a, to, below);

            for (size_t k = 0; k < value->n; k++)
                make_add(a, names, make_text(a, value->pairs[k].key->text));
        }
        write_order(a, value, below, to);
    }
}

static size_t place_in(const struct node *names, const char *key)
{
    size_t i = 0;

    while (i < names->n && strcmp(node_text(names->items[i], ""), key) != 0)
        i++;
    return i;
}

/* Keys that are not in the list keep their order, behind the others. */
static void sort_pairs(const struct node *names, struct pair *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct pair p = pairs[i];
        size_t place = place_in(names, p.key->text), k = i;

        for (; k > 0 && place_in(names, pairs[k - 1].key->text) > place; k--)
            pairs[k] = pairs[k - 1];
        pairs[k] = p;
    }
}

/* The same tree in the order of the annotation. A mapping that differs is made anew; its values
 * know the old one as their parent, so paths stay. */
static const struct node *in_order(struct arena *a, const struct node *node, const char *path,
                                   const struct node *order)
{
    const struct node *names = node_get(order, path);
    struct node *made = ARENA_NEW(a, struct node);

    *made = *node;
    if (node->type == NODE_SEQ) {
        const struct node **items = ARENA_ARRAY(a, const struct node *, node->n + 1);

        for (size_t i = 0; i < node->n; i++)
            items[i] = in_order(a, node->items[i], arena_printf(a, "%s.%zu", path, i), order);
        made->items = items;
    } else if (node->type == NODE_MAP) {
        struct pair *pairs = ARENA_ARRAY(a, struct pair, node->n + 1);

        for (size_t i = 0; i < node->n; i++) {
            const char *key = node->pairs[i].key->text;
            const char *below = *path ? arena_printf(a, "%s.%s", path, key) : key;

            pairs[i] = node->pairs[i];
            if (strcmp(key, "template") != 0)
                pairs[i].value = in_order(a, node->pairs[i].value, below, order);
        }
        if (names && names->type == NODE_SEQ)
            sort_pairs(names, pairs, node->n);
        made->pairs = pairs;
    }
    return made;
}

/* --- out of the object ------------------------------------------------------------------------ */

static const struct node *order_of(const struct binder *b, const struct node *object)
{
    const struct node *at = node_get(node_find(object, "metadata", "annotations", NULL), OWN_ORDER);
    const struct node *order = NULL;

    if (!at)
        return NULL;
    if (at->type == NODE_STRING)
        order = json_node(b->a, at->text, at->len);
    if (order && order->type == NODE_MAP)
        return order;
    bind_type_error(b, OWN_ORDER, "a JSON object of lists",
                    "such as '{\"roles\": [\"worker\", \"ps\"]}'", at);
    return NULL;
}

static struct node *text_node(struct arena *a, const struct node *like, const char *text)
{
    struct node *made = make_text(a, text);

    made->pos = like->pos;
    made->parent = like->parent;
    made->parent_key = like->parent_key;
    return made;
}

const struct node *own_kind_file(const struct binder *b, const struct node *object)
{
    const struct own_kind *in = bind_map(b, &table, object);
    const struct node *order = order_of(b, object), *name;
    struct node *file;

    if (!in || !in->spec)
        return NULL;
    if (in->spec->type != NODE_MAP) {
        bind_type_error(b, "spec", "a mapping", NULL, in->spec);
        return NULL;
    }
    file = ARENA_NEW(b->a, struct node);
    *file = *(order ? in_order(b->a, in->spec, "", order) : in->spec);
    struct pair *pairs = ARENA_ARRAY(b->a, struct pair, 2 * file->n + 1); /* room for make_put() */
    memcpy(pairs, file->pairs, file->n * sizeof(*pairs));
    file->pairs = pairs;
    make_put(b->a, file, "apiVersion", text_node(b->a, in->spec, MUSTER_V1));
    name = node_find(object, "metadata", "name", NULL);
    if (!name)
        name = node_find(object, "metadata", "generateName", NULL);
    if (node_absent(file, "name") && node_text(name, NULL))
        make_put(b->a, file, "name", name);
    name = node_find(object, "metadata", "namespace", NULL);
    if (node_absent(file, "namespace") && node_text(name, NULL))
        make_put(b->a, file, "namespace", name);
    return file;
}

/* --- into an object --------------------------------------------------------------------------- */

struct node *own_kind_object(struct arena *a, const struct node *file, const char *name,
                             const char *namespace_)
{
    struct node *root = make_map(a), *meta, *spec = make_copy(a, file), *order = make_map(a);

    make_drop(spec, "apiVersion");
    make_drop(spec, "namespace");
    write_order(a, spec, "", order);
    make_put(a, root, "apiVersion", make_text(a, OWN_API_VERSION));
    make_put(a, root, "kind", make_text(a, OWN_KIND));
    meta = make_below(a, root, "metadata");
    make_put(a, meta, "name", make_text(a, name));
    make_put(a, meta, "namespace", make_text(a, namespace_));
    if (order->n > 0) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        json_write(&text, order);
        make_put(a, make_below(a, meta, "annotations"), OWN_ORDER,
                 make_text(a, arena_strndup(a, text.buf, text.len)));
    }
    make_put(a, root, "spec", spec);
    return root;
}
