/* fields.c - see fields.h. */
#include "job/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"

static const struct field ending_table[] = {
    F(struct ending, at, FIELD_I64, 0),           F(struct ending, known, FIELD_BOOL, 0),
    F(struct ending, code, FIELD_INT, -1),        F(struct ending, signal, FIELD_INT, 0),
    F_ENUM(struct ending, fate, CAUSE_LAST),      F(struct ending, exec_errno, FIELD_INT, 0),
    F(struct ending, exec_what, FIELD_CHARS, 0),  F(struct ending, program, FIELD_CHARS, 0),
    F(struct ending, init, FIELD_CHARS, 0),       F(struct ending, told, FIELD_I64, 0),
    F(struct ending, left, FIELD_CHARS, 0),       F(struct ending, unobserved, FIELD_BOOL, 0),
    F(struct ending, by_itself, FIELD_BOOL, 0),   F(struct ending, oom, FIELD_BOOL, 0),
    F(struct ending, oom_nearby, FIELD_BOOL, 0),  F(struct ending, oom_in, FIELD_U32, 0),
    F(struct ending, max_rss, FIELD_I64, -1),     F(struct ending, memory_limit, FIELD_I64, -1),
    F(struct ending, memory_peak, FIELD_I64, -1), F(struct ending, memory_of, FIELD_CHARS, 0),
    F(struct ending, shm_size, FIELD_I64, 0),     F(struct ending, shm_free, FIELD_I64, 0),
};
const struct fields ending_fields = FIELDS(ending_table);

static const struct field cause_table[] = {
    F(struct cause, replica, FIELD_INT, -1), F(struct cause, rank, FIELD_INT, -1),
    F(struct cause, process, FIELD_INT, -1), F(struct cause, launch, FIELD_INT, -1),
    F_ENUM(struct cause, blame, BLAME_LAST), F(struct cause, exit_code, FIELD_INT, 0),
};
const struct fields cause_fields = FIELDS(cause_table);

static int64_t number_at(const struct field *f, const void *from)
{
    const char *p = (const char *)from + f->at;
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    bool b;

    switch (f->type) {
    case FIELD_I64:
        memcpy(&i64, p, sizeof(i64));
        return i64;
    case FIELD_INT:
        memcpy(&i32, p, sizeof(i32));
        return i32;
    case FIELD_U32:
        memcpy(&u32, p, sizeof(u32));
        return u32;
    default:
        memcpy(&b, p, sizeof(b));
        return b;
    }
}

static void set_number(const struct field *f, void *into, int64_t value)
{
    char *p = (char *)into + f->at;
    int32_t i32 = (int32_t)value;
    uint32_t u32 = (uint32_t)value;
    bool b = value != 0;

    switch (f->type) {
    case FIELD_I64:
        memcpy(p, &value, sizeof(value));
        break;
    case FIELD_INT:
        memcpy(p, &i32, sizeof(i32));
        break;
    case FIELD_U32:
        memcpy(p, &u32, sizeof(u32));
        break;
    default:
        memcpy(p, &b, sizeof(b));
        break;
    }
}

static const char *text_at(const struct field *f, const void *from)
{
    const char *p = (const char *)from + f->at, *text;

    if (f->type == FIELD_CHARS)
        return *p ? p : NULL;
    memcpy(&text, p, sizeof(text));
    return text;
}

static void set_text(struct arena *a, const struct field *f, void *into, const char *text)
{
    char *p = (char *)into + f->at;
    char *copy = NULL;

    if (f->type == FIELD_CHARS) {
        (void)snprintf(p, f->size, "%s", text ? text : "");
        return;
    }
    if (text)
        copy = a ? arena_strdup(a, text) : xstrdup(text);
    memcpy(p, &copy, sizeof(copy));
}

static bool is_text(const struct field *f)
{
    return f->type == FIELD_CHARS || f->type == FIELD_TEXT;
}

void fields_write(struct json *j, const struct fields *fields, const void *from)
{
    for (size_t i = 0; i < fields->n; i++) {
        const struct field *f = &fields->v[i];

        if (is_text(f)) {
            if (text_at(f, from))
                json_kv_str(j, f->key, text_at(f, from));
            continue;
        }
        int64_t value = number_at(f, from);
        if (value == f->absent)
            continue;
        if (f->type == FIELD_BOOL)
            json_kv_bool(j, f->key, value != 0);
        else
            json_kv_int(j, f->key, value);
    }
}

static bool fits(const struct field *f, const struct node *n)
{
    switch (f->type) {
    case FIELD_I64:
        return n->type == NODE_INT;
    case FIELD_INT:
        return n->type == NODE_INT && n->i >= INT32_MIN && n->i <= INT32_MAX;
    case FIELD_U32:
        return n->type == NODE_INT && n->i >= 0 && n->i <= (f->max ? f->max : UINT32_MAX);
    case FIELD_BOOL:
        return n->type == NODE_BOOL;
    default:
        return n->type == NODE_STRING;
    }
}

const char *fields_read(struct arena *a, const struct node *map, const struct fields *fields,
                        void *into)
{
    const char *bad = NULL;

    for (size_t i = 0; i < fields->n; i++) {
        const struct field *f = &fields->v[i];
        const struct node *n = node_get(map, f->key);
        bool good = n && fits(f, n);

        if (n && !good && !bad)
            bad = f->key;
        if (is_text(f))
            set_text(a, f, into, good ? n->text : NULL);
        else
            set_number(f, into, good ? n->i : f->absent);
    }
    return bad;
}

void ending_write(struct json *j, const char *key, const struct ending *e)
{
    json_key(j, key);
    json_object(j);
    fields_write(j, &ending_fields, e);
    json_end(j);
}

const char *ending_read(const struct node *map, struct ending *ret)
{
    return fields_read(NULL, map, &ending_fields, ret);
}

/* Its kind by name: a later Muster may have other numbers. */
void cause_write(struct json *j, const char *key, const struct cause *c)
{
    json_key(j, key);
    json_object(j);
    json_kv_str(j, "kind", cause_kind_name(c->kind));
    fields_write(j, &cause_fields, c);
    ending_write(j, "end", &c->end);
    json_end(j);
}

const char *cause_read(const struct node *map, struct cause *ret)
{
    const struct node *kind = node_get(map, "kind");
    const char *bad = fields_read(NULL, map, &cause_fields, ret);

    if (bad || (bad = ending_read(node_get(map, "end"), &ret->end)))
        return bad;
    for (int k = 0; kind && kind->type == NODE_STRING && k <= CAUSE_LAST; k++)
        if (strcmp(kind->text, cause_kind_name((enum cause_kind)k)) == 0) {
            ret->kind = (enum cause_kind)k;
            return NULL;
        }
    return "kind";
}
