/* http_uri.c - see http_uri.h. */
#include "http/http_uri.h"

#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool http_decode(const char *text, size_t n, bool plus, char *out, size_t room)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (c == '%') {
            int high = n - i > 2 ? digit(text[i + 1]) : -1;
            int low = n - i > 2 ? digit(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (c == '\0' || len + 1 >= room)
            return false;
        out[len++] = c;
    }
    if (room == 0)
        return false;
    out[len] = '\0';
    return true;
}

static bool is_dots(const char *text)
{
    return strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
}

bool http_path_is(const char *path, const char *form, char *const *out, size_t most, size_t room)
{
    size_t used = 0;

    for (;;) {
        size_t n = strcspn(path, "/"), m = strcspn(form, "/");

        if (m == 1 && *form == '*') {
            if (n == 0 || used == most || !http_decode(path, n, false, out[used], room) ||
                is_dots(out[used]))
                return false;
            used++;
        } else if (n != m || memcmp(path, form, n) != 0) {
            return false;
        }
        if (path[n] != form[m])
            return false;
        if (!path[n])
            return true;
        path += n + 1;
        form += m + 1;
    }
}

enum { TEXT = 1024 };

bool http_query_each(const char *query, bool (*fn)(void *ctx, const char *key, const char *value),
                     void *ctx)
{
    while (*query) {
        char key[TEXT], value[TEXT];
        size_t n = strcspn(query, "&"), k = strcspn(query, "&=");
        const char *text = k < n ? query + k + 1 : query + n;

        if (n > 0 && (!http_decode(query, k, true, key, sizeof(key)) ||
                      !http_decode(text, (size_t)(query + n - text), true, value, sizeof(value)) ||
                      !fn(ctx, key, value)))
            return false;
        query += n + (query[n] == '&');
    }
    return true;
}

int http_query(const char *query, const char *key, char *out, size_t room)
{
    size_t len = strlen(key);

    while (*query) {
        size_t n = strcspn(query, "&"), k = strcspn(query, "&=");

        if (k == len && memcmp(query, key, len) == 0) {
            const char *text = k < n ? query + k + 1 : query + n;

            return http_decode(text, (size_t)(query + n - text), true, out, room) ? 1 : -1;
        }
        query += n + (query[n] == '&');
    }
    return 0;
}
