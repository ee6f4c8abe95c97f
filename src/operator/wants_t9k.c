/* wants_t9k.c - the objects of TensorStack's MPIJob: launcher and workers are pods, the launcher
 * runs the mpirun line of the plan, the workers sshd.
 *
 * Their controller is not public: names of pods are documented, the rest follows their other kinds
 * and Kubeflow's.
 */
#include <string.h>

#include "kube/write.h"
#include "operator/wants_parts.h"

#define T9K "t9k"
#define GROUP "tensorstack.dev/"
#define COMPONENT "mpijob"
#define KEYS_PATH "/root/.ssh"
#define SSHD "/usr/sbin/sshd"
/* The images are their users': nobody else has put host keys into them. */
#define SSH_ARGS                                                                                   \
    "-o ConnectionAttempts=10 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"

static size_t list(struct arena *a, const struct served *s, const struct want **ret)
{
    return mpi_list(a, s, WANT_POD, ret);
}

static struct node *labels_of_job(struct arena *a, const struct served *s, struct node *labels)
{
    want_put(a, labels, COMPONENT, s->name);
    want_put(a, labels, GROUP "component", COMPONENT);
    return labels;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Do the options of mpirun pass that variable on? */
static bool is_exported(const struct mpi_spec *mpi, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *arg = mpi->extra_args; arg[0] && arg[1]; arg++)
        if (strcmp(arg[0], "-x") == 0 && strncmp(arg[1], name, n) == 0 &&
            (arg[1][n] == '\0' || arg[1][n] == '='))
            return true;
    return false;
}

/* A process that sshd starts has none of its container's variables: mpirun passes them on. */
static const char *const *with_exports(struct arena *a, const struct job_spec *spec,
                                       const char *const *argv)
{
    const struct role *worker = spec_role(spec, "worker");
    size_t n = 0, k = 0;
    const char **line;

    while (argv[n])
        n++;
    line = ARENA_ARRAY(a, const char *, n + 2 * worker->n_env + 1);
    line[k++] = argv[0];
    for (size_t i = 0; i < worker->n_env; i++)
        if (!is_exported(spec->mpi, worker->env[i].name)) {
            line[k++] = "-x";
            line[k++] = worker->env[i].name;
        }
    memcpy(line + k, argv + 1, (n - 1) * sizeof(*line));
    return line;
}

/* What the file says of the role for this start, which is another than the first; or NULL. */
static const struct debug_role *mode_of(const struct job_spec *spec, const struct role *role,
                                        struct start start)
{
    const struct debug_role *v = start.debug ? spec->debug_roles : spec->resume_roles;
    size_t n = start.debug ? spec->n_debug_roles : spec->n_resume_roles;

    for (size_t i = 0; (start.debug || start.resumed) && i < n; i++)
        if (v[i].role && strcmp(v[i].role, role->name) == 0)
            return &v[i];
    return NULL;
}

static void put_command(struct arena *a, const struct plan *plan, const struct replica *rp,
                        struct start start, struct node *container)
{
    static const char *const sleep[] = {"sleep", "inf", NULL};
    const struct debug_role *mode = mode_of(plan->spec, rp->role, start);
    const char *path = plan->spec->mpi->sshd_path;
    const char *sshd[] = {path ? path : SSHD, "-De", NULL};
    const char *const *argv = sshd;

    if (mode && mode->command && mode->command[0]) {
        make_put(a, container, "args", make_texts(a, mode->args));
        argv = mode->command;
    } else if (rp->role->kind == ROLE_LAUNCHER) {
        argv = start.debug ? sleep
                           : with_exports(a, plan->spec, plan->processes[rp->first_process].argv);
    }
    make_put(a, container, "command", make_texts(a, argv));
}

static void drop_init(struct arena *a, const struct plan *plan, const struct replica *rp,
                      struct start start, struct node *template)
{
    bool runs = false;

    for (size_t i = 0; i < rp->role->n_init; i++)
        runs = runs || plan_runs_init(plan, rp, i, start);
    if (!runs)
        make_drop(make_below(a, template, "spec"), "initContainers");
}

/* --- pods ------------------------------------------------------------------------------------- */

static void put_labels(struct arena *a, const struct served *s, const struct replica *rp,
                       struct node *template)
{
    struct node *labels = make_below(a, make_below(a, template, "metadata"), "labels");

    (void)labels_of_job(a, s, labels);
    want_put(a, labels, COMPONENT "-replica", rp->host);
    want_put(a, labels, GROUP "component-type", "user");
    want_put(a, labels, GROUP "owner-name", s->name);
}

/* T9k's scheduler; without a PodGroup its queue counts, but not the job's priority. */
static void put_scheduler(struct arena *a, const struct served *s, struct node *template)
{
    const struct node *scheduler = node_find(s->object, "spec", "scheduler", "t9kScheduler", NULL);
    const char *queue = node_text(node_get(scheduler, "queue"), "default");
    struct node *labels = make_below(a, make_below(a, template, "metadata"), "labels");

    if (!scheduler)
        return;
    want_put(a, make_below(a, template, "spec"), "schedulerName", T9K "-scheduler");
    want_put(a, labels, "scheduler." GROUP "queue", queue);
}

/* What runs while somebody debugs is called by hand, and is not recorded. */
static void add_records(struct arena *a, const struct served *s, const struct replica *rp,
                        const struct want_state *st, struct node *template, struct node *container)
{
    bool launcher = rp->role->kind == ROLE_LAUNCHER;

    if (!s->records || (launcher && (!st->recorded || st->start.debug)))
        return;
    want_add_agent(a, s, template, container);
    if (launcher)
        want_record_launcher(a, s, container);
    else
        want_mark_recorded(a, s, template);
}

static const struct node *pod(struct arena *a, const struct served *s, const struct replica *rp,
                              const struct want_state *st)
{
    const struct kube_writing w = {.a = a, .spec = s->plan->spec};
    const struct pod_wish wish = {.command = POD_NO_COMMAND};
    struct node *template = kube_template(&w, rp->role, &wish), *container;
    const char *path = node_text(node_find(s->object, "spec", "ssh", "sshAuthMountPath", NULL), "");

    container = want_container(a, template, w.spec->container);
    put_labels(a, s, rp, template);
    put_scheduler(a, s, template);
    mpi_put_host(a, s, rp, template);
    mpi_put_search(a, s, template);
    drop_init(a, s->plan, rp, st->start, template);
    want_put(a, make_below(a, template, "spec"), "restartPolicy", "Never");
    put_command(a, s->plan, rp, st->start, container);
    mpi_add_keys(a, s, *path ? path : KEYS_PATH, template, container);
    if (rp->role->kind == ROLE_LAUNCHER) {
        want_add_env(a, container, "OMPI_MCA_plm_rsh_args", SSH_ARGS);
        want_add_env(a, container, "PRTE_MCA_plm_ssh_args", SSH_ARGS);
        mpi_add_config(a, s, (struct mpi_files){.hostfile = true}, template, container);
    }
    add_records(a, s, rp, st, template, container);
    return want_pod(a, s, rp->host, template, st);
}

static const struct node *object(struct arena *a, const struct served *s, const struct want *w,
                                 const struct want_state *st)
{
    switch (w->kind) {
    case WANT_SERVICE:
        return want_service(a, s, w->name, labels_of_job(a, s, make_map(a)));
    case WANT_CONFIG_MAP:
        return mpi_is_agent(a, s, w) ? want_agent_map(a, s, st)
                                     : mpi_config_map(a, s, s->plan->hostfile);
    case WANT_SECRET:
        return mpi_secret(a, s, w, st);
    default:
        return pod(a, s, &s->plan->replicas[w->replica], st);
    }
}

static const char *selector(struct arena *a, const struct served *s)
{
    return arena_printf(a, COMPONENT "=%s," GROUP "component=" COMPONENT, s->name);
}

const struct wants_way wants_t9k = {list, object, selector};
