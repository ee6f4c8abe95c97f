/* json_pick.c - see json_pick.h. */
#include "doc/json_pick.h"

#include <string.h>

#include "base/limits.h"

struct pick {
    const char *p, *end;
    struct strbuf *out;
};

static char blanks(struct pick *k)
{
    while (k->p < k->end && (*k->p == ' ' || *k->p == '\n' || *k->p == '\t' || *k->p == '\r'))
        k->p++;
    return k->p < k->end ? *k->p : '\0';
}

/* The cursor is at a quote, and then behind the closing one. */
static bool skip_string(struct pick *k)
{
    for (k->p++; k->p < k->end; k->p++) {
        if (*k->p == '"') {
            k->p++;
            return true;
        }
        if (*k->p == '\\' && k->p + 1 < k->end)
            k->p++;
    }
    return false;
}

static bool skip_collection(struct pick *k)
{
    size_t open = 0;

    while (k->p < k->end) {
        char c = *k->p;

        if (c == '"') {
            if (!skip_string(k))
                return false;
            continue;
        }
        k->p++;
        if (c == '{' || c == '[')
            open++;
        else if ((c == '}' || c == ']') && --open == 0)
            return true;
    }
    return false;
}

static bool skip_value(struct pick *k)
{
    char c = blanks(k);
    const char *begin = k->p;

    if (c == '"')
        return skip_string(k);
    if (c == '{' || c == '[')
        return skip_collection(k);
    while (k->p < k->end && !strchr(",]} \t\r\n", *k->p))
        k->p++;
    return k->p > begin;
}

static bool copy_value(struct pick *k)
{
    const char *begin = k->p;

    if (!skip_value(k))
        return false;
    strbuf_add(k->out, begin, (size_t)(k->p - begin));
    return true;
}

static bool pick_value(struct pick *k, const char *const *paths, int depth);

/* Of the paths those that go on below this key; true if one of them ends with it. */
static bool below_key(const char *const *paths, const char *key, size_t n, const char **ret)
{
    size_t found = 0;
    bool whole = false;

    for (; *paths && found < JSON_PICK_PATHS; paths++) {
        if (strcspn(*paths, ".") != n || memcmp(*paths, key, n) != 0)
            continue;
        if ((*paths)[n])
            ret[found++] = *paths + n + 1;
        else
            whole = true;
    }
    ret[found] = NULL;
    return whole;
}

static bool pick_member(struct pick *k, const char *const *paths, int depth, bool *first)
{
    const char *below[JSON_PICK_PATHS + 1], *key = k->p;
    size_t n;
    bool whole;

    if (*key != '"' || !skip_string(k))
        return false;
    n = (size_t)(k->p - key);
    whole = below_key(paths, key + 1, n - 2, below);
    if (blanks(k) != ':')
        return false;
    k->p++;
    (void)blanks(k);
    if (!whole && !below[0])
        return skip_value(k);
    if (!*first)
        strbuf_addch(k->out, ',');
    *first = false;
    strbuf_add(k->out, key, n);
    strbuf_addch(k->out, ':');
    return whole ? copy_value(k) : pick_value(k, below, depth);
}

static bool pick_collection(struct pick *k, const char *const *paths, int depth)
{
    bool is_object = *k->p == '{', first = true;
    char close = is_object ? '}' : ']', c;

    strbuf_addch(k->out, *k->p++);
    for (c = blanks(k); c != close; c = blanks(k)) {
        if (!is_object && !first)
            strbuf_addch(k->out, ',');
        if (c == '\0' ||
            !(is_object ? pick_member(k, paths, depth, &first) : pick_value(k, paths, depth)))
            return false;
        first = first && is_object;
        c = blanks(k);
        if (c == ',')
            k->p++;
        else if (c != close)
            return false;
    }
    k->p++;
    strbuf_addch(k->out, close);
    return true;
}

static bool pick_value(struct pick *k, const char *const *paths, int depth)
{
    char c = blanks(k);

    if (c != '{' && c != '[')
        return copy_value(k);
    return depth < LIMIT_DEPTH && pick_collection(k, paths, depth + 1);
}

bool json_pick(const char *text, size_t n, const char *const *paths, struct strbuf *out)
{
    struct pick k = {text, text + n, out};
    size_t before = out->len;

    if (pick_value(&k, paths, 0) && blanks(&k) == '\0' && k.p == k.end)
        return true;
    strbuf_truncate(out, before);
    return false;
}
