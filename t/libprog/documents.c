/* documents.c - job files as Muster reads them, in JSON, for other readers of JSON.
 *
 *     documents FILE…
 *
 * One line per document that is a job of a dialect: the file, the dialect's id and the document,
 * with a tab between them. */
#include <fcntl.h>
#include <stdio.h>

#include "base/io.h"
#include "base/limits.h"
#include "dialect/registry.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/yaml.h"

static void write_node(struct json *j, const struct node *n)
{
    switch (n->type) {
    case NODE_NULL:
        json_null(j);
        break;
    case NODE_BOOL:
        json_bool(j, n->i);
        break;
    case NODE_INT:
        json_int(j, n->i);
        break;
    case NODE_FLOAT:
        json_double(j, n->f);
        break;
    case NODE_STRING:
        json_strn(j, n->text, n->len);
        break;
    case NODE_SEQ:
        json_array(j);
        for (size_t i = 0; i < n->n; i++)
            write_node(j, n->items[i]);
        json_end(j);
        break;
    case NODE_MAP:
        json_object(j);
        for (size_t i = 0; i < n->n; i++) {
            json_key(j, n->pairs[i].key->text);
            write_node(j, n->pairs[i].value);
        }
        json_end(j);
        break;
    }
}

static int read_file(const char *path)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct diags ds;
    struct doc doc;
    struct err e;

    if (io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    diags_init(&ds, a);
    if (json_looks_like(path, text.buf, text.len))
        json_read(a, path, text.buf, text.len, true, &ds, &doc);
    else
        yaml_read(a, path, text.buf, text.len, &ds, &doc);
    for (size_t i = 0; i < doc.n_roots; i++) {
        struct sighting s = dialect_sight(a, doc.roots[i]);
        auto_strbuf struct strbuf out = STRBUF_INIT;
        struct json j = JSON_COMPACT(&out);

        if (!s.dialect)
            continue;
        write_node(&j, doc.roots[i]);
        printf("%s\t%s\t%s\n", path, s.id, out.buf);
    }
    diags_release(&ds);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= read_file(argv[i]);
    return failed;
}
