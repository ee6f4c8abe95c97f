/* json_cut.c - see json_cut.h. */
#include "api/json_cut.h"

#include <string.h>

/* The end of the string that begins at p; NULL: it has none. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end; p++) {
        if (*p == '\\')
            p++;
        else if (*p == '"')
            return p + 1;
    }
    return NULL;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* The '[' of the list. NULL: there is none. */
static const char *find_list(const char *p, const char *end, const char *key, int wanted)
{
    size_t n = strlen(key);
    int depth = 0; /* of objects */

    while (p && p < end) {
        if (*p == '{')
            depth++;
        else if (*p == '}')
            depth--;
        if (*p != '"') {
            p++;
            continue;
        }
        const char *name = p + 1, *after = string_end(p, end);
        p = after;
        if (!after || depth != wanted || (size_t)(after - 1 - name) != n ||
            memcmp(name, key, n) != 0)
            continue;
        after = skip_blanks(after, end);
        if (after == end || *after != ':')
            continue;
        after = skip_blanks(after + 1, end);
        return after < end && *after == '[' ? after : NULL;
    }
    return NULL;
}

/* The end of the item that begins at p: its ',' or the ']' of the list. */
static const char *item_end(const char *p, const char *end)
{
    int depth = 0;

    while (p && p < end) {
        if (depth == 0 && (*p == ',' || *p == ']'))
            return p;
        if (*p == '"') {
            p = string_end(p, end);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        if (depth < 0)
            return NULL;
        p++;
    }
    return NULL;
}

bool json_cut(const char *text, size_t len, const char *key, int depth, size_t from, size_t n,
              struct strbuf *out, size_t *ret_total)
{
    const char *end = text + len, *list = find_list(text, end, key, depth), *p;
    size_t i = 0, before = out->len;
    bool any = false;

    if (!list)
        return false;
    strbuf_add(out, text, (size_t)(list + 1 - text));
    p = skip_blanks(list + 1, end);
    for (; p < end && *p != ']'; i++) {
        const char *to = item_end(p, end);

        if (!to)
            break;
        if (i >= from && i - from < n) {
            if (any)
                strbuf_addch(out, ',');
            strbuf_add(out, p, (size_t)(to - p));
            any = true;
        }
        p = *to == ',' ? skip_blanks(to + 1, end) : to;
    }
    if (p == end || *p != ']') {
        strbuf_truncate(out, before);
        return false;
    }
    strbuf_add(out, p, (size_t)(end - p));
    *ret_total = i;
    return true;
}
