/* horovod.h - horovodrun's command line as the mpirun line it stands for. */
#ifndef PLAN_HOROVOD_H
#define PLAN_HOROVOD_H

#include "base/arena.h"
#include "base/shellwords.h"

/* The first call of horovodrun in the text as a line for mpirun, or NULL if it cannot be said:
 * there is none, or it is an elastic one, which mpirun cannot do. */
const char *horovod_as_mpirun(struct arena *a, const char *text, const struct shell_word *words,
                              size_t n);

#endif
