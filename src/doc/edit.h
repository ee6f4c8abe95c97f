/* edit.h - `--set PATH=VALUE`: a document with one value changed before it is lowered.
 *
 * PATH is keys and indexes: spec.worker.replicas, .spec.containers[0].image,
 * taskRoles[0].taskNumber. A key with a dot in it stands in quotes or brackets:
 * limits["nvidia.com/gpu"]. In a list of mappings that have a `name`, the name finds the item:
 * env.NCCL_DEBUG.value. VALUE is a plain scalar as it stands (5, true, any text), or begins with a
 * quote, a bracket or a brace and is then YAML
 * ("5", [a, b], {a: 1}). `null` removes what is there.
 *
 * The tree is const: an edit gives a copy. What is new in it stands where the old value did (or its
 * parent), and is marked (node.set), so that a diagnostic still points into the file and says why
 * the text there is not what it talks about.
 */
#ifndef DOC_EDIT_H
#define DOC_EDIT_H

#include "base/err.h"
#include "doc/diag.h"
#include "doc/tree.h"

struct edit; /* in the arena */

/* Reads PATH=VALUE. -EINVAL with e set if it is none. */
int edit_parse(struct arena *a, const char *text, const struct edit **ret, struct err *e);

/* The i-th key of the path, NULL if it is an index or there are not so many. Which documents of a
 * file an edit is for, and which names it may create, is the caller's business. */
const char *edit_key(const struct edit *edit, size_t i);
const char *edit_path(const struct edit *edit);

/* Applies the edit, and adds a note (diag_set) that says what was there before. Mappings that are
 * missing on the way are made. What is in the way (a scalar, an index out of range, nothing to
 * remove) is added to ds at its place, and NULL is returned. */
const struct node *edit_apply(struct arena *a, const struct edit *edit, const struct node *root,
                              struct diags *ds);

#endif
