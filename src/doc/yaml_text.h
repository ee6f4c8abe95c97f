/* yaml_text.h - the parts of the YAML reader that look at text instead of events. */
#ifndef DOC_YAML_TEXT_H
#define DOC_YAML_TEXT_H

#include "doc/diag.h"
#include "doc/tree.h"

/* Types a plain scalar by YAML 1.2's core schema from its text: sets type, i and f. */
void yaml_type_plain(struct node *node);

/* What libyaml says about a syntax error; a place with line 0 is none. */
struct yaml_problem {
    const char *problem, *context;
    struct pos at, context_at;
};

/* Reports a syntax error at its cause as far as that can be guessed, in words of our own. */
void yaml_report_syntax(const struct doc *doc, const struct yaml_problem *p, struct diags *ds);

#endif
