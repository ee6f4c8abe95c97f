/* yaml_write.h - a document tree as YAML, in block style, that yaml_read() reads back as it was.
 *
 * Comments and the original's style are not in the tree, so they are not in the output either.
 */
#ifndef DOC_YAML_WRITE_H
#define DOC_YAML_WRITE_H

#include "base/strbuf.h"
#include "doc/tree.h"

/* Appends the node as one document, without a "---" line. */
void yaml_write(struct strbuf *out, const struct node *root);

#endif
