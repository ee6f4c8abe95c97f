/* mpi.h - how an MPI job is laid out and started by the mpirun that was found. Internal to plan/.
 *
 * T9k writes Open MPI's options. For Open MPI they are passed on as they are; for Hydra they are
 * translated, and what has no counterpart is left out with a note that names it.
 */
#ifndef PLAN_MPI_H
#define PLAN_MPI_H

#include "plan/notes.h"
#include "plan/plan.h"

struct mpi_layout {
    int64_t np;            /* as the command says, 0 if it does not */
    int64_t hosts;         /* replicas that ranks run in */
    int64_t default_slots; /* of a host whose role says none */
    int64_t world;         /* ranks expected */
};

struct mpi_layout mpi_layout_of(const struct job_spec *spec);
int64_t mpi_slots(const struct mpi_layout *layout, const struct role *role);

/* What the launcher's own mpirun is told to start; the layout's world if that is not known. */
int64_t mpi_ranks_expected(struct arena *a, const struct job_spec *spec);

/* Does its command call mpirun or one of its kind? */
bool role_calls_mpi(const struct role *role);

/* Does it read Hydra's hostfile, options and variables? */
bool mpi_is_hydra(enum mpi_impl impl);

/* Does the composed command line set this MCA parameter itself? */
bool mpi_line_sets(const struct mpi_spec *mpi, const char *parameter);

/* The launcher's command line, NULL-terminated. The notes get what could not be passed on. */
const char *const *mpi_command(struct arena *a, const struct job_spec *spec,
                               const struct facts *facts, struct notes *ns);

/* Is this program named in the text as a word of its own, with or without a path before it? */
bool names_program(const char *text, const char *program);

/* The text of a hostfile in Open MPI's or in Hydra's format, and the name it has below the run
 * directory: PLAN_HOSTFILE is in the format of the implementation that was found. */
const char *mpi_hostfile(struct arena *a, const struct plan *plan, bool hydra);
const char *mpi_hostfile_name(const struct facts *facts, bool hydra);

/* What a hostfile calls the replica. Hydra takes an address of 127.x for its own host. */
const char *mpi_host_name(struct arena *a, const struct plan *plan, const struct replica *replica,
                          bool hydra);

/* Do ranks run in it, and how many? */
bool mpi_is_host(const struct role *role);

/* mpi_operator.c: the files that an MPIJob's operator puts at /etc/mpi, if the job is one of
 * Kubeflow's that has any. */
void mpi_operator_files(struct arena *a, struct plan *plan);

#endif
