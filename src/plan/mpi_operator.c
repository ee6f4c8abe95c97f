/* mpi_operator.c - what Kubeflow's operators hand to the pods of an MPIJob: variables, and the
 * files of /etc/mpi.
 *
 * They name the hosts for one implementation, the one that the file asks for, whichever is found
 * here; what makes that one work is in env_mpi.c. Agents are Muster's own, so an operator's
 * kubexec.sh and ssh keys have no counterpart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/mpi.h"

enum { V1ALPHA1 = 1, V1ALPHA2 = 2, V1 = 4, V2BETA1 = 8, ALL = 15 };
enum { OPEN_MPI = 1, INTEL = 2, MPICH = 4, ANY = 7 };

static unsigned version_of(const struct job_spec *spec)
{
    static const unsigned versions[PLATFORM_KINDS] = {
        [PLATFORM_MPIJOB_V1ALPHA1] = V1ALPHA1,
        [PLATFORM_MPIJOB_V1ALPHA2] = V1ALPHA2,
        [PLATFORM_MPIJOB_V1] = V1,
        [PLATFORM_MPIJOB_V2BETA1] = V2BETA1,
    };

    return versions[spec->platform.environment];
}

static unsigned implementation_of(const struct job_spec *spec)
{
    static const char *const names[] = {"OpenMPI", "Intel", "MPICH"};

    for (size_t i = 0; spec->implementation && i < ARRAY_SIZE(names); i++)
        if (strcmp(spec->implementation, names[i]) == 0)
            return 1u << i;
    return OPEN_MPI;
}

/* --- variables -------------------------------------------------------------------------------- */

enum value { TEXT, ROLE, SLOTS, HOSTFILE };

#define RETRIES TEXT, "-o ConnectionAttempts=10"
/* In the operator's order. */
static const struct row {
    unsigned versions, implementations;
    bool everyone; /* else the launcher alone */
    bool no_ranks; /* only where no rank runs beside it */
    const char *name;
    enum value value;
    const char *text;
} rows[] = {
    {V2BETA1, ANY, true, false, "K_MPI_JOB_ROLE", ROLE, NULL},
    {V2BETA1, OPEN_MPI, false, false, "OMPI_MCA_orte_keep_fqdn_hostnames", TEXT, "true"},
    {ALL, OPEN_MPI, false, false, "OMPI_MCA_orte_default_hostfile", HOSTFILE, NULL},
    {V2BETA1, OPEN_MPI, false, false, "OMPI_MCA_plm_rsh_args", RETRIES},
    {V2BETA1, OPEN_MPI, false, false, "OMPI_MCA_orte_set_default_slots", SLOTS, NULL},
    {ALL, INTEL, false, false, "I_MPI_HYDRA_HOST_FILE", HOSTFILE, NULL},
    {V2BETA1, INTEL, false, false, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", RETRIES},
    {V2BETA1, INTEL, false, false, "I_MPI_PERHOST", SLOTS, NULL},
    {V1, ANY, false, false, "I_MPI_HYDRA_BOOTSTRAP", TEXT, "rsh"},
    {ALL, MPICH, false, false, "HYDRA_HOST_FILE", HOSTFILE, NULL},
    {V2BETA1, MPICH, false, false, "HYDRA_LAUNCH_EXTRA_ARGS", RETRIES},
    {V1ALPHA2 | V1 | V2BETA1, ANY, false, true, "NVIDIA_VISIBLE_DEVICES", TEXT, ""},
    {V1ALPHA2 | V1 | V2BETA1, ANY, false, true, "NVIDIA_DRIVER_CAPABILITIES", TEXT, ""},
    /* The operator does not know Open MPI 5 yet, which then sees one host only. */
    {V2BETA1, OPEN_MPI, false, false, "PRTE_MCA_prte_default_hostfile", HOSTFILE, NULL},
    {V2BETA1, OPEN_MPI, false, false, "PRTE_MCA_prte_set_default_slots", SLOTS, NULL},
};

static int32_t slots_of(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].kind == ROLE_HOST)
            return spec->roles[i].slots;
    return spec->n_roles ? spec->roles[0].slots : 1;
}

/* Where the operator's files are: elsewhere the container has them mounted, here they need no
 * mount. */
static const char *operator_dir(struct arena *a, const struct plan *plan, const struct role *role)
{
    if (plan->facts->site.operated)
        return plan->facts->site.run_dir;
    for (size_t i = 0; plan->facts->site.elsewhere && i < role->n_mounts; i++)
        if (role->mounts[i].source == VOLUME_OPERATOR)
            return role->mounts[i].path;
    return arena_printf(a, "%s/" PLAN_OPERATOR, plan->facts->site.run_dir);
}

static const char *value_of(struct env_set *set, const struct plan *plan, const struct role *role,
                            const struct row *row)
{
    switch (row->value) {
    case ROLE:
        return role->name;
    case SLOTS:
        return arena_printf(set->arena, "%d", slots_of(plan->spec));
    case HOSTFILE:
        return arena_printf(set->arena, "%s/" PLAN_HOSTFILE, operator_dir(set->arena, plan, role));
    case TEXT:
        break;
    }
    return row->text;
}

void env_mpi_operator(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct role *role = plan->replicas[process->replica].role;
    unsigned version = version_of(plan->spec), implementation = implementation_of(plan->spec);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];

        if (!(row->versions & version) || !(row->implementations & implementation) ||
            (!row->everyone && role->kind != ROLE_LAUNCHER) || (row->no_ranks && role->hosts_ranks))
            continue;
        set->local = row->value == HOSTFILE && !plan->facts->site.elsewhere;
        env_put(set, row->name, value_of(set, plan, role, row), ORIGIN_DIALECT, NULL);
        set->local = false;
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A script that tells the hosts to elastic Horovod, in the order that the operator gives them: the
 * launcher, then workers by their names as text. v1 tells their slots too. */
static const char *discover_text(struct arena *a, const struct plan *plan, bool slots)
{
    const char **hosts = ARENA_ARRAY(a, const char *, plan->n_replicas);
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    size_t n = 0, first = 0;

    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];

        if (!mpi_is_host(rp->role))
            continue;
        if (rp->role->kind == ROLE_LAUNCHER)
            first = n + 1;
        hosts[n++] = mpi_host_name(a, plan, rp, false);
    }
    if (n > first)
        qsort(hosts + first, n - first, sizeof(*hosts), by_name);
    strbuf_addstr(&sb, "#!/bin/sh\n");
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&sb, "echo %s", hosts[i]);
        if (slots)
            strbuf_addf(&sb, ":%d", slots_of(plan->spec));
        strbuf_addch(&sb, '\n');
    }
    return arena_strndup(a, sb.buf, sb.len);
}

void mpi_operator_files(struct arena *a, struct plan *plan)
{
    unsigned version = version_of(plan->spec);

    if (!version)
        return;
    plan->operator_hostfile = mpi_hostfile(a, plan, implementation_of(plan->spec) != OPEN_MPI);
    if (version & (V1 | V2BETA1))
        plan->discover_hosts = discover_text(a, plan, version == V1);
}
