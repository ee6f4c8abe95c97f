/* common.h - what the fuzzers share. Everything here aborts where something is not as it must be.
 */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "doc/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Every finding has a code, a place and a text, and can be shown. */
static inline void check_diags(const struct doc *doc, struct diags *ds)
{
    static FILE *null;

    if (!null)
        null = fopen("/dev/null", "we");
    MUST(null);
    diags_sort(ds);
    for (size_t i = 0; i < ds->n; i++) {
        MUST(ds->v[i].pos.line && ds->v[i].pos.column && ds->v[i].message[0]);
        diag_print(null, "x", doc, &ds->v[i], i % 2);
    }
    rewind(null);
}

/* Every node of a tree knows its parent; positions are there. */
static inline void check_tree(const struct node *node)
{
    MUST(node->pos.line && node->pos.column && node->text);
    for (size_t i = 0; i < node->n; i++) {
        const struct node *child = node->type == NODE_SEQ ? node->items[i] : node->pairs[i].value;

        MUST(child->parent == node);
        MUST(node->type == NODE_SEQ ? child->index == i
                                    : child->parent_key && node->pairs[i].key->parent == node);
        check_tree(child);
    }
}

#endif
