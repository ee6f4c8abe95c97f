/* generate_operator.h - `muster generate crds` and `muster generate operator`: the objects of
 * Muster's own operator, from deploy/base.
 */
#ifndef CLI_GENERATE_OPERATOR_H
#define CLI_GENERATE_OPERATOR_H

#include "base/arena.h"
#include "cli/cli.h"
#include "doc/tree.h"

/* Is the word one of the two? */
bool generates_operator(const char *word);
/* argv[0] is the word. */
int generate_operator(const struct verb *verb, int argc, char **argv);

/* Is it an image of Muster's operator, by its name: REGISTRY/muster-operator:TAG? */
bool is_our_image(const char *image);

/* The List that `generate mpi-operator` prints, for an image of ours: the same five objects with
 * the same names. A CRD of today, because v1beta1 is not served any more, the rights that ours
 * needs, and MPIJobs only. */
const struct node *adapt_mpi_operator(struct arena *a, const struct node *list);

#endif
