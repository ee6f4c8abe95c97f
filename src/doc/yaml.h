/* yaml.h - YAML text to document trees, on libyaml's events.
 *
 * Plain scalars are typed by YAML 1.2's core schema; yes/no/on/off stay strings and get a warning
 * where a bool is wanted (the binder's business). Duplicate keys: equal values a warning, different
 * ones an error; the last wins. Anchors, aliases and `<<` merges are expanded within LIMIT_NODES.
 */
#ifndef DOC_YAML_H
#define DOC_YAML_H

#include "doc/diag.h"
#include "doc/tree.h"

/* Reads all documents. Problems go to ds; on a syntax error the documents before it are kept.
 * text need not be NUL-terminated; a copy is kept in the arena. Returns 0 or -EINVAL if an error
 * was added. *ret is filled in both cases. */
int yaml_read(struct arena *a, const char *file, const char *text, size_t len, struct diags *ds,
              struct doc *ret);

#endif
