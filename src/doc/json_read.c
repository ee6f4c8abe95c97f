/* json_read.c - the structure of JSON: values, lists, objects, the document.
 *
 * A parser notices a fault where it can go no further; people made it before that: a comma that is
 * missing is missing behind the value above. So each collection remembers where its last value
 * ended.
 *
 * Not here: what is inside strings, numbers and words (json_text.c). */
#include "doc/json_read.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "doc/json_text.h"
#include "doc/text.h"

/* A list or an object that is being read. */
struct open {
    const struct node *node;
    const struct node *last; /* what a comma must follow, or NULL */
    const char *last_end;
    struct pos last_pos; /* its end's place */
    bool comma;          /* one has followed … */
    struct pos comma_pos;
};

static const char *collection(const struct node *node)
{
    return node->type == NODE_MAP ? "object" : "list";
}

static char closer(const struct node *node)
{
    return node->type == NODE_MAP ? '}' : ']';
}

/* --- what can be wrong between values -------------------------------------------------------- */

static void tell_end(struct json_in *in, const struct node *node)
{
    struct arena *a = in->b.a;
    int more = 0;

    for (const struct node *n = node->parent; n; n = n->parent)
        more++;
    if (!in->quiet)
        json_fault(in, json_pos(in), "E0124", arena_printf(a, "add `%c`", closer(node)),
                   arena_printf(a, "unexpected end of file: the %s opened at %u:%u is not closed%s",
                                collection(node), node->pos.line, node->pos.column,
                                more ? " (nor what contains it)" : ""));
    in->b.stop = true;
}

static void tell_wrong_closer(struct json_in *in, const struct node *node)
{
    struct arena *a = in->b.a;

    json_stop(in, json_pos(in), "E0128", arena_printf(a, "close it with `%c` first", closer(node)),
              arena_printf(a, "`%c` cannot close the %s opened at %u:%u", *in->p, collection(node),
                           node->pos.line, node->pos.column));
}

static void tell_missing_comma(struct json_in *in, const struct open *o)
{
    struct arena *a = in->b.a;
    struct pos here = json_pos(in);
    bool secret = strcmp(json_shown(in, o->last), "…") == 0;
    const char *after = secret ? node_type_words(o->last->type) : node_words(a, o->last);

    if (*in->p == ':') {
        json_stop(in, here, "E0120", NULL, "unexpected `:`");
    } else if (o->last->quoted && o->last_end == in->p && !strchr("\"[{", *in->p)) {
        struct pos quote = {o->last_pos.line, o->last_pos.column - 1};

        json_stop(in, quote, "E0125", "write \\\" for a quote inside a string",
                  "unexpected text after the end of the string");
    } else {
        json_fault(in, o->last_pos, "E0121", "add the comma",
                   arena_printf(a, "missing comma after %s (detected at %u:%u)", after, here.line,
                                here.column));
    }
}

/* Comes to the next item of an open collection; false if it is closed or nothing can be read. */
static bool next_item(struct json_in *in, struct open *o)
{
    char c;

    while ((c = json_blanks(in))) {
        if (c == ',' && o->last && !o->comma) {
            o->comma = true;
            o->comma_pos = json_pos(in);
            in->p++;
        } else if (c == ',') {
            json_fault(in, json_pos(in), "E0122", "remove it", "missing value before this comma");
            in->p++;
        } else if (c == '}' || c == ']') {
            if (c != closer(o->node))
                tell_wrong_closer(in, o->node);
            else if (o->comma)
                json_fault(in, o->comma_pos, "E0122", "remove the comma",
                           arena_printf(in->b.a, "expected a value after this comma, not `%c`", c));
            in->p++;
            return false;
        } else if (json_dots(in)) {
            o->last = NULL;
            o->comma = false;
            if (json_blanks(in) == ',')
                in->p++;
        } else {
            if (o->last && !o->comma)
                tell_missing_comma(in, o);
            o->comma = false;
            return !in->b.stop;
        }
    }
    if (!in->b.stop)
        tell_end(in, o->node);
    return false;
}

static void item_done(struct json_in *in, struct open *o, const struct node *item)
{
    o->last = item;
    o->last_end = in->p;
    o->last_pos = json_pos(in);
}

/* --- values --------------------------------------------------------------------------------- */

static struct node *read_value(struct json_in *in, const struct place *at);

static void read_list(struct json_in *in, const struct place *at, struct node *node)
{
    struct open o = {.node = node};
    struct nodes list = {0};

    in->p++;
    while (next_item(in, &o)) {
        struct place below = {node, NULL, list.n, at->depth + 1};

        build_add_item(&list, read_value(in, &below));
        item_done(in, &o, list.v[list.n - 1]);
    }
    build_seq(&in->b, node, &list);
}

/* A key, as far as it can be one; else the reader is stopped. */
static struct node *read_key(struct json_in *in, const struct place *below)
{
    static const char hint[] = "{{ … }} is template syntax; render the template first";
    struct pos pos = json_pos(in);
    struct node *key = build_node(&in->b, below, NODE_STRING, pos);

    if (*in->p == '"')
        json_string(in, key);
    else if (strchr("{[:", *in->p))
        json_stop(in, pos, "E0120", *in->p == '{' ? hint : NULL,
                  arena_printf(in->b.a, "expected a key in double quotes, not `%c`", *in->p));
    else
        json_word(in, key, "keys");
    key->parent_key = key->text;
    return key;
}

/* The colon after a key; false if no value follows. */
static bool read_colon(struct json_in *in, const struct node *key)
{
    struct pos after = json_pos(in);
    char c = json_blanks(in);
    const char *message;

    if (c == ':') {
        in->p++;
        c = json_blanks(in);
        if (c != ',' && c != '}')
            return c != '\0';
    } else if (c == '\0') {
        return false;
    } else if (c != ',' && c != '}') {
        message = arena_printf(in->b.a, "missing `:` after the key \"%.60s\"", key->text);
        json_fault(in, after, "E0131", NULL, message);
        while (in->p < in->end && (*in->p == '=' || *in->p == '>'))
            in->p++;
        c = json_blanks(in);
        return c && c != ',' && c != '}';
    }
    message = arena_printf(in->b.a, "the key \"%.60s\" has no value", key->text);
    json_fault(in, after, "E0131", "use `null` for an empty value", message);
    return false;
}

static void read_object(struct json_in *in, const struct place *at, struct node *node)
{
    struct place below = {node, "", 0, at->depth + 1};
    struct open o = {.node = node};
    struct pairs list = {0};
    struct key_set set;

    in->p++;
    while (next_item(in, &o)) {
        struct node *key = read_key(in, &below), *value;
        struct place value_at = {node, key->text, 0, below.depth};

        if (!in->b.stop && read_colon(in, key))
            value = read_value(in, &value_at);
        else
            value = build_node(&in->b, &value_at, NODE_NULL, key->pos);
        build_add_pair(&in->b, &list, key, value);
        item_done(in, &o, value);
    }
    set = key_set_new(list.n);
    build_unique(&in->b, &list, &set);
    free(set.slots);
    build_map(&in->b, node, &list);
}

/* The cursor is at the value's first character. */
static struct node *read_value(struct json_in *in, const struct place *at)
{
    enum node_type type = *in->p == '{' ? NODE_MAP : *in->p == '[' ? NODE_SEQ : NODE_NULL;
    struct node *node = build_node(&in->b, at, type, json_pos(in));

    if (in->b.stop)
        return node;
    switch (*in->p) {
    case '{':
        read_object(in, at, node);
        break;
    case '[':
        read_list(in, at, node);
        break;
    case '"':
        json_string(in, node);
        break;
    case ',':
    case ':':
    case ']':
    case '}':
        json_stop(in, node->pos, "E0120", NULL,
                  arena_printf(in->b.a, "expected a value, not `%c`", *in->p));
        break;
    default:
        if (!json_dots(in))
            json_word(in, node, "strings");
    }
    return node;
}

/* --- the document --------------------------------------------------------------------------- */

static void tell_rest(struct json_in *in, const struct node *root, char c)
{
    struct pos pos = json_pos(in);

    if (c == ':' && root->type == NODE_STRING)
        json_stop(in, pos, "E0129", "enclose it in { }, or move it into the job's object",
                  arena_printf(in->b.a, "property \"%.60s\" is outside of any object", root->text));
    else if (c == '}' || c == ']')
        json_stop(in, pos, "E0128", "remove it", arena_printf(in->b.a, "unmatched `%c`", c));
    else
        json_stop(in, pos, "E0129", "a JSON file contains exactly one value",
                  "unexpected text after the end of the document");
}

void json_read(struct arena *a, const char *file, const char *text, size_t len, bool comments,
               struct diags *ds, struct doc *ret)
{
    struct json_in in = {.comments = comments, .text = STRBUF_INIT};
    struct place top = {NULL, NULL, 0, 0};
    size_t good;
    char c;

    build_doc(a, file, &text, &len, 1, ret);
    in.b = (struct builder){.a = a, .ds = ds, .doc = ret};
    good = text_check(text, len, TEXT_JSON, ds);
    ret->broken = in.quiet = good < len;
    in.p = in.mark = ret->source;
    in.end = ret->source + good;
    in.mark_pos = (struct pos){1, 1};
    c = json_blanks(&in);
    if (c) {
        ret->roots[0] = read_value(&in, &top);
        c = json_blanks(&in);
        if (c)
            tell_rest(&in, ret->roots[0], c);
    } else {
        ret->roots[0] = build_node(&in.b, &top, NODE_NULL, (struct pos){1, 1});
        if (!in.quiet)
            json_fault(&in, (struct pos){1, 1}, "E0120", NULL, "expected a JSON value");
    }
    ret->n_roots = 1;
    strbuf_release(&in.text);
}

/* --- JSON or YAML? -------------------------------------------------------------------------- */

static bool ends_in(const char *file, const char *const *suffixes)
{
    const char *dot = strrchr(file, '.');

    for (; dot && *suffixes; suffixes++) {
        if (strcasecmp(dot, *suffixes) == 0)
            return true;
    }
    return false;
}

/* The first character that is no blank and in no comment, or '\0'. */
static char first_character(const char *p, const char *end)
{
    while (p < end) {
        const char *close;

        if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
            p += 3;
        } else if (strchr(" \t\r\n", *p) && *p) {
            p++;
        } else if (end - p >= 2 && p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
            const char *closing = p[1] == '/' ? "\n" : "*/";

            close = memmem(p + 2, (size_t)(end - p) - 2, closing, strlen(closing));
            p = close ? close + strlen(closing) : end;
        } else {
            return *p;
        }
    }
    return '\0';
}

const struct node *json_node(struct arena *a, const char *text, size_t len)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    json_read(a, "", text, len, false, &ds, &doc);
    diags_release(&ds);
    return doc.n_roots ? doc.roots[0] : NULL;
}

bool json_looks_like(const char *file, const char *text, size_t len)
{
    static const char *const json[] = {".json", ".jsonc", NULL};
    static const char *const yaml[] = {".yaml", ".yml", NULL};
    char first = len ? first_character(text, text + len) : '\0';

    if (!first || ends_in(file, yaml))
        return false;
    return first == '{' || first == '[' || ends_in(file, json);
}
