/* json_write.h - a document tree as JSON, on one line. */
#ifndef DOC_JSON_WRITE_H
#define DOC_JSON_WRITE_H

#include "base/strbuf.h"
#include "doc/tree.h"

/* Appends the node. What json_read() made of a text is read back as the same tree. */
void json_write(struct strbuf *out, const struct node *node);

#endif
