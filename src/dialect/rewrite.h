/* rewrite.h - small mends of command text that its author surely meant, each told as a warning.
 *
 * Only whole words are touched; every other byte stays as it is written. With opts->keep_text the
 * warnings say what would be changed, and nothing is. A warning stands at the word's own place if
 * the text is the scalar's and the scalar has no escapes in it, else at the scalar.
 *
 * All functions return the text itself if there is nothing to change; else a new one in the arena,
 * or a part of it.
 */
#ifndef DIALECT_REWRITE_H
#define DIALECT_REWRITE_H

#include "dialect/dialect.h"

struct rewrite { /* where a command comes from */
    struct arena *a;
    struct diags *ds;
    const struct read_options *opts;
    const struct doc *doc; /* for places inside the scalar; NULL: all warnings are at `at` */
    const struct node *at; /* the command's scalar */
};

/* What Azure ML's own examples get wrong. A bare AZUREML_MPI_HOSTFILE, NODE_RANK, MASTER_ADDR or
 * MASTER_PORT that is an argument of its own becomes a reference to the variable (W0401), unless
 * names are what the command wants (export, mpirun -x). A `python` between the options of PyTorch's
 * launch utility and its script is dropped (W0402). */
const char *rewrite_command(const struct rewrite *rw, const char *text);

/* A command that begins with `sleep N`, N at least 60 seconds, and goes on: W0403. Dropped only if
 * opts->skip_start_sleep is set, whatever opts->keep_text says. */
const char *rewrite_start_sleep(const struct rewrite *rw, const char *text);

/* The place in the file of the byte at offset in the node's text, or the node's own place where
 * that cannot be told. doc may be NULL. */
struct pos rewrite_place(const struct doc *doc, const struct node *at, size_t offset);

#endif
