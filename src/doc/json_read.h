/* json_read.h - JSON into the document tree: strict RFC 8259, every node with its place.
 *
 * Comments (// and block comments) are allowed by flag: job files of OpenPAI v1 carry them, request
 * bodies may not. Integers that fit int64_t are NODE_INT and exact, other numbers NODE_FLOAT. A
 * lone surrogate is an error, a pair is one character. Duplicate keys are told as in YAML: equal
 * values a warning, different ones an error at the second key. Limits as for YAML (base/limits.h).
 */
#ifndef DOC_JSON_READ_H
#define DOC_JSON_READ_H

#include "doc/diag.h"
#include "doc/tree.h"

/* Reads text (len bytes) as one JSON document. Problems go to ds; what could be read is in *ret
 * (roots has exactly one node); ret->broken is set after a syntax error. */
void json_read(struct arena *a, const char *file, const char *text, size_t len, bool comments,
               struct diags *ds, struct doc *ret);

/* The same for text that Muster wrote itself: the root, as far as it can be read; NULL if it
 * cannot. */
const struct node *json_node(struct arena *a, const char *text, size_t len);

/* Does a file look like JSON rather than YAML? By name (.json, .jsonc), else by its first character
 * other than blanks and comments of JSON: '{' or '[', unless the name says YAML. A text of blanks
 * does not: YAML has empty documents. */
bool json_looks_like(const char *file, const char *text, size_t len);

#endif
