/* cluster_show.h - an object of a job that an operator runs, in words (cluster_jobs.h). */
#ifndef CLI_CLUSTER_SHOW_H
#define CLI_CLUSTER_SHOW_H

#include <stdbool.h>

#include "base/arena.h"
#include "doc/tree.h"

/* As `list` has it for jobs of this machine: "running", "failed"; "unseen" if no operator has
 * looked at it. */
const char *cluster_state(struct arena *a, const struct node *object);
bool cluster_has_ended(const char *state);
/* Why it does not start or continue, or NULL. */
const char *cluster_waits_for(struct arena *a, const struct node *object);

/* On stdout: in words; the whole object; its status in the words of the platform of its file. */
void cluster_print(void *ctx, const struct node *object);
void cluster_print_json(void *ctx, const struct node *object);
void cluster_print_status(void *ctx, const struct node *object);

#endif
