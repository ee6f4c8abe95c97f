/* mpi_options.h - the options of mpirun and its like: how many words each takes, and what it means.
 *
 * Where mpirun's own options end can only be told by knowing which of them take values. One table
 * has those of Open MPI, Hydra and horovodrun; whoever looks at an mpirun line looks here. An
 * option that it does not know counts as a flag.
 */
#ifndef SPEC_MPI_OPTIONS_H
#define SPEC_MPI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum mpi_meaning {
    MPI_MEANS_OTHER,
    MPI_MEANS_TOTAL,    /* processes in all */
    MPI_MEANS_PER_NODE, /* processes on each node */
    MPI_MEANS_ONE_PER_NODE,
    MPI_MEANS_MAP_BY,    /* "ppr:N:node" is a number per node */
    MPI_MEANS_EXPORT,    /* NAME=VALUE, or NAME as it is here */
    MPI_MEANS_PARAMETER, /* an MCA parameter: a name, a value */
    MPI_MEANS_RECOVERY,  /* Open MPI 4 only */
};

enum mpi_origin { MPI_OF_ALL, MPI_OF_OPEN_MPI, MPI_OF_HYDRA, MPI_OF_HOROVOD };

struct mpi_option {
    const char *name; /* without its dashes: Open MPI takes its long options with one or two */
    size_t n_args;
    enum mpi_meaning meaning;
    enum mpi_origin of; /* whose alone it is */
};

/* The option that a word is; NULL: none, or one that is not known. *ret_value (may be NULL) is set
 * to what stands behind a `=` of the word, or NULL. */
const struct mpi_option *mpi_option_of(const char *word, const char **ret_value);

/* How many words after it belong to the option; 0 if its value stands behind a `=`. `next` is the
 * word after it, or NULL: Hydra's `-env NAME VALUE` may be `-env NAME=VALUE`. */
size_t mpi_option_values(const char *word, const char *next);

/* Words that belong together from args[0] on: an option with those of its values that there are, or
 * one word. */
size_t mpi_option_words(const char *const *args);

/* Is the word mpirun, mpiexec, orterun, prterun or horovodrun, by any path, or mpirun.openmpi and
 * its like? */
bool mpi_is_launcher(const char *program);

/* The number of "ppr:N:node" or "ppr:N:node:PE=2", and what follows it; NULL for other mappings. */
const char *mpi_ppr_count(const char *map_by, const char **ret_end);

#endif
