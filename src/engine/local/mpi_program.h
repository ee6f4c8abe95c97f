/* mpi_program.h - does a command need an MPI launcher? Started without one, every process of an MPI
 * program is a world of its own, of size 1, and succeeds.
 *
 * Looks at the file the command would execute, behind wrappers like `nice` and in the text of a
 * shell, and at the script that a Python is given. Executes nothing.
 */
#ifndef ENGINE_LOCAL_MPI_PROGRAM_H
#define ENGINE_LOCAL_MPI_PROGRAM_H

#include "base/arena.h"

enum mpi_need {
    MPI_NEED_NONE,    /* nothing says so */
    MPI_NEED_CERTAIN, /* linked with an MPI, or a module that is an MPI program */
    MPI_NEED_LIKELY,  /* a script that imports a package that needs one, or starts such a program */
    MPI_NEED_POSSIBLE, /* a library of the program needs one, or an import that may not happen */
};

struct mpi_use {
    enum mpi_need need;
    const char *what;           /* which file: "./a.out", "train.py" */
    const char *why;            /* "is linked with libmpi.so.40", "imports mpi4py" */
    const char *implementation; /* "OpenMPI", "MPICH"; NULL: not known */
};

/* Where a command is looked for. */
struct mpi_place {
    const char *dir;          /* its working directory */
    const char *path;         /* PATH, or NULL */
    const char *library_path; /* LD_LIBRARY_PATH, or NULL */
};

/* argv as it would be executed. Texts are in the arena; NULL where nothing is needed. */
struct mpi_use mpi_program_use(struct arena *a, const char *const *argv,
                               const struct mpi_place *place);
/* The same for a text that a shell would execute. */
struct mpi_use mpi_text_use(struct arena *a, const char *text, const struct mpi_place *place);

#endif
