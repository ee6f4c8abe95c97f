/* job_file.c - fuzzes everything between a job file's bytes and its specs.
 *
 * Whatever the bytes are: no crash, no leak, every finding has a code and a text, and a spec comes
 * out if and only if there is no error. `make fuzz T=60`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dialect/registry.h"
#include "doc/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_diags(const struct doc *doc, struct diags *ds, FILE *null)
{
    diags_sort(ds);
    for (size_t i = 0; i < ds->n; i++) {
        if (!ds->v[i].pos.line || !ds->v[i].pos.column || !ds->v[i].message[0])
            abort();
        diag_print(null, "x", doc, &ds->v[i], i % 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    auto_arena struct arena *a = arena_new();
    struct diags ds;
    struct doc doc;

    if (!null)
        null = fopen("/dev/null", "we");
    diags_init(&ds, a);
    yaml_read(a, "x", (const char *)data, size, &ds, &doc);
    for (size_t i = 0; i < doc.n_roots; i++) {
        struct job_spec *spec = NULL;
        size_t before = ds.n_errors;

        dialect_sight(a, doc.roots[i]);
        if (t9k_mpi.lower(a, &(struct read_options){0}, &doc, doc.roots[i], &ds, &spec) ==
                VERDICT_ACCEPT &&
            (spec != NULL) != (ds.n_errors == before))
            abort();
        if (spec && (!spec->name || !spec->mpi->program || !spec->mpi->extra_args))
            abort();
    }
    check_diags(&doc, &ds, null);
    diags_release(&ds);
    return 0;
}
