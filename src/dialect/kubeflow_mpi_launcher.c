/* kubeflow_mpi_launcher.c - what the launchers of all MPIJobs have in common. */
#include <string.h>

#include "base/strbuf.h"
#include "dialect/kubeflow_mpi.h"
#include "dialect/mpirun.h"

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

/* Its words as text for a shell: those of `sh -c TEXT` are in a word of their own, which
 * mpirun_in_shell() looks into. */
static const char *command_text(struct arena *a, const struct role *role)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *const *word = role->argv; word && *word; word++) {
        if (sb.len)
            strbuf_addch(&sb, ' ');
        strbuf_add_shell_word(&sb, *word);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* Open MPI refuses them, after everything has been started. */
void mpi_check_processes(const struct binder *b, const struct job_spec *out)
{
    const struct role *launcher = spec_role(out, "launcher");
    bool open_mpi = !out->implementation || strcmp(out->implementation, "OpenMPI") == 0;
    struct mpirun_call call;
    int64_t room = 0;
    const char *text;

    if (!launcher || !launcher->argv || !open_mpi)
        return;
    for (size_t i = 0; i < out->n_roles; i++) {
        if (out->roles[i].kind == ROLE_HOST || out->roles[i].hosts_ranks)
            room += (int64_t)out->roles[i].replicas * out->roles[i].slots;
    }
    text = command_text(b->a, launcher);
    if (room > 0 && mpirun_in_shell(b->a, text, &call) && call.np > room &&
        !strstr(text, "oversubscribe"))
        diag_at(b->ds, launcher->command_at, "W0408", "raise `slotsPerWorker`, or add workers",
                "%s is told to start %d processes, but the workers take %lld", call.program,
                call.np, (long long)room);
}
