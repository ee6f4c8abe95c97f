/* schema_json.c - a JSON Schema from bind tables.
 *
 * Each table is a definition. A value is one object with the types it may have and the limits of
 * each (JSON Schema applies a limit only to the type it is for), beside it, where there are any,
 * the words it may be and the definition it may follow. A key without a value counts as absent, so
 * that null is fine wherever a key may be absent. */
#include <ctype.h>
#include <string.h>

#include "doc/schema.h"

struct schema {
    struct json *j;
    const struct schema_part *parts;
    size_t n;
};

/* What of a value is written as types. */
struct shape {
    unsigned takes; /* enum bind_takes; words and tables are taken out of it */
    bool any, null;
    const char *const *words;
    const struct bind_table *table; /* a mapping by it */
};

static const char *name_of(const struct schema *s, const struct bind_table *t)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->parts[i].table == t)
            return s->parts[i].name;
    }
    return "";
}

static void write_ref(const struct schema *s, const struct bind_table *t)
{
    auto_strbuf struct strbuf ref = STRBUF_INIT;

    strbuf_addf(&ref, "#/definitions/%s", name_of(s, t));
    json_kv_str(s->j, "$ref", ref.buf);
}

static struct shape shape_of(const struct bind_field *f)
{
    struct shape sh = {.takes = schema_takes(f), .null = !f->required};

    sh.any = sh.takes == 0;
    if ((sh.takes & TAKES_STRING) && f->words) {
        sh.takes &= ~(unsigned)TAKES_STRING;
        sh.words = f->words;
    }
    if ((sh.takes & TAKES_MAP) && f->table) {
        sh.takes &= ~(unsigned)TAKES_MAP;
        sh.table = f->table;
    }
    return sh;
}

/* --- one value ------------------------------------------------------------------------------ */

static void write_items(const struct schema *s, const struct bind_field *f, unsigned takes)
{
    if (takes & TAKES_STRINGS) {
        json_key(s->j, "items");
        json_object(s->j);
        json_kv_str(s->j, "type", "string");
        json_end(s->j);
    } else if ((takes & TAKES_LIST) && f->table) {
        json_key(s->j, "items");
        json_object(s->j);
        write_ref(s, f->table);
        json_end(s->j);
    }
}

static void write_limits(const struct schema *s, const struct bind_field *f, unsigned takes)
{
    if ((takes & TAKES_INT) && (f->kind == BIND_INT || f->min < f->max)) {
        json_kv_int(s->j, "minimum", f->min);
        if (f->max != INT32_MAX)
            json_kv_int(s->j, "maximum", f->max);
        if (f->kind == BIND_INT && f->def >= f->min && f->def <= f->max)
            json_kv_int(s->j, "default", f->def);
    }
    if (f->non_empty && (takes & TAKES_STRING))
        json_kv_int(s->j, "minLength", 1);
    if (f->non_empty && (takes & (TAKES_STRINGS | TAKES_LIST)))
        json_kv_int(s->j, "minItems", 1);
}

static void write_types(const struct schema *s, const struct bind_field *f, unsigned takes,
                        bool null)
{
    static const struct {
        unsigned takes;
        const char *type;
    } types[] = {
        {TAKES_STRING, "string"},
        {TAKES_NUMBER, "number"},
        {TAKES_INT, "integer"},
        {TAKES_BOOL, "boolean"},
        {TAKES_STRINGS | TAKES_LIST, "array"},
        {TAKES_MAP, "object"},
    };
    const char *names[ARRAY_SIZE(types) + 1];
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (takes & types[i].takes)
            names[n++] = types[i].type;
    }
    if (null)
        names[n++] = "null";
    json_key(s->j, "type");
    if (n > 1)
        json_array(s->j);
    for (size_t i = 0; i < n; i++)
        json_str(s->j, names[i]);
    if (n > 1)
        json_end(s->j);
    write_limits(s, f, takes);
    write_items(s, f, takes);
}

static void write_words(const struct schema *s, const char *const *words, bool null)
{
    json_key(s->j, "enum");
    json_array(s->j);
    for (; *words; words++)
        json_str(s->j, *words);
    if (null)
        json_null(s->j);
    json_end(s->j);
}

/* Inside an open object. What stands beside $ref is ignored, so that it is never alone there. */
static void write_value(const struct schema *s, const struct bind_field *f, struct shape sh)
{
    bool only_words = sh.words && !sh.takes && !sh.table;
    bool types = sh.takes || (sh.null && !only_words);
    bool several = types + (sh.words != NULL) + (sh.table != NULL) > 1 || sh.table;

    if (sh.any)
        return;
    if (several) {
        json_key(s->j, "anyOf");
        json_array(s->j);
    }
    for (int i = 0; i < 3; i++) {
        if (!(i == 0 ? types : i == 1 ? sh.words != NULL : sh.table != NULL))
            continue;
        if (several)
            json_object(s->j);
        if (i == 0)
            write_types(s, f, sh.takes, sh.null);
        else if (i == 1)
            write_words(s, sh.words, sh.null && only_words);
        else
            write_ref(s, sh.table);
        if (several)
            json_end(s->j);
    }
    if (several)
        json_end(s->j);
}

static void write_description(const struct schema *s, const struct bind_field *f)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (f->doc)
        strbuf_addstr(&text, f->doc);
    if (f->kind == BIND_NOTED)
        strbuf_addf(&text, "%sIgnored: it %s.", text.len ? " " : "",
                    f->why ? f->why : "has no effect in a local run");
    if (text.len)
        json_kv_str(s->j, "description", text.buf);
}

static void write_field(const struct schema *s, const struct bind_field *f)
{
    struct shape sh = shape_of(f);

    json_object(s->j);
    write_description(s, f);
    if (f->by_name) { /* the shape is that of each value */
        bool null = sh.null;

        sh.null = f->kind == BIND_NODE;
        write_types(s, &(struct bind_field){.kind = BIND_KNOWN}, TAKES_MAP, null);
        if (f->non_empty)
            json_kv_int(s->j, "minProperties", 1);
        json_key(s->j, "additionalProperties");
        json_object(s->j);
        write_value(s, f, sh);
        json_end(s->j);
    } else {
        write_value(s, f, sh);
    }
    json_end(s->j);
}

/* --- mappings ------------------------------------------------------------------------------- */

/* "^[Pp][Ss]$": a key that counts in any case */
static void write_pattern(const struct schema *s, const char *key)
{
    auto_strbuf struct strbuf pattern = STRBUF_INIT;

    strbuf_addch(&pattern, '^');
    for (; *key; key++)
        strbuf_addf(&pattern, "[%c%c]", toupper((unsigned char)*key), tolower((unsigned char)*key));
    strbuf_addch(&pattern, '$');
    json_key(s->j, pattern.buf);
}

static void write_table(const struct schema *s, const struct bind_table *t)
{
    bool required = false;

    json_kv_str(s->j, "type", "object");
    json_key(s->j, t->closed ? "patternProperties" : "properties");
    json_object(s->j);
    for (size_t i = 0; i < t->n; i++) {
        if (t->closed)
            write_pattern(s, t->fields[i].key);
        else
            json_key(s->j, t->fields[i].key);
        write_field(s, &t->fields[i]);
        required = required || t->fields[i].required;
    }
    json_end(s->j);
    if (required) {
        json_key(s->j, "required");
        json_array(s->j);
        for (size_t i = 0; i < t->n; i++) {
            if (t->fields[i].required)
                json_str(s->j, t->fields[i].key);
        }
        json_end(s->j);
    }
    if (!t->lenient)
        json_kv_bool(s->j, "additionalProperties", false);
}

void schema_json(struct json *j, const struct bind_table *root, const char *title)
{
    auto_arena struct arena *a = arena_new();
    struct schema_part parts[SCHEMA_PARTS_MAX];
    const struct schema s = {j, parts, schema_parts(a, root, parts)};

    json_object(j);
    json_kv_str(j, "$schema", "http://json-schema.org/draft-07/schema#");
    json_kv_str(j, "title", title);
    write_table(&s, root);
    json_key(j, "definitions");
    json_object(j);
    for (size_t i = 1; i < s.n; i++) {
        json_key(j, parts[i].name);
        json_object(j);
        write_table(&s, parts[i].table);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}
