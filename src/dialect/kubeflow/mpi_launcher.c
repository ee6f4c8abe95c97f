/* mpi_launcher.c - what the launchers of all MPIJobs have in common. */
#include <string.h>

#include "dialect/kubeflow/mpi.h"

#define OPERATOR_PATH "/etc/mpi"

void mpi_mount_operator_files(struct arena *a, struct role *launcher)
{
    struct mount *mounts = ARENA_ARRAY(a, struct mount, launcher->n_mounts + 1);

    for (size_t i = 0; i < launcher->n_mounts; i++) {
        if (strcmp(launcher->mounts[i].path, OPERATOR_PATH) == 0)
            return;
        mounts[i] = launcher->mounts[i];
    }
    mounts[launcher->n_mounts++] = (struct mount){
        .source = VOLUME_OPERATOR,
        .volume = MPI_OPERATOR_VOLUME,
        .path = OPERATOR_PATH,
        .read_only = true,
    };
    launcher->mounts = mounts;
}
