/* bind.h - tables that say what a mapping may hold, and the decoder they drive.
 *
 * A dialect describes each of its mappings by a table of fields; bind_map() walks a mapping by its
 * table and fills a structure. One table gives decoding, type errors, unknown-key hints and the
 * list of known keys, so that these cannot disagree. Every key of a file is mapped into the
 * structure, ignored with a note, or rejected.
 *
 *     struct ssh { const struct node *at; const char *sshd; };
 *     static const struct bind_field ssh_fields[] = {
 *         {.key = "sshdPath", .kind = BIND_STRING, .offset = offsetof(struct ssh, sshd)},
 *     };
 *     const struct bind_table ssh_table = BIND_TABLE("spec.ssh", struct ssh, ssh_fields);
 *
 * A structure begins with `const struct node *at`, the mapping it came from; the place of one of
 * its values is node_get(x->at, "key"). Structures are zeroed before they are filled. A key with no
 * value (null) counts as absent.
 *
 * Not here: rules between fields; the caller checks those afterwards.
 */
#ifndef DOC_BIND_H
#define DOC_BIND_H

#include "base/cleanup.h"
#include "doc/diag.h"
#include "doc/tree.h"

enum bind_kind {
    BIND_STRING,  /* const char *; NULL if absent */
    BIND_INT,     /* int32_t from min to max; def if absent */
    BIND_BOOL,    /* bool; false if absent */
    BIND_STRINGS, /* const char *const *, NULL-terminated list; NULL if absent */
    BIND_STRUCT,  /* const struct X *, by table; NULL if absent */
    BIND_STRUCTS, /* BIND_LIST(struct X), by table; by_name: at->parent_key is an entry's name */
    BIND_NODE,    /* const struct node *, of any type: the caller's business; NULL if absent */
    BIND_KNOWN,   /* accepted, nothing to do */
    BIND_NOTED,   /* has no effect: a note says so, with `why` if set */
};

#define BIND_LIST(type)                                                                            \
    struct {                                                                                       \
        const type *v;                                                                             \
        size_t n;                                                                                  \
    }

struct bind_table;

/* What a BIND_NODE may be. The decoder does not look at it: the caller checks, and this is what the
 * schema says about it. Several may be joined; none: anything. */
enum bind_takes {
    TAKES_STRING = 1, /* one of `words` if there are any */
    TAKES_INT = 2,    /* from min to max if these differ */
    TAKES_NUMBER = 4,
    TAKES_BOOL = 8,
    TAKES_STRINGS = 16, /* a list of strings */
    TAKES_LIST = 32,    /* of mappings by table, or of anything */
    TAKES_MAP = 64,     /* by table, or any */
    TAKES_SCALAR = TAKES_STRING | TAKES_NUMBER | TAKES_BOOL,
    TAKES_QUANTITY = TAKES_STRING | TAKES_NUMBER,
};

struct bind_field {
    const char *key;
    enum bind_kind kind;
    bool required;  /* absent is an error */
    bool non_empty; /* BIND_STRING, BIND_STRINGS, BIND_STRUCTS */
    bool by_name;   /* BIND_STRUCTS, BIND_NODE: a mapping from names that the author chooses */
    size_t offset;
    const struct bind_table *table; /* BIND_STRUCT, BIND_STRUCTS; BIND_NODE: for the schema */
    int32_t min, max, def;          /* BIND_INT */
    const char *const *words;       /* BIND_STRING: it must be one of these, NULL-terminated */
    unsigned takes;                 /* BIND_NODE: enum bind_takes */
    const char *why;                /* BIND_NOTED */
    const char *doc;                /* what it is, for schema and manual: "The number of …." */
};

/* A key of other systems that people write out of habit, and what to write instead. */
struct bind_foreign {
    const char *key, *hint;
};

struct bind_table {
    const char *what; /* how messages call the mapping: "spec.worker", "a container" */
    bool lenient;     /* an unknown key is a warning, not an error */
    bool closed;      /* keys are names in any case, of two spellings the last; an unknown one is
                       * always an error (no required ones) */
    size_t size;      /* of the structure */
    const struct bind_field *fields;
    size_t n;
    const struct bind_foreign *foreign; /* up to one without a key; or NULL */
};

#define BIND_TABLE(name, type, array)                                                              \
    {                                                                                              \
        .what = (name), .size = sizeof(type), .fields = (array), .n = ARRAY_SIZE(array)            \
    }
#define BIND_TABLE_LENIENT(name, type, array) BIND_TABLE_FOREIGN(name, type, array, NULL)
#define BIND_TABLE_FOREIGN(name, type, array, others)                                              \
    {                                                                                              \
        .what = (name), .lenient = true, .size = sizeof(type), .fields = (array),                  \
        .n = ARRAY_SIZE(array), .foreign = (others)                                                \
    }

struct binder {
    struct arena *a;
    struct diags *ds;
    const struct bind_table *root; /* searched for "belongs in …" hints; may be NULL */
    bool lenient; /* unknown keys are warnings everywhere: the file's own system kept them */
};

/* Decodes node by table into a new structure of table->size. Findings go to b->ds. Returns the
 * structure, with what could be decoded; NULL if node is no mapping (an error is added). */
void *bind_map(const struct binder *b, const struct bind_table *table, const struct node *node);

/* The single decoders, for values that no table describes. They return false after adding an error
 * about `name` at the node; *ret is then untouched. */
bool bind_string(const struct binder *b, const char *name, const struct node *node,
                 const char **ret);
bool bind_strings(const struct binder *b, const char *name, const struct node *node,
                  const char *const **ret);
bool bind_bool(const struct binder *b, const char *name, const struct node *node, bool *ret);

/* Adds an error at the node unless word is one of the n words. */
void bind_word(const struct binder *b, const struct node *at, const char *name, const char *word,
               const char *const *words, size_t n);

/* Adds "NAME must be WHAT, not …" at the node (at its key if it has no value). Without a hint it
 * says what may have been meant, if that can be guessed (bind_hint.c). */
void bind_type_error(const struct binder *b, const char *name, const char *what, const char *hint,
                     const struct node *node);

const char *bind_type_hint(const struct binder *b, const char *name, const char *what,
                           const struct node *node);

/* Adds "`key` is missing in WHAT" where the mapping's own key stands. */
void bind_missing(const struct binder *b, const struct node *map, const char *what, const char *key,
                  const char *hint);

#endif
