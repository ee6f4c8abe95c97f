/* yaml.c - libyaml's events into document trees.
 *
 * The reader never stops half-way through a node: after an error that ends reading (`stop`) every
 * collection that is open is closed with what it has. The tree is then incomplete but well formed,
 * which is enough to say what kind of file it was meant to be.
 *
 * Not here: what looks at text only (yaml_text.c). */
#include "doc/yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "base/mem.h"
#include "doc/build.h"
#include "doc/text.h"
#include "doc/yaml_text.h"

struct anchor {
    const char *name;
    const struct node *node;
    bool complete;
};

struct reader {
    struct builder b;
    yaml_parser_t parser;
    yaml_event_t event;
    bool quiet; /* the text was cut at a bad byte: that is reported, the end it makes is not */
    struct anchor *anchors; /* heap */
    size_t n_anchors, anchors_cap;
};

static struct pos pos_of(yaml_mark_t m)
{
    return (struct pos){(uint32_t)m.line + 1, (uint32_t)m.column + 1};
}

static void report_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    struct yaml_problem problem = {
        .problem = p->problem ? p->problem : "cannot be read",
        .context = p->context,
        .at = pos_of(p->problem_mark),
    };

    if (p->context)
        problem.context_at = pos_of(p->context_mark);
    r->b.stop = r->b.doc->broken = true;
    if (!r->quiet)
        yaml_report_syntax(r->b.doc, &problem, r->b.ds);
}

/* The next event's type; YAML_NO_EVENT when there is nothing more to read. */
static yaml_event_type_t next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (r->b.stop)
        return YAML_NO_EVENT;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        report_syntax(r);
        return YAML_NO_EVENT;
    }
    return r->event.type;
}

/* --- anchors -------------------------------------------------------------------------------- */

static struct anchor *find_anchor(struct reader *r, const char *name)
{
    for (size_t i = r->n_anchors; i-- > 0;) {
        if (strcmp(r->anchors[i].name, name) == 0)
            return &r->anchors[i];
    }
    return NULL;
}

/* Returns the slot's index; it is completed when the node is. */
static size_t open_anchor(struct reader *r, const yaml_char_t *name, const struct node *node)
{
    if (!name)
        return SIZE_MAX;
    if (r->n_anchors == LIMIT_ANCHORS) {
        build_stop(&r->b, node->pos, "anchors in the document", LIMIT_ANCHORS);
        return SIZE_MAX;
    }
    GROW(r->anchors, r->n_anchors, r->anchors_cap);
    r->anchors[r->n_anchors] =
        (struct anchor){arena_strdup(r->b.a, (const char *)name), node, false};
    return r->n_anchors++;
}

static void close_anchor(struct reader *r, size_t slot)
{
    if (slot != SIZE_MAX)
        r->anchors[slot].complete = true;
}

/* A copy below `at`. Its root stands where the alias does; what is in it, where it was written. */
static struct node *copy_node(struct reader *r, const struct node *from, const struct place *at,
                              struct pos pos)
{
    struct node *node = build_node(&r->b, at, from->type, pos);
    struct node **items;
    struct pair *pairs;

    if (r->b.stop)
        return node;
    node->quoted = from->quoted;
    node->text = from->text;
    node->len = from->len;
    node->i = from->i;
    node->f = from->f;
    node->n = from->n;
    if (from->type == NODE_SEQ) {
        items = ARENA_ARRAY(r->b.a, struct node *, from->n);
        for (size_t i = 0; i < from->n; i++) {
            struct place below = {node, NULL, i, at->depth + 1};

            items[i] = copy_node(r, from->items[i], &below, from->items[i]->pos);
        }
        node->items = (const struct node *const *)items;
    } else if (from->type == NODE_MAP) {
        pairs = ARENA_ARRAY(r->b.a, struct pair, from->n);
        for (size_t i = 0; i < from->n; i++) {
            const struct pair *p = &from->pairs[i];
            struct place below = {node, p->key->text, 0, at->depth + 1};

            pairs[i].key = copy_node(r, p->key, &below, p->key->pos);
            pairs[i].value = copy_node(r, p->value, &below, p->value->pos);
        }
        node->pairs = pairs;
    }
    return node;
}

static struct node *read_alias(struct reader *r, const struct place *at)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    struct pos pos = pos_of(r->event.start_mark);
    const struct anchor *anchor = find_anchor(r, name);

    if (anchor && anchor->complete)
        return copy_node(r, anchor->node, at, pos);
    if (anchor)
        diag_pos(r->b.ds, pos, "", "E0004", NULL, "anchor \"%s\" refers to itself", name);
    else
        diag_pos(r->b.ds, pos, "", "E0003", "define the anchor before using it: &NAME",
                 "alias \"*%s\" refers to an undefined anchor", name);
    r->b.doc->broken = true;
    return build_node(&r->b, at, NODE_NULL, pos);
}

/* --- nodes ---------------------------------------------------------------------------------- */

#define TAG "tag:yaml.org,2002:"

/* A tag that would change the value's meaning is not understood, and that is said. */
static void check_tag(struct reader *r, const struct node *node, const char *tag)
{
    static const char *const known[] = {TAG "str",  TAG "int", TAG "float", TAG "bool",
                                        TAG "null", TAG "map", TAG "seq",   "!"};

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(tag, known[i]) == 0)
            return;
    }
    diag_at(r->b.ds, node, "W0002", NULL, "the tag \"%s\" is ignored", tag);
}

static struct node *read_scalar(struct reader *r, const struct place *at)
{
    const char *tag = (const char *)r->event.data.scalar.tag;
    struct node *node = build_node(&r->b, at, NODE_STRING, pos_of(r->event.start_mark));

    node->len = r->event.data.scalar.length;
    node->text = arena_strndup(r->b.a, (const char *)r->event.data.scalar.value, node->len);
    node->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (tag)
        check_tag(r, node, tag);
    if (tag ? strcmp(tag, TAG "str") != 0 && strcmp(tag, "!") != 0 : !node->quoted)
        yaml_type_plain(node);
    close_anchor(r, open_anchor(r, r->event.data.scalar.anchor, node));
    return node;
}

static struct node *read_value(struct reader *r, const struct place *at);

static struct node *read_seq(struct reader *r, const struct place *at)
{
    struct node *node = build_node(&r->b, at, NODE_SEQ, pos_of(r->event.start_mark));
    size_t slot = open_anchor(r, r->event.data.sequence_start.anchor, node);
    struct nodes list = {0};
    yaml_event_type_t type;

    if (r->event.data.sequence_start.tag)
        check_tag(r, node, (const char *)r->event.data.sequence_start.tag);
    while ((type = next(r)) && type != YAML_SEQUENCE_END_EVENT) {
        struct place below = {node, NULL, list.n, at->depth + 1};

        build_add_item(&list, read_value(r, &below));
    }
    build_seq(&r->b, node, &list);
    close_anchor(r, slot);
    return node;
}

/* --- mappings ------------------------------------------------------------------------------- */

/* What `<<` brings in: keys that are not there yet. */
static void merge_map(struct reader *r, const struct place *below, const struct node *from,
                      struct pairs *list, struct key_set *set)
{
    if (from->type != NODE_MAP) {
        diag_at(r->b.ds, from, "E0107", NULL, "\"<<\" must be a mapping, not %s",
                node_words(r->b.a, from));
        return;
    }
    for (size_t i = 0; i < from->n && !r->b.stop; i++) {
        const struct pair *p = &from->pairs[i];
        struct place at = {below->parent, p->key->text, 0, below->depth};
        size_t *slot = key_set_slot(set, list, p->key);

        if (*slot)
            continue;
        build_add_pair(&r->b, list, copy_node(r, p->key, &at, p->key->pos),
                       copy_node(r, p->value, &at, p->value->pos));
        *slot = list->n;
    }
}

static size_t merged_keys(const struct nodes *merges)
{
    size_t n = 0;

    for (size_t i = 0; i < merges->n; i++) {
        n += merges->v[i]->n;
        for (size_t k = 0; merges->v[i]->type == NODE_SEQ && k < merges->v[i]->n; k++)
            n += merges->v[i]->items[k]->n;
    }
    return n;
}

static void finish_map(struct reader *r, const struct place *below, struct node *node,
                       struct pairs *list, const struct nodes *merges)
{
    struct key_set set = key_set_new(list->n + merged_keys(merges));

    build_unique(&r->b, list, &set);
    for (size_t i = 0; i < merges->n; i++) {
        const struct node *from = merges->v[i];

        if (from->type != NODE_SEQ)
            merge_map(r, below, from, list, &set);
        for (size_t k = 0; from->type == NODE_SEQ && k < from->n; k++)
            merge_map(r, below, from->items[k], list, &set);
    }
    free(set.slots);
    build_map(&r->b, node, list);
}

/* A key, or NULL if it is no scalar (reported). */
static struct node *read_key(struct reader *r, const struct place *below)
{
    static const char hint[] = "{{ … }} is template syntax; render the template first, or quote a "
                               "text that contains braces";
    struct node *key = read_value(r, below);

    if (key->type == NODE_MAP || key->type == NODE_SEQ) {
        if (!r->b.stop)
            diag_at(r->b.ds, key, "E0008", key->type == NODE_MAP ? hint : NULL,
                    "a key must be a string, not %s", node_type_words(key->type));
        return NULL;
    }
    key->parent_key = key->text;
    return key;
}

static struct node *read_map(struct reader *r, const struct place *at)
{
    struct node *node = build_node(&r->b, at, NODE_MAP, pos_of(r->event.start_mark));
    size_t slot = open_anchor(r, r->event.data.mapping_start.anchor, node);
    struct place below = {node, "", 0, at->depth + 1};
    struct pairs list = {0};
    struct nodes merges = {0};
    yaml_event_type_t type;

    if (r->event.data.mapping_start.tag)
        check_tag(r, node, (const char *)r->event.data.mapping_start.tag);
    while ((type = next(r)) && type != YAML_MAPPING_END_EVENT) {
        struct node *key = read_key(r, &below), *value;
        struct place value_at = {node, key ? key->text : "", 0, below.depth};

        if (!next(r))
            break;
        value = read_value(r, &value_at);
        if (key && strcmp(key->text, "<<") == 0 && !key->quoted) {
            build_add_item(&merges, value);
        } else if (key) {
            build_add_pair(&r->b, &list, key, value);
        }
    }
    finish_map(r, &below, node, &list, &merges);
    free(merges.v);
    close_anchor(r, slot);
    return node;
}

/* The node that begins with the current event. */
static struct node *read_value(struct reader *r, const struct place *at)
{
    switch (r->event.type) {
    case YAML_ALIAS_EVENT:
        return read_alias(r, at);
    case YAML_SCALAR_EVENT:
        return read_scalar(r, at);
    case YAML_SEQUENCE_START_EVENT:
        return read_seq(r, at);
    case YAML_MAPPING_START_EVENT:
        return read_map(r, at);
    default:
        return build_node(&r->b, at, NODE_NULL, pos_of(r->event.start_mark));
    }
}

static void read_documents(struct reader *r)
{
    struct doc *doc = r->b.doc;
    yaml_event_type_t type;

    while ((type = next(r)) && type != YAML_STREAM_END_EVENT) {
        struct place top = {NULL, NULL, 0, 0};

        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (doc->n_roots == LIMIT_DOCUMENTS) {
            build_stop(&r->b, pos_of(r->event.start_mark), "documents in the file",
                       LIMIT_DOCUMENTS);
            return;
        }
        r->n_anchors = 0;
        if (next(r))
            doc->roots[doc->n_roots++] = read_value(r, &top);
    }
}

int yaml_read(struct arena *a, const char *file, const char *text, size_t len, struct diags *ds,
              struct doc *ret)
{
    auto_free struct reader *r = xcalloc(1, sizeof(*r));
    size_t before = ds->n_errors, good;

    build_doc(a, file, &text, &len, LIMIT_DOCUMENTS, ret);
    r->b = (struct builder){.a = a, .ds = ds, .doc = ret};
    good = text_check(text, len, TEXT_YAML, ds);
    ret->broken = r->quiet = good < len;
    if (!yaml_parser_initialize(&r->parser)) {
        diag_pos(ds, (struct pos){1, 1}, "", "E0001", NULL, "cannot initialize the YAML parser");
        return -EINVAL;
    }
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)ret->source, good);
    read_documents(r);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    free(r->anchors);
    return ds->n_errors > before ? -EINVAL : 0;
}
