/* env_mpi.c - the variables that make an unmodified mpirun work inside a run, one row each.
 *
 * Every row is a default: a variable of the same name in the job or in the caller's environment
 * wins, and so does the same MCA parameter on the command line. Each row was found by running
 * without it; its reason is what `explain` shows.
 */
#include <string.h>

#include "plan/env.h"
#include "plan/mpi.h"

static bool as_root(const struct plan *plan)
{
    return plan->facts->machine.root;
}

/* Daemons that share a host name share a session directory too, and destroy each other's. Theirs is
 * below TMPDIR then, which is each replica's own; mpirun would hand this parameter on to all. */
static bool of_own_name(const struct plan *plan)
{
    return !isolation_is(plan->facts, "none");
}

static bool crowded(const struct plan *plan)
{
    return plan->world > plan->facts->machine.cpus;
}

/* A job without a launcher says nothing about its slots: there may be more ranks than promised. */
static bool slots_guessed(const struct plan *plan)
{
    return plan->launcher < 0;
}

/* The ranks of a job are those of its launcher's mpirun; any other's end with whoever called it. */
static bool ranks_are_told_apart(const struct plan *plan)
{
    return plan->rank_wrapper;
}

static bool mentioned(const char *const *words, const char *part)
{
    for (; words && *words; words++)
        if (strstr(*words, part))
            return true;
    return false;
}

/* Open MPI takes an include or an exclude list, never both: not beside one of the job's own. */
static bool no_interface_chosen(const struct plan *plan)
{
    static const char chosen[] = "btl_tcp_if_";
    const struct job_spec *spec = plan->spec;

    for (size_t i = 0; spec->mpi && i < spec->mpi->n_mca; i++)
        if (strstr(spec->mpi->mca[i].name, chosen))
            return false;
    if (spec->mpi &&
        (mentioned(spec->mpi->extra_args, chosen) || mentioned(spec->mpi->program, chosen)))
        return false;
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (mentioned(role->argv, chosen) || (role->shell && strstr(role->shell, chosen)))
            return false;
        for (size_t k = 0; k < role->n_env; k++)
            if (strstr(role->env[k].name, chosen))
                return false;
    }
    return true;
}

enum { OMPI4 = 1, OMPI5 = 2, HYDRA = 4, INTEL = 8, OMPI = OMPI4 | OMPI5, ANY = 15 };

/* Where nothing or nothing known was found, the job's author had Open MPI 4 in mind. */
static const unsigned families[] = {
    [MPI_NOT_FOUND] = OMPI4, [MPI_OPEN_MPI_4] = OMPI4, [MPI_OPEN_MPI_5] = OMPI5,
    [MPI_HYDRA] = HYDRA,     [MPI_INTEL] = INTEL,      [MPI_UNKNOWN] = OMPI4,
};

#define AGENT IN_SCRATCH, "/" PLAN_BIN "/ssh", NULL, "reaches replicas without sshd"
#define HOSTFILE(format) format, NULL, NULL, "for commands that name no hostfile"
#define WRAPPER                                                                                    \
    IN_SCRATCH, "/" PLAN_BIN "/" PLAN_RANK_WRAPPER, ranks_are_told_apart,                          \
        "records log and exit status of each rank"
#define INTERFACE_WHY "connects the replicas"
#define REACHED INTERFACE, NULL, NULL, INTERFACE_WHY
#define SESSIONS IN_SCRATCH, "", of_own_name, "runs must not share session directories"
#define ROOT AS_IT_IS, "1", as_root, "mpirun refuses root otherwise"

static const struct env_default defaults[] = {
    /* Agent and hostfile for every implementation: a script may find another one than we did. */
    {"OMPI_MCA_plm_rsh_agent", ANY, AGENT},
    {"PRTE_MCA_plm_ssh_agent", ANY, AGENT},
    {"HYDRA_LAUNCHER_EXEC", ANY, AGENT},
    {"I_MPI_HYDRA_BOOTSTRAP_EXEC", ANY, AGENT},
    {"OMPI_MCA_orte_default_hostfile", ANY, HOSTFILE(HOSTFILE_OPEN_MPI)},
    {"PRTE_MCA_prte_default_hostfile", ANY, HOSTFILE(HOSTFILE_OPEN_MPI)},
    {"HYDRA_HOST_FILE", ANY, HOSTFILE(HOSTFILE_HYDRA)},
    {"I_MPI_HYDRA_HOST_FILE", ANY, HOSTFILE(HOSTFILE_HYDRA)},
    {"OMPI_MCA_orte_fork_agent", OMPI4, WRAPPER},
    {"PRTE_MCA_prte_fork_agent", OMPI5, WRAPPER},
    {"OMPI_MCA_oob_tcp_if_include", OMPI4, REACHED},
    {"PRTE_MCA_prte_if_include", OMPI5, REACHED},
    {"HYDRA_IFACE", HYDRA | INTEL, REACHED},
    {"OMPI_MCA_btl_tcp_if_include", OMPI, INTERFACE, NULL, no_interface_chosen, INTERFACE_WHY},
    {"OMPI_MCA_rmaps_base_oversubscribe", OMPI4, AS_IT_IS, "1", slots_guessed,
     "the number of ranks per replica is not set"},
    {"PRTE_MCA_rmaps_default_mapping_policy", OMPI5, AS_IT_IS, ":oversubscribe", slots_guessed,
     "the number of ranks per replica is not set"},
    {"OMPI_MCA_mpi_yield_when_idle", OMPI, ONLY_HERE, "1", crowded,
     "more ranks than cores must not spin"},
    {"OMPI_MCA_odls_base_num_threads", OMPI4, AS_IT_IS, "0", NULL,
     "mpirun may hang on short processes"},
    {"OMPI_MCA_orte_tmpdir_base", OMPI4, SESSIONS},
    {"PRTE_MCA_prte_tmpdir_base", OMPI5, SESSIONS},
    {"OMPI_ALLOW_RUN_AS_ROOT", OMPI, ROOT},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", OMPI, ROOT},
    {"PRTE_ALLOW_RUN_AS_ROOT", OMPI5, ROOT},
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", OMPI5, ROOT},
    {"SHELL", ANY, AS_IT_IS, "/bin/sh", NULL, "used by the agent to run commands"},
    {"LD_LIBRARY_PATH", ANY, ONLY_HERE, "", NULL, "-x LD_LIBRARY_PATH requires it"},
};

/* Elsewhere the image decides. */
static unsigned families_of(const struct facts *facts)
{
    return facts->site.elsewhere ? ANY : families[facts->machine.mpi];
}

/* "OMPI_MCA_plm_rsh_agent" -> "plm_rsh_agent"; NULL if it is no MCA parameter */
static const char *mca_parameter(const char *name)
{
    const char *mca = strstr(name, "_MCA_");

    return mca ? mca + strlen("_MCA_") : NULL;
}

void env_mpi(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct mpi_spec *mpi = plan->spec->mpi;

    (void)process;
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
        const struct env_default *d = &defaults[i];
        const char *parameter = mca_parameter(d->name);

        if (!(d->families & families_of(plan->facts)))
            continue;
        if (parameter && mpi && mpi_line_sets(mpi, parameter))
            continue;
        env_put_default(set, plan, d);
    }
}
