/* tree.h - a document as a tree whose every node knows its place.
 *
 * All readers (YAML and JSON) produce this tree in an arena; it is const afterwards. Nodes
 * reached through an alias are copies, so that every node has exactly one parent and one path; the
 * number of copies is bounded (LIMIT_NODES).
 */
#ifndef DOC_TREE_H
#define DOC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum node_type { NODE_NULL, NODE_BOOL, NODE_INT, NODE_FLOAT, NODE_STRING, NODE_SEQ, NODE_MAP };
const char *node_type_words(enum node_type type); /* "a string", "a mapping", … */

struct pos {
    uint32_t line, column; /* from 1; columns count characters. 0:0 = no place */
};

struct node;

struct pair {
    const struct node *key; /* always a scalar */
    const struct node *value;
};

struct node {
    enum node_type type;
    bool quoted;               /* scalars: written in quotes or as a block */
    struct pos pos;            /* of the value's first character */
    const struct node *parent; /* NULL for the root */
    const char *parent_key;    /* set if parent is a map */
    size_t index;              /* set if parent is a sequence */
    const char *text;          /* scalars: the text as meant (escapes resolved), NUL-terminated */
    size_t len;                /* of text; a text with a NUL inside has strlen(text) < len */
    int64_t i;                 /* NODE_INT; NODE_BOOL: 0 or 1 */
    double f;                  /* NODE_FLOAT */
    size_t n;                  /* NODE_SEQ, NODE_MAP: number of children */
    const struct node *const *items; /* NODE_SEQ */
    const struct pair *pairs;        /* NODE_MAP, in file order, duplicates removed (last wins) */
    const char *set;                 /* it is not the file's: the path of the --set it came by */
};

/* One parsed text. A file may hold several documents. */
struct doc {
    const char *file;   /* as the user named it */
    const char *source; /* the text, NUL-terminated; kept for carets */
    size_t source_len;
    const struct node **roots; /* one per document; an empty document is NODE_NULL */
    size_t n_roots;
    bool broken; /* the text is no valid YAML or JSON: what is there of the last root may be
                    incomplete */
};

const struct node *node_get(const struct node *map, const char *key); /* NULL if absent or no map */
/* The text of a string; `otherwise` if node is NULL or anything else. */
const char *node_text(const struct node *node, const char *otherwise);
const struct node *node_key(const struct node *map, const char *key); /* the key's own node */

/* Not there, or without a value (null). */
bool node_absent(const struct node *map, const char *key);

/* Where a person looks for the node: its key if it has one, else the node itself. */
const struct node *node_label(const struct node *node);

/* Follows a path of keys; NULL where it ends early. node_find(n, "spec", "worker", NULL) */
const struct node *node_find(const struct node *map, ...) __attribute__((sentinel));

/* ".spec.worker.template.spec.containers[0].name", ".limits[\"nvidia.com/gpu\"]"; the root is "."
 */
const char *node_path(struct arena *a, const struct node *node);

/* A value in words for messages: `the string "5"`, `the number 5`, `a mapping`; long ones are cut.
 */
const char *node_words(struct arena *a, const struct node *node);

/* Same type and content, key order ignored. */
bool node_equal(const struct node *a, const struct node *b);

#endif
