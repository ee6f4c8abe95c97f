/* same_document.c - do two files hold the same documents? Prints the path of everything that
 * differs, one per line with the document's number, and fails if there is any. Key order and style
 * do not count. */
#include <fcntl.h>
#include <stdio.h>

#include "base/io.h"
#include "base/limits.h"
#include "doc/json_read.h"
#include "doc/yaml.h"

static size_t n_differences;

static void differ(size_t number, const char *path)
{
    printf("%zu%s\n", number, path);
    n_differences++;
}

static void compare(struct arena *a, size_t number, const char *path, const struct node *x,
                    const struct node *y)
{
    if (x && y && x->type == NODE_MAP && y->type == NODE_MAP) {
        for (size_t i = 0; i < x->n; i++) {
            const char *key = x->pairs[i].key->text;

            compare(a, number, arena_printf(a, "%s.%s", path, key), x->pairs[i].value,
                    node_get(y, key));
        }
        for (size_t i = 0; i < y->n; i++) {
            const char *key = y->pairs[i].key->text;

            if (!node_get(x, key))
                differ(number, arena_printf(a, "%s.%s", path, key));
        }
    } else if (x && y && x->type == NODE_SEQ && y->type == NODE_SEQ && x->n == y->n) {
        for (size_t i = 0; i < x->n; i++)
            compare(a, number, arena_printf(a, "%s[%zu]", path, i), x->items[i], y->items[i]);
    } else if (!x || !y || !node_equal(x, y)) {
        differ(number, path);
    }
}

static bool read_file(struct arena *a, const char *path, struct doc *ret)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct diags ds;
    struct err e;
    bool fine;

    if (io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return false;
    }
    diags_init(&ds, a);
    if (json_looks_like(path, text.buf, text.len))
        json_read(a, path, text.buf, text.len, true, &ds, ret);
    else
        yaml_read(a, path, text.buf, text.len, &ds, ret);
    fine = !ret->broken;
    diags_release(&ds);
    return fine;
}

/* Empty documents do not count. */
static size_t without_empty(struct doc *doc)
{
    size_t n = 0;

    for (size_t i = 0; i < doc->n_roots; i++)
        if (doc->roots[i]->type != NODE_NULL)
            doc->roots[n++] = doc->roots[i];
    return n;
}

int main(int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct doc x, y;
    size_t n, m;

    if (argc != 3 || !read_file(a, argv[1], &x) || !read_file(a, argv[2], &y))
        return 2;
    n = without_empty(&x);
    m = without_empty(&y);
    for (size_t i = 0; i < n || i < m; i++)
        compare(a, i, "", i < n ? x.roots[i] : NULL, i < m ? y.roots[i] : NULL);
    return n_differences > 0;
}
