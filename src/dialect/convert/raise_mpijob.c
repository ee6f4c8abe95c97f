/* raise_mpijob.c - writes a job as Kubeflow's MPIJob v2beta1. */
#include <string.h>

#include "base/num.h"
#include "dialect/convert/raise.h"
#include "spec/command.h"

#define SELF "kubeflow-mpi-v2beta1"

static const struct role *role_of_kind(const struct job_spec *spec, enum role_kind kind)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].kind == kind)
            return &spec->roles[i];
    return NULL;
}

/* The operator writes a number of slots for each worker; a line that only has a total needs as many
 * as let it fit. */
static int32_t slots_of(struct raising *r, const struct role *worker)
{
    const struct mpi_spec *mpi = r->spec->mpi;
    int64_t np = 0;

    if (worker->slots_kind == SLOTS_NUMBER || !mpi)
        return worker->slots;
    for (size_t i = 0; mpi->extra_args[i] && mpi->extra_args[i + 1]; i++)
        if (strcmp(mpi->extra_args[i], "-np") == 0 || strcmp(mpi->extra_args[i], "-n") == 0)
            (void)num_i64(mpi->extra_args[i + 1], &np);
    return np > worker->replicas ? (int32_t)(np / worker->replicas + (np % worker->replicas != 0))
                                 : 1;
}

/* Not every restart policy of others is taken: whoever starts again at all does so after failures.
 */
static struct role tamed(const struct role *role)
{
    struct role copy = *role;

    if (role->restart == RESTART_ALWAYS || role->restart == RESTART_EXIT_CODE)
        copy.restart = RESTART_ON_FAILURE;
    return copy;
}

/* --- variables of the ranks ----------------------------------------------------------------- */

static const struct env_entry *env_named(const struct role *role, const char *name)
{
    for (size_t i = 0; i < role->n_env; i++)
        if (strcmp(role->env[i].name, name) == 0)
            return &role->env[i];
    return NULL;
}

static bool hands_on(const char *const *argv, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; argv[i] && argv[i + 1]; i++)
        if (strcmp(argv[i], "-x") == 0 && strncmp(argv[i + 1], name, n) == 0 &&
            (!argv[i + 1][n] || argv[i + 1][n] == '='))
            return true;
    return false;
}

/* What -x says of a worker's variable; NULL: nothing can be said. */
static const char *export_of(struct raising *r, const struct role *launcher,
                             const struct env_entry *e)
{
    const struct env_entry *same = env_named(launcher, e->name);

    if (same && same->source == e->source &&
        (e->source != ENV_LITERAL || !strcmp(same->value, e->value)))
        return e->name;
    return e->source == ENV_LITERAL && !strchr(e->value, '$')
               ? arena_printf(r->a, "%s=%s", e->name, e->value)
               : NULL;
}

/* A rank that is started by sshd has none of its container's variables: mpirun has to hand them on,
 * which those do by themselves that compose its line. */
static void export_variables(struct raising *r, const struct role *worker, struct role *launcher)
{
    const char *implementation = r->spec->implementation;
    const char *const *line = spec_command(r->a, r->spec, launcher);
    const char **argv;
    size_t n = 0, k = 1;

    if (!r->spec->mpi || launcher->argv || launcher->shell ||
        (implementation && strcmp(implementation, "OpenMPI") != 0))
        return;
    while (line[n])
        n++;
    argv = ARENA_ARRAY(r->a, const char *, n + 2 * worker->n_env + 1);
    argv[0] = line[0];
    for (size_t i = 0; i < worker->n_env; i++) {
        const char *word = export_of(r, launcher, &worker->env[i]);

        if (!word || hands_on(line, worker->env[i].name))
            continue;
        argv[k++] = "-x";
        argv[k++] = word;
    }
    memcpy(argv + k, line + 1, (n - 1) * sizeof(*argv));
    launcher->argv = argv;
    launcher->expand_argv = true; /* as it is written now */
}

/* A Job starts its launcher again six times if nobody says how often. Where the launcher was no
 * Job, that has to be said. */
static void put_policy(struct raising *r, struct node *spec, const struct role *launcher)
{
    static const char *const with_jobs[] = {"kubeflow-mpi-v1alpha1", "kubeflow-mpi-v1alpha2", SELF};
    struct node *policy = raise_run_policy(r);
    bool job = false;

    for (size_t i = 0; i < ARRAY_SIZE(with_jobs); i++)
        job = job || strcmp(r->spec->dialect, with_jobs[i]) == 0;
    if (!job && launcher->restart == RESTART_NEVER) {
        policy = policy ? policy : make_map(r->a);
        make_put(r->a, policy, "backoffLimit", make_int(r->a, 0));
    }
    make_put(r->a, spec, "runPolicy", policy);
}

const struct node *raise_mpijob(struct arena *a, const struct job_spec *job, struct losses *losses)
{
    struct raising r = {a, job, losses};
    const struct role *launcher = role_of_kind(job, ROLE_LAUNCHER);
    const struct role *worker = role_of_kind(job, ROLE_HOST);
    bool own = strcmp(job->dialect, SELF) == 0;
    struct node *root, *spec, *replicas;
    struct role role;

    if (!launcher)
        return loss_refuse(losses, "E0701", NULL,
                           "an MPIJob needs a launcher that calls mpirun; this job has none");
    if (job->n_roles > (worker ? 2u : 1u))
        return loss_refuse(losses, "E0702", NULL,
                           "an MPIJob has a launcher and one worker role; this job has %zu roles",
                           job->n_roles);
    root = raise_object(&r, "kubeflow.org/v2beta1", "MPIJob");
    spec = make_below(a, root, "spec");
    if (worker)
        make_put(a, spec, "slotsPerWorker", make_int(a, slots_of(&r, worker)));
    else if (launcher->slots > 1)
        make_put(a, spec, "slotsPerWorker", make_int(a, launcher->slots));
    if (launcher->hosts_ranks)
        make_put(a, spec, "runLauncherAsWorker", make_bool(a, true));
    if (job->implementation && strcmp(job->implementation, "OpenMPI") != 0)
        make_put(a, spec, "mpiImplementation", make_text(a, job->implementation));
    put_policy(&r, spec, launcher);
    make_put(a, spec, "sshAuthMountPath", raise_ssh_mount(&r));
    replicas = make_below(a, spec, "mpiReplicaSpecs");
    role = tamed(launcher);
    if (worker)
        export_variables(&r, worker, &role);
    loss_pair(losses, launcher->name, "launcher");
    make_put(a, replicas, "Launcher",
             raise_replica(&r, &role, 1, RESTART_ON_FAILURE,
                           &(struct pod_wish){.image = true, .first = true}));
    if (!worker)
        return root;
    role = tamed(worker);
    loss_pair(losses, worker->name, "worker");
    make_put(a, replicas, "Worker",
             raise_replica(&r, &role, worker->replicas, RESTART_NEVER,
                           &(struct pod_wish){.command = own ? POD_AS_IT_IS : POD_NO_COMMAND,
                                              .image = true,
                                              .first = true}));
    return root;
}
