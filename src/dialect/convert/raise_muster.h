/* raise_muster.h - the parts of raising into Muster's own form. */
#ifndef DIALECT_CONVERT_RAISE_MUSTER_H
#define DIALECT_CONVERT_RAISE_MUSTER_H

#include "dialect/convert/raise.h"

/* One role as a mapping. */
struct node *raise_muster_role(struct raising *r, const struct role *role);

/* A launcher that the form makes by itself, as it is: nothing has to be written for it. */
bool muster_makes_role(struct raising *r, const struct role *role);

/* What of the role's pod template the model does not hold (raise_muster_template.c); NULL: nothing.
 */
const struct node *raise_muster_template(struct raising *r, const struct role *role);

#endif
