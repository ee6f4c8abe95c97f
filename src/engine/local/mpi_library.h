/* mpi_library.h - is a program linked with an MPI?
 *
 * Reads ELF files: the program's own and, if it names no MPI, those of its libraries where the
 * loader would most likely find them. Executes nothing.
 */
#ifndef ENGINE_LOCAL_MPI_LIBRARY_H
#define ENGINE_LOCAL_MPI_LIBRARY_H

#include "base/arena.h"

struct mpi_library {
    const char *name;    /* "libmpi.so.40"; NULL: none */
    const char *through; /* the program's library that needs it; NULL: the program itself does */
};

/* library_path: LD_LIBRARY_PATH of the program, or NULL. Texts are in the arena. */
struct mpi_library mpi_library_of(struct arena *a, const char *program, const char *library_path);

#endif
