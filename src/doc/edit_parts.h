/* edit_parts.h - what an edit is made of. Internal to doc/. */
#ifndef DOC_EDIT_PARTS_H
#define DOC_EDIT_PARTS_H

#include "doc/edit.h"

struct step {
    const char *key; /* NULL: an index */
    size_t index;
};

struct edit {
    const char *path; /* as the user wrote it, for messages */
    struct step *steps;
    size_t n;
    const struct node *value; /* NODE_NULL removes */
};

#endif
