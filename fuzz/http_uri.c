/* http_uri.c - fuzzes the reader of paths and queries, which come from the network.
 *
 * What is decoded has no NUL and is no longer than it was; a path has the form that it was
 * taken apart by; the first value of a key is that of the pairs. */
#include <string.h>

#include "common.h"
#include "http/http_uri.h"

struct first {
    const char *key;
    char value[1024];
    bool found;
};

static bool look(void *ctx, const char *key, const char *value)
{
    struct first *f = ctx;

    MUST(strlen(key) < 1024 && strlen(value) < 1024);
    if (strcmp(key, f->key) == 0 && !f->found) {
        (void)snprintf(f->value, sizeof(f->value), "%s", value);
        f->found = true;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *out = malloc(size + 1), a[32], b[32], *const seg[] = {a, b};
    struct first f = {.key = "a"};
    char value[1024];

    memcpy(text, data, size);
    text[size] = '\0';
    for (int plus = 0; plus < 2; plus++)
        if (http_decode(text, size, plus, out, size + 1))
            MUST(strlen(out) <= size);
    if (http_path_is(text, "/x/*/y/*", seg, 2, sizeof(a)))
        MUST(strncmp(text, "/x/", 3) == 0 && *a && *b && strlen(a) < 32 && strcmp(b, "..") != 0);
    bool whole = http_query_each(text, look, &f);
    int r = http_query(text, "a", value, sizeof(value));
    /* a key may be written with escapes, which a question for one key does not look at */
    if (whole && r > 0 && !strchr(text, '%'))
        MUST(f.found && strcmp(f.value, value) == 0);
    free(text);
    free(out);
    return 0;
}
