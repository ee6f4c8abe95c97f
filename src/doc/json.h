/* json.h - JSON writer: every JSON that leaves Muster is written here.
 *
 * A writer appends to a strbuf; the caller opens and closes, the writer places commas, newlines and
 * escapes. Strings with invalid UTF-8 come out with U+FFFD, so that the output is always valid
 * JSON.
 *
 *     struct json j = JSON_PRETTY(&sb);
 *     json_object(&j);
 *     json_kv_str(&j, "name", name);       NULL writes null
 *     json_key(&j, "replicas"); json_array(&j); json_int(&j, 3); json_end(&j);
 *     json_end(&j);
 */
#ifndef DOC_JSON_H
#define DOC_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/strbuf.h"

struct json {
    struct strbuf *out;
    bool pretty;
    int depth;
    char open[LIMIT_DEPTH]; /* '{' or '[' per level */
    bool first, after_key;
};

#define JSON_COMPACT(sb)                                                                           \
    {                                                                                              \
        .out = (sb), .first = true                                                                 \
    }
#define JSON_PRETTY(sb)                                                                            \
    {                                                                                              \
        .out = (sb), .pretty = true, .first = true                                                 \
    }

void json_object(struct json *j);
void json_array(struct json *j);
void json_end(struct json *j); /* closes the innermost one */
void json_key(struct json *j, const char *key);

void json_str(struct json *j, const char *s); /* NULL writes null */
void json_strn(struct json *j, const char *s, size_t n);
void json_int(struct json *j, int64_t i);
void json_double(struct json *j, double d); /* not finite: null */
void json_bool(struct json *j, bool b);
void json_null(struct json *j);

void json_kv_str(struct json *j, const char *key, const char *s);
void json_kv_int(struct json *j, const char *key, int64_t i);
void json_kv_bool(struct json *j, const char *key, bool b);
void json_kv_null(struct json *j, const char *key);

#endif
