/* diag.h - what is wrong with a job file, collected and shown like a compiler does.
 *
 * A reader adds every problem it finds and goes on; the caller looks at n_errors in the end. Codes
 * are stable: once given, a code keeps its meaning (doc/diagnostics.md lists them). Messages are
 * one sentence without a full stop, in lower case; the hint says what to do.
 */
#ifndef DOC_DIAG_H
#define DOC_DIAG_H

#include <stdio.h>

#include "doc/tree.h"

/* The note that a --set was applied: of the command line, not of the file. */
extern const char diag_set[];

enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };
const char *severity_name(enum severity sev); /* "error", "warning", "note" */

struct diag {
    enum severity severity;
    const char *code; /* "E0107", "W0203", "N0301" */
    struct pos pos;
    const char *path; /* of the node, or "" */
    const char *message;
    const char *hint; /* or NULL */
    bool no_source;   /* the line holds a secret: it is not shown */
};

struct diags {
    struct arena *arena; /* texts live here */
    struct diag *v;      /* heap */
    size_t n, cap;
    size_t n_errors, n_warnings; /* counted beyond LIMIT_DIAGS too */
    size_t n_dropped;
};

void diags_init(struct diags *ds, struct arena *a);
void diags_release(struct diags *ds);

/* Adds a problem at a node's value. hint may be NULL. Severity follows from the code's first letter
 * (E, W, N). Returns the entry (NULL if dropped) so that the caller may change its place. */
struct diag *diag_at(struct diags *ds, const struct node *at, const char *code, const char *hint,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The same at a place that is no node (syntax errors, document start). */
struct diag *diag_pos(struct diags *ds, struct pos pos, const char *path, const char *code,
                      const char *hint, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The findings there are of lines from first to last do not show their line. */
void diags_hide_lines(struct diags *ds, uint32_t first, uint32_t last);

/* Sorts by place; of findings that are alike, at one place, one is kept. Notes without a place come
 * last. */
void diags_sort(struct diags *ds);

/* file:line:col: error[E0107]: message, the source line, a caret, the hint.
 * Control characters of the file are escaped. doc may be NULL (no source line). */
void diag_print(FILE *out, const char *file, const struct doc *doc, const struct diag *d,
                bool colour);

#endif
