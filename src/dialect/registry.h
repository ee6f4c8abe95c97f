/* registry.h - which dialect a document is written in, those that are not run yet included. */
#ifndef DIALECT_REGISTRY_H
#define DIALECT_REGISTRY_H

#include "dialect/dialect.h"

struct sighting {
    enum verdict verdict;          /* VERDICT_ACCEPT if dialect is set, else the answer */
    const struct dialect *dialect; /* to lower it with, or NULL */
    const char *id;                /* dialect id of CONTRACTS §2, or NULL */
    const struct node *at;         /* what gave it away */
    const char *words;             /* "a kubeflow.org/v1 TFJob" */
    const char *hint;              /* or NULL */
};

/* Looks at the top level of a document. Texts live in the arena. */
struct sighting dialect_sight(struct arena *a, const struct node *root);

#endif
