/* json_dump.c - reads JSON texts as job files are read and writes what came out of each, one line
 * per text, so that another reader of JSON can be compared with ours.
 *
 *     json_dump <TEXTS >LINES
 *
 * A text is its length in decimal, a newline and its bytes. A line is "reject CODE LINE:COLUMN"
 * with the first error, or "accept" and the tree in words: null true false iN fBITS sHEX [ ] { kHEX
 * }. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_read.h"

static void dump_bytes(char kind, const struct node *n)
{
    printf(" %c", kind);
    for (size_t i = 0; i < n->len; i++)
        printf("%02x", (unsigned char)n->text[i]);
}

static void dump(const struct node *n)
{
    uint64_t bits;

    switch (n->type) {
    case NODE_NULL:
        printf(" null");
        break;
    case NODE_BOOL:
        printf(n->i ? " true" : " false");
        break;
    case NODE_INT:
        printf(" i%" PRId64, n->i);
        break;
    case NODE_FLOAT:
        memcpy(&bits, &n->f, sizeof(bits));
        printf(" f%016" PRIx64, bits);
        break;
    case NODE_STRING:
        dump_bytes('s', n);
        break;
    case NODE_SEQ:
        printf(" [");
        for (size_t i = 0; i < n->n; i++)
            dump(n->items[i]);
        printf(" ]");
        break;
    case NODE_MAP:
        printf(" {");
        for (size_t i = 0; i < n->n; i++) {
            dump_bytes('k', n->pairs[i].key);
            dump(n->pairs[i].value);
        }
        printf(" }");
        break;
    }
}

static void read_one(const char *text, size_t len)
{
    auto_arena struct arena *a = arena_new();
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    json_read(a, "x.json", text, len, false, &ds, &doc);
    if (doc.broken && !ds.n_errors)
        abort();
    for (size_t i = 0; i < ds.n; i++) {
        const struct diag *d = &ds.v[i];

        if (d->severity != SEV_ERROR)
            continue;
        if (!doc.broken && strcmp(d->code, "E0007") != 0)
            abort(); /* a fault that leaves the document whole */
        printf("reject %s %u:%u\n", d->code, d->pos.line, d->pos.column);
        break;
    }
    if (!ds.n_errors) {
        printf("accept");
        dump(doc.roots[0]);
        putchar('\n');
    }
    diags_release(&ds);
}

int main(void)
{
    auto_free char *line = NULL;
    size_t cap = 0;

    while (getline(&line, &cap, stdin) > 0) {
        size_t len = strtoul(line, NULL, 10);
        auto_free char *text = xmalloc(len + 1);

        if (fread(text, 1, len, stdin) != len)
            return 1;
        read_one(text, len);
    }
    return 0;
}
