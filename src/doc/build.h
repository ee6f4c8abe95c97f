/* build.h - how the readers make a tree: nodes within the limits, keys told once.
 *
 * A reader embeds a builder and looks at `stop` wherever it would go on: it is set when a limit is
 * hit or when the reader itself can read no further. Every function leaves a well-formed tree.
 */
#ifndef DOC_BUILD_H
#define DOC_BUILD_H

#include "doc/diag.h"
#include "doc/tree.h"

struct builder {
    struct arena *a;
    struct diags *ds;
    struct doc *doc;
    bool stop; /* nothing more can be read */
    size_t n_nodes;
};

/* Where a node that is about to be made belongs. */
struct place {
    const struct node *parent;
    const char *key;
    size_t index;
    int depth;
};

struct nodes { /* heap */
    const struct node **v;
    size_t n, cap;
};

struct pairs { /* heap */
    struct pair *v;
    size_t n, cap;
};

/* Keys to their index in a list of pairs, by open addressing: a slot is 0 or index + 1. */
struct key_set {
    size_t *slots, mask;
};

/* Skips a byte order mark, and fills *ret for a text (a copy is kept) that may hold max_roots. */
void build_doc(struct arena *a, const char *file, const char **text, size_t *len, size_t max_roots,
               struct doc *ret);

/* Stops the reader with "there are more than LIMIT WHAT"; told once. */
void build_stop(struct builder *b, struct pos pos, const char *what, int limit);

/* Always gives a node, so that the tree stays well formed when a limit stops the reader. */
struct node *build_node(struct builder *b, const struct place *at, enum node_type type,
                        struct pos pos);

/* Adds to a list; a mapping's list stops at LIMIT_KEYS. */
void build_add_item(struct nodes *list, const struct node *item);
void build_add_pair(struct builder *b, struct pairs *list, const struct node *key,
                    const struct node *value);

/* Gives the list to the node and frees it. */
void build_seq(struct builder *b, struct node *node, struct nodes *list);
void build_map(struct builder *b, struct node *node, struct pairs *list);

/* A set with room for n keys; free() its slots. The slot of a key is its own or an empty one. */
struct key_set key_set_new(size_t n);
size_t *key_set_slot(struct key_set *set, const struct pairs *in, const struct node *key);

/* Fills the set from the list. A later pair takes the place of an earlier one with the same key;
 * that is told: a warning if the values are equal, else an error. */
void build_unique(struct builder *b, struct pairs *list, struct key_set *set);

#endif
