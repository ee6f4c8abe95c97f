/* env_image.c - a role whose image is an environment of Python's here: what its activate script
 * would set. The directory itself goes into PATH with everything else that does (env.c).
 */
#include <string.h>

#include "plan/env.h"

const char *image_prefix(const struct plan *plan, const struct process *process)
{
    const struct image_place *images = plan->facts->site.images;

    return images ? images[plan->replicas[process->replica].role_index].prefix : NULL;
}

void env_image(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const char *prefix = image_prefix(plan, process);

    if (!prefix)
        return;
    set->local = true;
    bool conda = plan->facts->site.images[plan->replicas[process->replica].role_index].conda;
    env_put(set, conda ? "CONDA_PREFIX" : "VIRTUAL_ENV", prefix, ORIGIN_MUSTER,
            "replaces the image");
    if (conda)
        env_put(set, "CONDA_DEFAULT_ENV", strrchr(prefix, '/') + 1, ORIGIN_MUSTER, NULL);
    set->local = false;
}
