/* code_map.h - the code of a job as a ConfigMap: for a MusterJob, whose operator has no directory
 * of the user's. `muster submit` makes it, the operator sends what is in it to the pods.
 *
 *     data:       {list: '[{"to": "code/train.py", "mode": 33188, "key": "0"}, …]'}
 *     binaryData: {"0": …}
 *
 * Pure, but for the files that are read.
 */
#ifndef ENGINE_KUBERNETES_CODE_MAP_H
#define ENGINE_KUBERNETES_CODE_MAP_H

#include "doc/tree.h"
#include "engine/code.h"

enum { CODE_MAP_BYTES = 1000 * 1000 }; /* of files; an API server takes 1 MiB in all */

/* -E2BIG: it is more than that, and option is what the user can do instead. */
int code_map_make(struct arena *a, const struct code_list *list, const char *name,
                  const char *option, const struct node **ret, struct err *e);

/* A list whose files have their content with them. -EINVAL: it is no such ConfigMap, or a path
 * leads out of the run directory. */
int code_map_read(const struct node *config_map, struct code_list *ret, struct err *e);

#endif
