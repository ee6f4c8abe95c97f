/* launch_line.h - numbers of processes that a command hands to the program that starts them.
 *
 * mpirun -np 16 -npernode 4, torchrun --nnodes=2 --nproc_per_node 8, … Only the launcher's own
 * options count: what stands after the program it starts belongs to that program. Works on words
 * (of a shell text or an argument list), so that one of them can be replaced without touching
 * another byte.
 */
#ifndef SPEC_LAUNCH_LINE_H
#define SPEC_LAUNCH_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/shellwords.h"

enum launch_meaning {
    LAUNCH_OTHER,    /* an option that says nothing about numbers */
    LAUNCH_TOTAL,    /* processes in all */
    LAUNCH_PER_NODE, /* processes on each node */
    LAUNCH_NODES,
};

struct launch_number {
    enum launch_meaning meaning;
    bool mpi;               /* of mpirun and its like, rather than torchrun's */
    const char *option;     /* as it is written, without its value: "-np" */
    size_t word;            /* index of the word with the value */
    const char *text;       /* the value as it is written */
    int64_t value;          /* -1: no number, as "$N" or "gpu" */
    const char *pre, *post; /* what surrounds the number in its word: "--np=", ":node" */
};

/* Finds the numbers among n words. `mpirun`: the words are options of mpirun themselves. Returns
 * how many; *ret lives in the arena. *ret_mpirun (may be NULL) is set to whether some mpirun is
 * called. */
size_t launch_numbers(struct arena *a, const struct shell_word *words, size_t n, bool mpirun,
                      const struct launch_number **ret, bool *ret_mpirun);

/* The word with another number in it. */
const char *launch_renumber(struct arena *a, const struct launch_number *number, int64_t value);

#endif
