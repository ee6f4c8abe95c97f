/* make.h - documents made rather than read: what raising a job writes, to be given to yaml_write().
 *
 * Nodes made here have no place and no parent; who needs these writes the tree and reads it again.
 * Everything lives in the arena. A NULL value is not put, so that optional values need no `if`.
 */
#ifndef DOC_MAKE_H
#define DOC_MAKE_H

#include "doc/tree.h"

struct node *make_map(struct arena *a);
struct node *make_seq(struct arena *a);
struct node *make_text(struct arena *a, const char *text); /* NULL gives NULL */
struct node *make_int(struct arena *a, int64_t i);
struct node *make_bool(struct arena *a, bool value);
struct node *make_texts(struct arena *a,
                        const char *const *v); /* NULL-terminated; NULL gives NULL */
struct node *make_copy(struct arena *a, const struct node *from); /* of all that is below, too */

/* Gives the mapping's key that value: in the place of the old one, or at the end. */
void make_put(struct arena *a, struct node *map, const char *key, const struct node *value);
void make_add(struct arena *a, struct node *seq, const struct node *value);
void make_insert(struct arena *a, struct node *seq, size_t i, const struct node *value);
void make_drop(struct node *map, const char *key);
void make_remove(struct node *seq, size_t i);

/* The mapping below a key (or, below, the list), to be changed: of a tree that was made or copied,
 * so that nobody else holds it. It is made where it is missing. */
struct node *make_below(struct arena *a, struct node *map, const char *key);
struct node *make_list_below(struct arena *a, struct node *map, const char *key);
/* The item of a copied list that is a mapping, to be changed; NULL if it is none. */
struct node *make_item(struct node *seq, size_t i);

/* A mapping without content, put by a caller before it knew, is taken out again. */
void make_drop_empty(struct node *map, const char *key);

/* Three-way: `mine` with every change that leads from `old` to `new` made to it. Lists of one
 * length are merged item by item, others taken whole. *ret_misfits counts changes whose place
 * `mine` does not have as `old` has it: they are made all the same. */
const struct node *make_merge(struct arena *a, const struct node *mine, const struct node *old,
                              const struct node *new, size_t *ret_misfits);

#endif
