/* bind.c - the decoder behind bind tables. */
#include "doc/bind.h"

#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/strbuf.h"

/* --- messages ------------------------------------------------------------------------------- */

/* {{ .Name }} is told as such, and read as an empty mapping: that is no second fault. */
static bool is_template(const struct binder *b, const struct node *node)
{
    for (size_t i = 0; node->type == NODE_MAP && node->n == 0 && i < b->ds->n; i++) {
        const struct diag *d = &b->ds->v[i];

        if (strcmp(d->code, "E0008") == 0 && d->pos.line == node->pos.line &&
            d->pos.column == node->pos.column + 1)
            return true;
    }
    return false;
}

/* What people leave for others to fill in: <NUM_WORKERS>, $WORKERS. */
static bool is_placeholder(const struct node *node)
{
    return node->type == NODE_STRING && node->len > 2 &&
           (node->text[0] == '$' || (node->text[0] == '<' && node->text[node->len - 1] == '>'));
}

void bind_type_error(const struct binder *b, const char *name, const char *what, const char *hint,
                     const struct node *node)
{
    const struct node *at = node->type == NODE_NULL && !node->len ? node_label(node) : node;

    if (is_template(b, node))
        return;
    if (is_placeholder(node))
        hint = "this looks like a template; replace its placeholders first";
    diag_at(b->ds, at, "E0107", hint ? hint : bind_type_hint(b, name, what, node),
            "`%s` must be %s, not %s", name, what, node_words(b->a, node));
}

static const char *meant(const struct binder *b, const char *key)
{
    return arena_printf(b->a, "did you mean `%s`?", key);
}

/* Is the key there under a name that was refused already, and taken for it? One fault, one finding.
 * Where unknown keys are only warned about, what is missing still has to be told. */
static bool is_misspelt(const struct binder *b, const struct node *map, const char *key)
{
    const char *hint = meant(b, key);

    for (size_t i = 0; map->type == NODE_MAP && i < b->ds->n; i++) {
        const struct diag *d = &b->ds->v[i];

        if (strcmp(d->code, "E0101") != 0 || !d->hint || strcmp(d->hint, hint) != 0)
            continue;
        for (size_t k = 0; k < map->n; k++) {
            const struct pos *at = &map->pairs[k].key->pos;

            if (at->line == d->pos.line && at->column == d->pos.column)
                return true;
        }
    }
    return false;
}

void bind_missing(const struct binder *b, const struct node *map, const char *what, const char *key,
                  const char *hint)
{
    const struct node *empty = node_key(map, key);

    if (!empty && is_misspelt(b, map, key))
        return;
    if (empty)
        diag_at(b->ds, empty, "E0103", hint, "`%s` has no value", key);
    else
        diag_at(b->ds, node_label(map), "E0103", hint, "`%s` is required in %s", key, what);
}

/* The only one of the words that the word is a part of, or that is a part of it. */
static const char *word_around(const char *word, const char *const *words, size_t n)
{
    enum { LEAST = 4 };
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        bool around = strlen(word) >= LEAST && strcasestr(words[i], word);

        if (!around && !(strlen(words[i]) >= LEAST && strcasestr(word, words[i])))
            continue;
        if (found)
            return NULL;
        found = words[i];
    }
    return found;
}

void bind_word(const struct binder *b, const struct node *at, const char *name, const char *word,
               const char *const *words, size_t n)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *near = nearest_word(word, words, n);

    if (!near)
        near = word_around(word, words, n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0)
            return;
        strbuf_addf(&sb, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    diag_at(b->ds, at, "E0209", near ? meant(b, near) : NULL, "`%s` must be %s, not \"%.80s\"",
            name, sb.buf, word);
}

/* Where in the dialect the key is known, for one that was indented wrongly. */
static const struct bind_table *table_with(const struct bind_table *t, const char *key, int depth)
{
    if (depth > LIMIT_DEPTH)
        return NULL;
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->fields[i].key, key) == 0)
            return t;
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct bind_table *found =
            t->fields[i].table ? table_with(t->fields[i].table, key, depth + 1) : NULL;

        if (found)
            return found;
    }
    return NULL;
}

static const char *known_keys(const struct binder *b, const struct bind_table *t)
{
    enum { SHOWN = 12 };
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, "known keys: ");
    for (size_t i = 0; i < t->n && i < SHOWN; i++)
        strbuf_addf(&sb, "%s%s", i ? ", " : "", t->fields[i].key);
    if (t->n > SHOWN)
        strbuf_addstr(&sb, ", …");
    return arena_strndup(b->a, sb.buf, sb.len);
}

/* For a word where a mapping is wanted: it may be meant for the only key. */
static const char *scalar_hint(const struct binder *b, const struct bind_table *t,
                               const struct node *node)
{
    if (t->n == 1 && node->len < 40)
        return arena_printf(b->a, "write {%s: %s}", t->fields[0].key, node->text);
    return known_keys(b, t);
}

static bool has_key(const struct bind_table *t, const char *key)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->fields[i].key, key) == 0)
            return true;
    return false;
}

/* Is t one form of what `other` lists all keys of? Then the key is in its place, and of another
 * form. */
static bool is_form_of(const struct bind_table *t, const struct bind_table *other)
{
    for (size_t i = 0; i < t->n; i++)
        if (!has_key(other, t->fields[i].key))
            return false;
    return true;
}

static const char *unknown_hint(const struct binder *b, const struct bind_table *t, const char *key)
{
    const struct bind_table *other = b->root ? table_with(b->root, key, 0) : NULL;
    const char **words = ARENA_ARRAY(b->a, const char *, t->n), *near;

    for (const struct bind_foreign *f = t->foreign; f && f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f->hint;
    for (size_t i = 0; i < t->n; i++)
        words[i] = t->fields[i].key;
    near = nearest_word(key, words, t->n);
    if (other && !is_form_of(t, other))
        return arena_printf(b->a, "`%s` belongs in %s; check the indentation", key, other->what);
    if (near)
        return meant(b, near);
    return known_keys(b, t);
}

static void report_unknown(const struct binder *b, const struct bind_table *t,
                           const struct node *key)
{
    /* Whoever sets a key on the command line means it to do something. */
    bool lenient = !key->set && (t->lenient || (b->lenient && !t->closed));

    diag_at(b->ds, key, lenient ? "W0101" : "E0101", unknown_hint(b, t, key->text),
            "unknown key `%s` in %s", key->text, t->what);
}

/* --- values --------------------------------------------------------------------------------- */

/* In YAML 1.1, which Kubernetes reads, these words are bools; here they are strings. */
static bool old_bool(const struct node *node, bool *ret)
{
    static const char *const words[] = {"no",  "No",  "NO",  "off", "Off", "OFF",
                                        "yes", "Yes", "YES", "on",  "On",  "ON"};

    if (node->type != NODE_STRING || node->quoted)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(node->text, words[i]) == 0) {
            *ret = i >= ARRAY_SIZE(words) / 2;
            return true;
        }
    }
    return false;
}

/* What a word processor makes of " and '. */
static bool begins_with_quote(const char *text)
{
    static const char *const quotes[] = {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"};

    for (size_t i = 0; i < ARRAY_SIZE(quotes); i++)
        if (strncmp(text, quotes[i], strlen(quotes[i])) == 0)
            return true;
    return false;
}

bool bind_string(const struct binder *b, const char *name, const struct node *node,
                 const char **ret)
{
    bool as_bool;

    if (node->type != NODE_STRING) {
        bind_type_error(b, name, "a string", NULL, node);
        return false;
    }
    if (strlen(node->text) != node->len) {
        diag_at(b->ds, node, "E0215", NULL, "`%s` contains a NUL character", name);
        return false;
    }
    if (!node->quoted && begins_with_quote(node->text))
        diag_at(b->ds, node, "W0105", "use \" or ', or no quotes",
                "`%s` begins with a typographic quote, which becomes part of the value", name);
    if (old_bool(node, &as_bool))
        diag_at(b->ds, node, "W0102", arena_printf(b->a, "quote it: \"%s\"", node->text),
                "`%s` is read as a string; YAML 1.1 parsers read %s as %s", name, node->text,
                as_bool ? "true" : "false");
    *ret = node->text;
    return true;
}

bool bind_bool(const struct binder *b, const char *name, const struct node *node, bool *ret)
{
    const char *hint = NULL;

    if (node->type == NODE_BOOL) {
        *ret = node->i;
        return true;
    }
    if (old_bool(node, ret)) {
        diag_at(b->ds, node, "W0102", arena_printf(b->a, "write %s", *ret ? "true" : "false"),
                "`%s` should be true or false; %s is read as %s", name, node->text,
                *ret ? "true" : "false");
        return true;
    }
    if (node->type == NODE_STRING &&
        (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0))
        hint = "remove the quotes";
    bind_type_error(b, name, "true or false", hint, node);
    return false;
}

static bool bind_int(const struct binder *b, const struct bind_field *f, const struct node *node,
                     int32_t *ret)
{
    const char *text = node->text;

    if (node->type != NODE_INT) {
        bind_type_error(b, f->key, "an integer", NULL, node);
        return false;
    }
    if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        diag_at(b->ds, node, "W0103", "remove the leading zero",
                "`%s` is read as decimal %lld; YAML 1.1 parsers read a leading zero as octal",
                f->key, (long long)node->i);
    if (node->i < f->min || node->i > f->max) {
        if (f->max == INT32_MAX && node->i > f->max)
            diag_at(b->ds, node, "E0203", NULL, "`%s` must be at most %d, not %s", f->key, f->max,
                    text);
        else if (f->max == INT32_MAX)
            diag_at(b->ds, node, "E0203", NULL, "`%s` must be at least %d, not %s", f->key, f->min,
                    text);
        else
            diag_at(b->ds, node, "E0203", NULL, "`%s` must be from %d to %d, not %s", f->key,
                    f->min, f->max, text);
        return false;
    }
    *ret = (int32_t)node->i;
    return true;
}

bool bind_strings(const struct binder *b, const char *name, const struct node *node,
                  const char *const **ret)
{
    const char **list;
    bool fine = true;

    if (node->type != NODE_SEQ) {
        bind_type_error(b, name, "a list of strings", NULL, node);
        return false;
    }
    list = ARENA_ARRAY(b->a, const char *, node->n + 1);
    for (size_t i = 0; i < node->n; i++) {
        const char *item = arena_printf(b->a, "%s[%zu]", name, i);

        fine = bind_string(b, item, node->items[i], &list[i]) && fine;
    }
    if (fine)
        *ret = list;
    return fine;
}

/* --- mappings ------------------------------------------------------------------------------- */

struct any_list { /* the shape of every BIND_LIST */
    const void *v;
    size_t n;
};

static void fill(const struct binder *b, const struct bind_table *t, const struct node *map,
                 void *out);

static bool bind_structs(const struct binder *b, const struct bind_field *f,
                         const struct node *node, struct any_list *ret)
{
    size_t size = f->table->size;
    char *v;

    if (node->type != (f->by_name ? NODE_MAP : NODE_SEQ)) {
        bind_type_error(b, f->key, f->by_name ? "a mapping" : "a list", NULL, node);
        return false;
    }
    v = arena_calloc(b->a, node->n, size);
    ret->v = v;
    ret->n = 0;
    for (size_t i = 0; i < node->n; i++) {
        const struct node *item = f->by_name ? node->pairs[i].value : node->items[i];

        if (item->type != NODE_MAP)
            bind_type_error(b, f->by_name ? node->pairs[i].key->text : f->table->what, "a mapping",
                            NULL, item);
        else
            fill(b, f->table, item, v + ret->n++ * size);
    }
    return true;
}

static void bind_text(const struct binder *b, const struct bind_field *f, const struct node *node,
                      const char **ret)
{
    size_t n = 0;

    if (!bind_string(b, f->key, node, ret) || !f->words)
        return;
    while (f->words[n])
        n++;
    bind_word(b, node, f->key, *ret, f->words, n);
}

static void bind_field(const struct binder *b, const struct bind_field *f, const struct node *node,
                       void *out)
{
    void *target = (char *)out + f->offset;
    struct any_list list;

    switch (f->kind) {
    case BIND_STRING:
        bind_text(b, f, node, target);
        break;
    case BIND_INT:
        bind_int(b, f, node, target);
        break;
    case BIND_BOOL:
        bind_bool(b, f->key, node, target);
        break;
    case BIND_STRINGS:
        bind_strings(b, f->key, node, target);
        break;
    case BIND_STRUCT:
        if (node->type == NODE_MAP)
            memcpy(target, &(void *){bind_map(b, f->table, node)}, sizeof(void *));
        else
            bind_type_error(b, f->key, "a mapping",
                            node->type == NODE_SEQ ? NULL : scalar_hint(b, f->table, node), node);
        break;
    case BIND_STRUCTS:
        if (bind_structs(b, f, node, &list))
            memcpy(target, &list, sizeof(list));
        break;
    case BIND_NODE:
        *(const struct node **)target = node;
        break;
    case BIND_KNOWN:
        break;
    case BIND_NOTED:
        diag_at(b->ds, node_label(node), "N0301", NULL, "`%s` %s", f->key,
                f->why ? f->why : "has no effect in a local run");
        break;
    }
}

static bool is_empty(const struct bind_field *f, const struct node *node)
{
    return (node->type == (f->by_name ? NODE_MAP : NODE_SEQ) && node->n == 0) ||
           (node->type == NODE_STRING && node->len == 0);
}

static const struct bind_field *find_field(const struct bind_table *t, const char *key)
{
    for (size_t i = 0; i < t->n; i++) {
        if ((t->closed ? strcasecmp : strcmp)(t->fields[i].key, key) == 0)
            return &t->fields[i];
    }
    return NULL;
}

static void fill(const struct binder *b, const struct bind_table *t, const struct node *map,
                 void *out)
{
    *(const struct node **)out = map;
    for (size_t i = 0; i < t->n; i++) {
        const struct bind_field *f = &t->fields[i];

        if (f->kind == BIND_INT)
            *(int32_t *)((char *)out + f->offset) = f->def;
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct pair *p = &map->pairs[i];
        const struct bind_field *f = find_field(t, p->key->text);

        if (!f)
            report_unknown(b, t, p->key);
        else if (f->non_empty && is_empty(f, p->value))
            diag_at(b->ds, p->value, "E0104", NULL, "`%s` must not be empty", f->key);
        else if (p->value->type != NODE_NULL)
            bind_field(b, f, p->value, out);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->fields[i].required && node_absent(map, t->fields[i].key))
            bind_missing(b, map, t->what, t->fields[i].key, NULL);
    }
}

void *bind_map(const struct binder *b, const struct bind_table *table, const struct node *node)
{
    void *out;

    if (node->type != NODE_MAP) {
        bind_type_error(b, table->what, "a mapping", NULL, node);
        return NULL;
    }
    out = arena_alloc(b->a, table->size);
    fill(b, table, node, out);
    return out;
}
