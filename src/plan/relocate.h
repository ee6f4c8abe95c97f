/* relocate.h - where volumes are at isolation level `none`, where nothing can be mounted: what
 * names a path of a volume is made to name where the volume is. Internal to plan/. At other levels,
 * and where there are no volumes, everything stays as it is.
 *
 * init: the init command whose mounts count beside its role's; -1 = none.
 */
#ifndef PLAN_RELOCATE_H
#define PLAN_RELOCATE_H

#include "plan/plan.h"

const char *relocate_path(struct arena *a, const struct plan *plan, const struct replica *replica,
                          int init, const char *path);
const char *const *relocate_argv(struct arena *a, const struct plan *plan,
                                 const struct replica *replica, int init, const char *const *argv);
const char *relocate_shell(struct arena *a, const struct plan *plan, const struct replica *replica,
                           const char *text);

#endif
