/* images.h - what stands for a container image on this machine. */
#ifndef ENGINE_LOCAL_IMAGES_H
#define ENGINE_LOCAL_IMAGES_H

#include "plan/plan.h"

/* Reads `--image NAME=PLACE` for the job's roles; *ret is for facts.images. NAME is an image as the
 * file spells it, or "*" for every one that has no other. PLACE is "host", or the directory of a
 * virtual environment or of a conda environment. maps is NULL-terminated. -EINVAL: no such image in
 * the job (its images are named), or the directory is none of the two. */
int images_map(struct arena *a, const struct job_spec *spec, const char *const *maps,
               const struct image_place **ret, struct err *e);

#endif
