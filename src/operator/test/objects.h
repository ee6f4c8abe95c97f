/* objects.h - objects of a cluster for tests of this room. */
#ifndef OPERATOR_TEST_OBJECTS_H
#define OPERATOR_TEST_OBJECTS_H

#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"
#include "operator/served.h"

static inline const struct node *object_of(struct arena *a, const char *text)
{
    struct doc doc;
    struct diags ds;

    diags_init(&ds, a);
    yaml_read(a, "object", text, strlen(text), &ds, &doc);
    ok(doc.n_roots == 1 && ds.n_errors == 0, "the object is read");
    diags_release(&ds);
    return doc.roots[0];
}

/* As the API server has it, from a file below t/operator. */
static inline const struct node *object_in(struct arena *a, const char *path)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct err e = {0};

    if (io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &sb, &e) < 0)
        tap_diag("%s", e.text);
    return object_of(a, sb.buf ? sb.buf : "");
}

static inline const struct served_kind *kind_of(const struct node *object)
{
    const char *api = node_text(node_get(object, "apiVersion"), "");
    const char *kind = node_text(node_get(object, "kind"), "");

    for (unsigned i = 0; i < n_served_kinds; i++) {
        size_t n = strlen(served_kinds[i].group);

        if (strncmp(api, served_kinds[i].group, n) == 0 && api[n] == '/' &&
            strcmp(kind, served_kinds[i].kind) == 0)
            return &served_kinds[i];
    }
    return NULL;
}

static inline void serve(struct arena *a, const struct operator_options *options,
                         const struct node *object, struct served *ret)
{
    struct err e = {0};

    *ret = (struct served){0};
    if (!is_int(served_read(a, kind_of(object), options, object, NULL, ret, &e), 0, "%s is read",
                node_text(node_find(object, "metadata", "name", NULL), "")))
        tap_diag("%s", e.text);
    if (ret->invalid)
        tap_diag("%s", ret->invalid);
}

#endif
