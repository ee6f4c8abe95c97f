/* mpirun.h - what options that a job file hands to mpirun say about the job itself. */
#ifndef DIALECT_MPIRUN_H
#define DIALECT_MPIRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "doc/bind.h"
#include "spec/spec.h"

/* Processes per replica: -N, -npernode, --map-by ppr:N:node, Hydra's -ppn and -perhost, with the
 * value in the next argument or behind a `=`. The last one counts. Gives the number, 0 if nothing
 * is said; with *ret_bad the index of the argument at fault, -ENODATA if an option has no value
 * after it, -EINVAL if its value is no number from 1 to LIMIT_SLOTS. args may be NULL. */
int32_t mpirun_slots(const char *const *args, size_t *ret_bad);

/* Is --enable-recovery among them? */
bool mpirun_recovers(const char *const *args);

struct mpirun_call {
    const char *program; /* "mpirun", "mpiexec.hydra", "horovodrun" */
    int32_t np;          /* -np, -n, --np, -c, horovodrun's --num-proc; 0: not told as a number */
    int32_t per_node;    /* as mpirun_slots(); 0: not told as a number */
};

/* What shell text that calls mpirun, mpiexec, orterun or horovodrun asks for. Of several calls the
 * largest numbers count, so that all of them fit; the parts of one call that `:` separates add up.
 * What only the shell could tell (-np $N) is not told. False if there is no such call. */
bool mpirun_in_shell(struct arena *a, const char *text, struct mpirun_call *ret);

/* Warns if the launcher's mpirun, or the one that is composed for it, is told to start more
 * processes than its hosts take, or a number that leaves one of several hosts half full. `at` is
 * where that is said, NULL: the launcher's command; `hint` is what makes room. */
void mpirun_check(const struct binder *b, const struct job_spec *spec, const struct node *at,
                  const char *hint);

#endif
