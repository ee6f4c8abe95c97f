/* config_objects.h - ConfigMaps and Secrets that stand beside the jobs in their file: applied with
 * them, they are there when the jobs run. */
#ifndef DIALECT_CONFIG_OBJECTS_H
#define DIALECT_CONFIG_OBJECTS_H

#include "dialect/dialect.h"

/* "the ConfigMap x" if the document is one of the two; else NULL. */
const char *config_objects_words(struct arena *a, const struct node *root);

/* Is it a Secret, whose values nobody is to see? */
bool config_objects_is_secret(const struct node *root);

/* Gives every job of the file their values; adds what is wrong with one, and hides the lines of
 * Secrets in all findings there are. */
void config_objects_hand_out(struct arena *a, struct job_file *jf);

#endif
