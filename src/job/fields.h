/* fields.h - the fields of a struct as keys of a JSON object, by a table: what the snapshot and the
 * journal write of the core's records, and read back.
 *
 * A field with its usual value (`absent`) is not written, and a key that is missing gives that
 * value. What is read may come from a damaged file: a value of the wrong type or out of its range
 * is refused.
 */
#ifndef JOB_FIELDS_H
#define JOB_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "doc/json.h"
#include "doc/tree.h"

enum field_type {
    FIELD_I64,
    FIELD_INT, /* int, int32_t */
    FIELD_U32, /* uint32_t, an enum */
    FIELD_BOOL,
    FIELD_CHARS, /* char [size]; absent: empty */
    FIELD_TEXT,  /* char *, or NULL */
};

struct field {
    const char *key;
    enum field_type type;
    size_t at, size;
    int64_t absent;
    int64_t max; /* FIELD_U32: the greatest value; 0: any */
};

/* F(struct proc, restarts, FIELD_U32, 0) */
#define F(type_, member, kind, absent_)                                                            \
    {                                                                                              \
        .key = #member, .type = (kind), .at = offsetof(type_, member),                             \
        .size = sizeof(((type_ *)0)->member), .absent = (absent_)                                  \
    }
/* An enum with its last value. */
#define F_ENUM(type_, member, last)                                                                \
    {                                                                                              \
        .key = #member, .type = FIELD_U32, .at = offsetof(type_, member),                          \
        .size = sizeof(((type_ *)0)->member), .max = (last)                                        \
    }

struct fields {
    const struct field *v;
    size_t n;
};
#define FIELDS(table)                                                                              \
    {                                                                                              \
        .v = (table), .n = sizeof(table) / sizeof((table)[0])                                      \
    }

extern const struct fields ending_fields, cause_fields; /* cause: without its ending */

/* Inside an open object. */
void fields_write(struct json *j, const struct fields *fields, const void *from);

/* NULL, or the first key whose value makes no sense; all fields are set in either case. Texts are
 * copied into a, or onto the heap if that is NULL. */
const char *fields_read(struct arena *a, const struct node *map, const struct fields *fields,
                        void *into);

struct cause;
struct ending;
void ending_write(struct json *j, const char *key, const struct ending *e); /* an object */
const char *ending_read(const struct node *map, struct ending *ret);
void cause_write(struct json *j, const char *key, const struct cause *c);
const char *cause_read(const struct node *map, struct cause *ret);

#endif
