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
#include "doc/yaml_text.h"

struct anchor {
    const char *name;
    const struct node *node;
    bool complete;
};

struct reader {
    struct arena *a;
    struct diags *ds;
    struct doc *doc;
    yaml_parser_t parser;
    yaml_event_t event;
    bool stop;  /* nothing more can be read */
    bool quiet; /* the text was cut at a bad byte: that is reported, the end it makes is not */
    size_t n_nodes;
    struct anchor anchors[LIMIT_ANCHORS];
    size_t n_anchors;
};

/* Where a node that is about to be made belongs. */
struct place {
    const struct node *parent;
    const char *key;
    size_t index;
    int depth;
};

struct nodes { /* heap */
    const struct node **v;
    size_t n, cap;
};

struct pairs { /* heap */
    struct pair *v;
    size_t n, cap;
};

static struct pos pos_of(yaml_mark_t m)
{
    return (struct pos){(uint32_t)m.line + 1, (uint32_t)m.column + 1};
}

static void stop_at_limit(struct reader *r, struct pos pos, const char *what, int limit)
{
    if (!r->stop)
        diag_pos(r->ds, pos, "", "E0005", NULL, "there are more than %d %s", limit, what);
    r->stop = r->doc->broken = true;
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
    r->stop = r->doc->broken = true;
    if (!r->quiet)
        yaml_report_syntax(r->doc, &problem, r->ds);
}

/* The next event's type; YAML_NO_EVENT when there is nothing more to read. */
static yaml_event_type_t next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (r->stop)
        return YAML_NO_EVENT;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        report_syntax(r);
        return YAML_NO_EVENT;
    }
    return r->event.type;
}

/* Always gives a node, so that the tree stays well formed when the limit stops the reader. */
static struct node *new_node(struct reader *r, const struct place *at, enum node_type type,
                             struct pos pos)
{
    struct node *node = ARENA_NEW(r->a, struct node);

    *node = (struct node){
        .type = type,
        .pos = pos,
        .parent = at->parent,
        .parent_key = at->key,
        .index = at->index,
        .text = "",
    };
    if (++r->n_nodes > LIMIT_NODES)
        stop_at_limit(r, pos, "nodes in the document (aliases count in full)", LIMIT_NODES);
    if (at->depth > LIMIT_DEPTH)
        stop_at_limit(r, pos, "levels of nesting", LIMIT_DEPTH);
    return node;
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
        stop_at_limit(r, node->pos, "anchors in the document", LIMIT_ANCHORS);
        return SIZE_MAX;
    }
    r->anchors[r->n_anchors] = (struct anchor){arena_strdup(r->a, (const char *)name), node, false};
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
    struct node *node = new_node(r, at, from->type, pos);
    struct node **items;
    struct pair *pairs;

    if (r->stop)
        return node;
    node->quoted = from->quoted;
    node->text = from->text;
    node->len = from->len;
    node->i = from->i;
    node->f = from->f;
    node->n = from->n;
    if (from->type == NODE_SEQ) {
        items = ARENA_ARRAY(r->a, struct node *, from->n);
        for (size_t i = 0; i < from->n; i++) {
            struct place below = {node, NULL, i, at->depth + 1};

            items[i] = copy_node(r, from->items[i], &below, from->items[i]->pos);
        }
        node->items = (const struct node *const *)items;
    } else if (from->type == NODE_MAP) {
        pairs = ARENA_ARRAY(r->a, struct pair, from->n);
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
        diag_pos(r->ds, pos, "", "E0004", NULL, "anchor \"%s\" contains itself", name);
    else
        diag_pos(r->ds, pos, "", "E0003", "define it before its use: &NAME",
                 "alias \"*%s\" has no anchor", name);
    r->doc->broken = true;
    return new_node(r, at, NODE_NULL, pos);
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
    diag_at(r->ds, node, "W0002", NULL, "the tag \"%s\" is ignored", tag);
}

static struct node *read_scalar(struct reader *r, const struct place *at)
{
    const char *tag = (const char *)r->event.data.scalar.tag;
    struct node *node = new_node(r, at, NODE_STRING, pos_of(r->event.start_mark));

    node->len = r->event.data.scalar.length;
    node->text = arena_strndup(r->a, (const char *)r->event.data.scalar.value, node->len);
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
    struct node *node = new_node(r, at, NODE_SEQ, pos_of(r->event.start_mark));
    size_t slot = open_anchor(r, r->event.data.sequence_start.anchor, node);
    struct nodes list = {0};
    yaml_event_type_t type;
    const struct node **items;

    if (r->event.data.sequence_start.tag)
        check_tag(r, node, (const char *)r->event.data.sequence_start.tag);
    while ((type = next(r)) && type != YAML_SEQUENCE_END_EVENT) {
        struct place below = {node, NULL, list.n, at->depth + 1};

        GROW(list.v, list.n, list.cap);
        list.v[list.n] = read_value(r, &below);
        list.n++;
    }
    items = ARENA_ARRAY(r->a, const struct node *, list.n);
    if (list.n)
        memcpy(items, list.v, list.n * sizeof(*items));
    node->items = items;
    node->n = list.n;
    free(list.v);
    close_anchor(r, slot);
    return node;
}

/* --- mappings ------------------------------------------------------------------------------- */

/* Keys to their index, by open addressing: a slot is 0 or index + 1. */
struct key_set {
    size_t *slots, mask;
};

static struct key_set key_set_new(size_t n)
{
    size_t size = 8;

    while (size < n * 2)
        size *= 2;
    return (struct key_set){xcalloc(size, sizeof(size_t)), size - 1};
}

static size_t *key_set_slot(struct key_set *set, const struct pairs *in, const struct node *key)
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

static void report_duplicate(struct reader *r, const struct pair *first, const struct pair *again)
{
    unsigned int line = first->key->pos.line;
    const char *key = again->key->text;

    if (node_equal(first->value, again->value))
        diag_at(r->ds, again->key, "W0001", "remove one of the two",
                "duplicate key \"%s\" (first at line %u), with the same value", key, line);
    else
        diag_at(r->ds, again->key, "E0007", "remove one of the two",
                "duplicate key \"%s\" (first at line %u), with another value", key, line);
}

/* A later pair takes the place of an earlier one with the same key. */
static void drop_duplicates(struct reader *r, struct pairs *list, struct key_set *set)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        size_t *slot = key_set_slot(set, list, list->v[i].key);

        if (*slot) {
            report_duplicate(r, &list->v[*slot - 1], &list->v[i]);
            list->v[*slot - 1] = list->v[i];
        } else {
            list->v[kept] = list->v[i];
            *slot = ++kept;
        }
    }
    list->n = kept;
}

/* What `<<` brings in: keys that are not there yet. */
static void merge_map(struct reader *r, const struct place *below, const struct node *from,
                      struct pairs *list, struct key_set *set)
{
    if (from->type != NODE_MAP) {
        diag_at(r->ds, from, "E0107", NULL, "\"<<\" wants a mapping, not %s",
                node_words(r->a, from));
        return;
    }
    for (size_t i = 0; i < from->n && !r->stop; i++) {
        const struct pair *p = &from->pairs[i];
        struct place at = {below->parent, p->key->text, 0, below->depth};
        size_t *slot = key_set_slot(set, list, p->key);

        if (*slot)
            continue;
        if (list->n == LIMIT_KEYS)
            stop_at_limit(r, p->key->pos, "keys in one mapping", LIMIT_KEYS);
        GROW(list->v, list->n, list->cap);
        list->v[list->n].key = copy_node(r, p->key, &at, p->key->pos);
        list->v[list->n].value = copy_node(r, p->value, &at, p->value->pos);
        *slot = ++list->n;
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
    struct pair *pairs;

    drop_duplicates(r, list, &set);
    for (size_t i = 0; i < merges->n; i++) {
        const struct node *from = merges->v[i];

        if (from->type != NODE_SEQ)
            merge_map(r, below, from, list, &set);
        for (size_t k = 0; from->type == NODE_SEQ && k < from->n; k++)
            merge_map(r, below, from->items[k], list, &set);
    }
    free(set.slots);
    pairs = ARENA_ARRAY(r->a, struct pair, list->n);
    if (list->n)
        memcpy(pairs, list->v, list->n * sizeof(*pairs));
    node->pairs = pairs;
    node->n = list->n;
}

/* A key, or NULL if it is no scalar (reported). */
static struct node *read_key(struct reader *r, const struct place *below)
{
    static const char hint[] =
        "{{ … }} marks a template: render it first; a text with braces needs "
        "quotes";
    struct node *key = read_value(r, below);

    if (key->type == NODE_MAP || key->type == NODE_SEQ) {
        if (!r->stop)
            diag_at(r->ds, key, "E0008", key->type == NODE_MAP ? hint : NULL,
                    "a key must be a plain word, not %s", node_type_words(key->type));
        return NULL;
    }
    key->parent_key = key->text;
    return key;
}

static struct node *read_map(struct reader *r, const struct place *at)
{
    struct node *node = new_node(r, at, NODE_MAP, pos_of(r->event.start_mark));
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
            GROW(merges.v, merges.n, merges.cap);
            merges.v[merges.n++] = value;
        } else if (key) {
            if (list.n == LIMIT_KEYS)
                stop_at_limit(r, key->pos, "keys in one mapping", LIMIT_KEYS);
            GROW(list.v, list.n, list.cap);
            list.v[list.n++] = (struct pair){key, value};
        }
    }
    finish_map(r, &below, node, &list, &merges);
    free(list.v);
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
        return new_node(r, at, NODE_NULL, pos_of(r->event.start_mark));
    }
}

static void read_documents(struct reader *r)
{
    struct doc *doc = r->doc;
    yaml_event_type_t type;

    while ((type = next(r)) && type != YAML_STREAM_END_EVENT) {
        struct place top = {NULL, NULL, 0, 0};

        if (type != YAML_DOCUMENT_START_EVENT)
            continue;
        if (doc->n_roots == LIMIT_DOCUMENTS) {
            stop_at_limit(r, pos_of(r->event.start_mark), "documents in the file", LIMIT_DOCUMENTS);
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
    static const char bom[] = "\xef\xbb\xbf";
    auto_free struct reader *r = xcalloc(1, sizeof(*r));
    size_t before = ds->n_errors, good;

    if (len >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3;
        len -= 3;
    }
    *ret = (struct doc){
        .file = arena_strdup(a, file),
        .source = arena_strndup(a, text, len),
        .source_len = len,
        .roots = ARENA_ARRAY(a, const struct node *, LIMIT_DOCUMENTS),
    };
    r->a = a;
    r->ds = ds;
    r->doc = ret;
    good = yaml_check_bytes(text, len, ds);
    ret->broken = r->quiet = good < len;
    if (!yaml_parser_initialize(&r->parser)) {
        diag_pos(ds, (struct pos){1, 1}, "", "E0001", NULL, "the YAML parser cannot start");
        return -EINVAL;
    }
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)ret->source, good);
    read_documents(r);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return ds->n_errors > before ? -EINVAL : 0;
}
