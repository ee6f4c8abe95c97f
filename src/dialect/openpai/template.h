/* template.h - the `<% … %>` tags of OpenPAI's job protocol v2, rendered into commands.
 *
 * A tag names a variable: `<% $parameters.a.b %>`, `<% $data.uri[0] %>`, `<% $secrets.key %>`.
 * Space inside a tag is free, line ends included. What cannot be rendered stays in the text as it
 * is written and is told as a finding, which the caller puts into words: nothing is dropped
 * silently. OpenPAI HTML-escapes rendered secrets; that is a fault, and not done here.
 *
 * Pure and complete in itself: a fuzzer calls it alone.
 */
#ifndef DIALECT_OPENPAI_TEMPLATE_H
#define DIALECT_OPENPAI_TEMPLATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "doc/tree.h"

struct template_scope {
    const char *name;         /* "parameters", without the dollar */
    const struct node *value; /* what its paths lead into, or NULL: known, but not given here */
    bool secret;              /* its values are shown as *** */
};

enum template_fault {
    TEMPLATE_UNKNOWN,  /* no such variable: left */
    TEMPLATE_NOT_TEXT, /* a mapping: written as JSON */
    TEMPLATE_OTHER,    /* a tag of mustache that is no variable: left, and not meant to run */
    TEMPLATE_COMMENT,  /* `<%! … %>`: left out */
    TEMPLATE_OPEN,     /* `<%` without `%>`: left */
    TEMPLATE_TOO_LONG, /* the rendered text passes the limit; it ends here */
};

struct template_finding {
    enum template_fault fault;
    const char *tag;  /* what is between the marks, trimmed and cut */
    const char *near; /* TEMPLATE_UNKNOWN: the variable that may be meant, or NULL */
};

struct template_text {
    const char *shown; /* with *** for secrets */
    const char *real;  /* what runs; NULL if no secret is in it */
    const struct template_finding *findings;
    size_t n_findings; /* LIMIT_DIAGS at most */
};

/* Renders text into the arena. Neither result is longer than limit bytes. */
void template_render(struct arena *a, const char *text, const struct template_scope *scopes,
                     size_t n_scopes, size_t limit, struct template_text *ret);

/* A node as compact JSON; NULL if that would pass the limit. */
const char *node_json(struct arena *a, const struct node *node, size_t limit);

#endif
