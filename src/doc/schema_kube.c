/* schema_kube.c - a structural schema from bind tables, for the definition of a kind in a cluster.
 *
 * An API server knows less of JSON Schema than editors do: every value has one type, and nothing is
 * referred to. What may be a short or a long form is left open there (the tables judge it), and so
 * are keys that no table has: an API server would drop them without a word, `muster validate` and
 * the webhook name them. */
#include <string.h>

#include "base/limits.h"
#include "doc/schema.h"

static void write_value(struct json *j, const struct bind_field *f, unsigned takes, int depth);

static void put_open(struct json *j)
{
    json_kv_bool(j, "x-kubernetes-preserve-unknown-fields", true);
}

static void write_fields(struct json *j, const struct bind_table *t, const char *but, int depth)
{
    bool required = false;

    json_kv_str(j, "type", "object");
    put_open(j);
    json_key(j, "properties");
    json_object(j);
    for (size_t i = 0; i < t->n; i++) {
        const struct bind_field *f = &t->fields[i];

        if (but && strcmp(f->key, but) == 0)
            continue;
        required |= f->required;
        json_key(j, f->key);
        json_object(j);
        if (f->doc)
            json_kv_str(j, "description", f->doc);
        if (f->by_name) {
            json_kv_str(j, "type", "object");
            if (f->non_empty)
                json_kv_int(j, "minProperties", 1);
            json_key(j, "additionalProperties");
            json_object(j);
            write_value(j, f, schema_takes(f), depth + 1);
            json_end(j);
        } else {
            write_value(j, f, schema_takes(f), depth + 1);
        }
        if (!f->required)
            json_kv_bool(j, "nullable", true);
        json_end(j);
    }
    json_end(j);
    if (!required)
        return;
    json_key(j, "required");
    json_array(j);
    for (size_t i = 0; i < t->n; i++)
        if (t->fields[i].required && !(but && strcmp(t->fields[i].key, but) == 0))
            json_str(j, t->fields[i].key);
    json_end(j);
}

static void write_words(struct json *j, const struct bind_field *f)
{
    json_kv_str(j, "type", "string");
    if (!f->words)
        return;
    json_key(j, "enum");
    json_array(j);
    for (const char *const *word = f->words; *word; word++)
        json_str(j, *word);
    if (!f->required)
        json_null(j);
    json_end(j);
}

static void write_int(struct json *j, const struct bind_field *f)
{
    json_kv_str(j, "type", "integer");
    if (f->kind != BIND_INT && f->min >= f->max)
        return;
    json_kv_int(j, "minimum", f->min);
    if (f->max != INT32_MAX)
        json_kv_int(j, "maximum", f->max);
}

static void write_list(struct json *j, const struct bind_field *f, bool texts, int depth)
{
    json_kv_str(j, "type", "array");
    json_key(j, "items");
    json_object(j);
    if (texts)
        json_kv_str(j, "type", "string");
    else if (f->table && depth < LIMIT_DEPTH)
        write_fields(j, f->table, NULL, depth + 1);
    else
        put_open(j);
    json_end(j);
}

/* Inside an open object. */
static void write_value(struct json *j, const struct bind_field *f, unsigned takes, int depth)
{
    switch (takes) {
    case TAKES_STRING:
        write_words(j, f);
        break;
    case TAKES_INT:
        write_int(j, f);
        break;
    case TAKES_NUMBER:
        json_kv_str(j, "type", "number");
        break;
    case TAKES_BOOL:
        json_kv_str(j, "type", "boolean");
        break;
    case TAKES_STRINGS:
        write_list(j, f, true, depth);
        break;
    case TAKES_LIST:
        write_list(j, f, false, depth);
        break;
    case TAKES_INT | TAKES_STRING:
        json_kv_bool(j, "x-kubernetes-int-or-string", true);
        break;
    case TAKES_MAP:
        if (f->table && depth < LIMIT_DEPTH) {
            write_fields(j, f->table, NULL, depth + 1);
            break;
        }
        json_kv_str(j, "type", "object");
        put_open(j);
        break;
    default:
        put_open(j);
        break;
    }
}

void schema_kube(struct json *j, const struct bind_table *root, const char *but)
{
    json_object(j);
    write_fields(j, root, but, 0);
    json_end(j);
}
