/* json.c - the JSON writer. Well-formedness is the writer's business, so misuse (a value without
 * its key, an end too many) is a bug of the caller's and asserted.
 *
 * Not here: reading JSON. */
#include "doc/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void newline(struct json *j)
{
    static const char spaces[] = "\n                "; /* as deep as most documents are */
    const size_t most = sizeof(spaces) - 1;
    size_t n = 1 + 2 * (size_t)j->depth;

    if (!j->pretty)
        return;
    strbuf_add(j->out, spaces, n < most ? n : most);
    for (; n > most; n -= 2)
        strbuf_add(j->out, "  ", 2);
}

/* What stands between this item and what came before it. */
static void separate(struct json *j)
{
    if (!j->first)
        strbuf_addch(j->out, ',');
    if (j->depth > 0)
        newline(j);
    j->first = false;
}

static void value(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    assert(j->depth == 0 || j->open[j->depth - 1] == '[');
    separate(j);
}

static void begin(struct json *j, char bracket)
{
    value(j);
    assert(j->depth < LIMIT_DEPTH);
    strbuf_addch(j->out, bracket);
    j->open[j->depth++] = bracket;
    j->first = true;
}

void json_object(struct json *j)
{
    begin(j, '{');
}

void json_array(struct json *j)
{
    begin(j, '[');
}

void json_end(struct json *j)
{
    assert(j->depth > 0 && !j->after_key);
    j->depth--;
    if (!j->first)
        newline(j);
    strbuf_addch(j->out, j->open[j->depth] == '{' ? '}' : ']');
    j->first = false;
}

static void add_char(struct strbuf *out, uint32_t c, const char *bytes, size_t len)
{
    static const char letters[] = "btn\0fr"; /* from 8 on; 11 has none */

    if (c == '"' || c == '\\') {
        strbuf_addch(out, '\\');
        strbuf_addch(out, (char)c);
    } else if (c >= 8 && c <= 13 && c != 11) {
        strbuf_addch(out, '\\');
        strbuf_addch(out, letters[c - 8]);
    } else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
        strbuf_addf(out, "\\u%04x", c); /* DEL and C1 too: the text may reach a terminal */
    } else {
        strbuf_add(out, bytes, len);
    }
}

/* How many bytes from s on stand for themselves: nearly all there are, so they go in one piece. */
static size_t plain(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

static void add_string(struct strbuf *out, const char *s, size_t n)
{
    strbuf_addch(out, '"');
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c;

        len = plain(s + i, n - i);
        if (len) {
            strbuf_add(out, s + i, len);
            continue;
        }
        len = utf8_decode(s + i, n - i, &c);
        if (len) {
            add_char(out, c, s + i, len);
        } else {
            strbuf_addstr(out, "\xef\xbf\xbd");
            len = 1;
        }
    }
    strbuf_addch(out, '"');
}

void json_key(struct json *j, const char *key)
{
    assert(j->depth > 0 && j->open[j->depth - 1] == '{' && !j->after_key);
    separate(j);
    add_string(j->out, key, strlen(key));
    strbuf_addstr(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
}

void json_strn(struct json *j, const char *s, size_t n)
{
    value(j);
    add_string(j->out, s, n);
}

void json_str(struct json *j, const char *s)
{
    if (s)
        json_strn(j, s, strlen(s));
    else
        json_null(j);
}

void json_int(struct json *j, int64_t i)
{
    value(j);
    strbuf_addf(j->out, "%lld", (long long)i);
}

void json_double(struct json *j, double d)
{
    if (!isfinite(d)) {
        json_null(j);
        return;
    }
    value(j);
    strbuf_addf(j->out, "%.17g", d);
}

void json_bool(struct json *j, bool b)
{
    value(j);
    strbuf_addstr(j->out, b ? "true" : "false");
}

void json_null(struct json *j)
{
    value(j);
    strbuf_addstr(j->out, "null");
}

void json_kv_str(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s);
}

void json_kv_int(struct json *j, const char *key, int64_t i)
{
    json_key(j, key);
    json_int(j, i);
}

void json_kv_bool(struct json *j, const char *key, bool b)
{
    json_key(j, key);
    json_bool(j, b);
}

void json_kv_null(struct json *j, const char *key)
{
    json_key(j, key);
    json_null(j);
}
