/* wants_mpi_old.c - the objects of Kubeflow's MPIJob v1, v1alpha2 and v1alpha1.
 *
 * Their workers sleep, and mpirun in the launcher starts its daemons in them through kubexec.sh.
 * Upstream's calls `kubectl exec`: kubectl comes from an image that an init container runs, and the
 * launcher's service account may exec. Ours calls muster-shim, which a ConfigMap brings into all
 * pods, and which is the first process of a worker (shim/host.h); the job's key is in a Secret. So
 * nothing is pulled, and the launcher needs no right. The headless Service is ours, too: the shim
 * finds workers by their names.
 *
 * Workers of v1alpha1 and v1alpha2 are a StatefulSet upstream. Here they are pods of the same
 * names: with one controller less in between, a lost worker is known and replaced at once.
 */
#include <string.h>

#include "operator/wants_parts.h"

#define AGENT WANT_AGENT_OLD_PATH "/muster-shim"
#define KEY WANT_AGENT_OLD_PATH "/key"
#define KUBEXEC "/etc/mpi/" MPI_KUBEXEC
#define MASTER "node-role.kubernetes.io/master"

static enum platform_kind version_of(const struct served *s)
{
    return s->plan->spec->platform.environment;
}

static bool is_v1(const struct served *s)
{
    return version_of(s) == PLATFORM_MPIJOB_V1;
}

/* --- the list --------------------------------------------------------------------------------- */

static const struct replica *launcher_of(const struct plan *plan)
{
    return &plan->replicas[plan->processes[plan->launcher].replica];
}

/* The account that the file gives the launcher; "": none. */
static const char *given_account(const struct served *s)
{
    const struct node *pod = node_get(launcher_of(s->plan)->role->template_at, "spec");

    return node_text(node_get(pod, "serviceAccountName"), "");
}

static size_t list(struct arena *a, const struct served *s, const struct want **ret)
{
    static const enum want_kind rights[] = {WANT_SERVICE_ACCOUNT, WANT_ROLE, WANT_ROLE_BINDING};
    const struct plan *plan = s->plan;
    const struct replica *launcher = launcher_of(plan);
    struct want *v = ARENA_ARRAY(a, struct want, 7 + plan->n_replicas);
    size_t n = 0;

    v[n++] = (struct want){WANT_SERVICE, s->name, -1};
    v[n++] = (struct want){WANT_CONFIG_MAP, arena_printf(a, "%s-config", s->name), -1};
    v[n++] = (struct want){WANT_CONFIG_MAP, want_agent_name(a, s), -1};
    v[n++] = (struct want){WANT_SECRET, want_agent_name(a, s), -1};
    for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
        if (rights[i] != WANT_SERVICE_ACCOUNT || !*given_account(s))
            v[n++] = (struct want){rights[i], launcher->host, -1};
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (&plan->replicas[i] != launcher)
            v[n++] = (struct want){WANT_POD, plan->replicas[i].host, (int32_t)i};
    v[n++] = (struct want){is_v1(s) ? WANT_POD : WANT_JOB, launcher->host, (int32_t)launcher->id};
    *ret = v;
    return n;
}

/* --- what pods mount -------------------------------------------------------------------------- */

static const char *domain_of(struct arena *a, const struct served *s)
{
    const char *domain = s->options->cluster_domain;
    bool has = domain && *domain;

    return arena_printf(a, "%s.%s.svc%s%s", s->name, s->namespace_, has ? "." : "",
                        has ? domain : "");
}

static const struct node *config_map(struct arena *a, const struct served *s,
                                     const struct want_state *st)
{
    struct node *root = mpi_config_map(a, s, s->plan->operator_hostfile);
    struct node *data = make_below(a, root, "data");

    want_put(
        a, data, MPI_KUBEXEC,
        arena_printf(a, "#!/bin/sh\nexec " AGENT " kubexec " KEY " %s \"$@\"\n", domain_of(a, s)));
    if (is_v1(s))
        want_put(a, data, PLAN_DISCOVER_HOSTS, mpi_discover_text(a, s->plan, st->running));
    return root;
}

/* --- rights ----------------------------------------------------------------------------------- */

static const struct node *account(struct arena *a, const struct served *s, const struct want *w)
{
    struct node *root = want_root(a, s, "v1", "ServiceAccount", w->name);

    mpi_put_app(a, s, root);
    return root;
}

/* Scripts of a launcher look at pods with it; upstream's also has the right to exec in workers. */
static const struct node *role(struct arena *a, const struct served *s, const struct want *w)
{
    static const char *const core[] = {"", NULL}, *const pods[] = {"pods", NULL},
                             *const verbs[] = {"get", "list", "watch", NULL};
    struct node *root = want_root(a, s, "rbac.authorization.k8s.io/v1", "Role", w->name);
    struct node *rule = make_map(a);

    mpi_put_app(a, s, root);
    make_put(a, rule, "verbs", make_texts(a, verbs));
    make_put(a, rule, "apiGroups", make_texts(a, core));
    make_put(a, rule, "resources", make_texts(a, pods));
    make_add(a, make_list_below(a, root, "rules"), rule);
    return root;
}

static const struct node *role_binding(struct arena *a, const struct served *s,
                                       const struct want *w)
{
    struct node *root = want_root(a, s, "rbac.authorization.k8s.io/v1", "RoleBinding", w->name);
    struct node *subject = make_map(a), *ref;
    const char *given = given_account(s);

    mpi_put_app(a, s, root);
    want_put(a, subject, "kind", "ServiceAccount");
    want_put(a, subject, "name", *given ? given : w->name);
    want_put(a, subject, "namespace", s->namespace_);
    make_add(a, make_list_below(a, root, "subjects"), subject);
    ref = make_below(a, root, "roleRef");
    want_put(a, ref, "apiGroup", "rbac.authorization.k8s.io");
    want_put(a, ref, "kind", "Role");
    want_put(a, ref, "name", w->name);
    return root;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* By which we find the pods of any version, and the Service its pods. */
static struct node *labels_of_job(struct arena *a, const struct served *s, struct node *labels)
{
    want_put(a, labels, LABEL_OPERATOR, is_v1(s) ? KIND_MPI_V1 : s->kind->operator_name);
    want_put(a, labels, LABEL_JOB, s->name);
    return labels;
}

/* And those that upstream's operators gave them: v1 was served by two, one after the other. */
static void put_labels(struct arena *a, const struct served *s, const struct replica *rp,
                       struct node *template)
{
    struct node *labels = make_below(a, make_below(a, template, "metadata"), "labels");
    bool launcher = rp->role->kind == ROLE_LAUNCHER, v1 = is_v1(s);

    (void)labels_of_job(a, s, labels);
    if (v1)
        want_put(a, labels, LABEL_TYPE, rp->role->name);
    if (!v1 || launcher)
        want_put(a, labels, LABEL_ROLE, v1 ? "master" : rp->role->name);
    if (!launcher)
        want_put(a, labels, LABEL_INDEX, arena_printf(a, "%d", rp->index));
    want_put(a, labels, v1 ? "group-name" : "group_name", "kubeflow.org");
    want_put(a, labels, v1 ? "mpi-job-name" : "mpi_job_name", s->name);
    want_put(a, labels, v1 ? "mpi-job-role" : "mpi_role_type", rp->role->name);
}

/* v1alpha1 has one template for both, and a StatefulSet's pods are always restarted. */
static void put_restart(struct arena *a, const struct served *s, const struct replica *rp,
                        struct node *template)
{
    struct node *pod = make_below(a, template, "spec");
    const struct node *from =
        version_of(s) == PLATFORM_MPIJOB_V1ALPHA1 ? pod : rp->role->template_at->parent;
    const char *said = node_text(node_get(from, "restartPolicy"), "");

    if (is_v1(s))
        want_put_restart(a, rp->role, "Never", template);
    else if (rp->role->kind == ROLE_LAUNCHER)
        want_put(a, pod, "restartPolicy", strcmp(said, "Never") == 0 ? said : "OnFailure");
    else
        want_put(a, pod, "restartPolicy", "Always");
}

static struct node *template_of(struct arena *a, const struct served *s, const struct replica *rp)
{
    struct node *template = want_template(a, rp->role);

    put_labels(a, s, rp, template);
    want_put_gang(a, s, version_of(s) == PLATFORM_MPIJOB_V1ALPHA2, is_v1(s) ? rp->role->name : NULL,
                  template);
    mpi_put_host(a, s, rp, template);
    mpi_put_search(a, s, template);
    put_restart(a, s, rp, template);
    return template;
}

/* --- workers ---------------------------------------------------------------------------------- */

/* The total of v1alpha1 that was spread over the workers becomes a limit of each. */
static void put_units(struct arena *a, const struct served *s, const struct replica *rp,
                      struct node *container)
{
    const struct node *spec = node_get(s->object, "spec");
    const char *type = node_text(node_get(spec, "processingResourceType"), "nvidia.com/gpu");
    const struct resources *res = &rp->role->res;
    int64_t units = strcmp(type, "cpu") == 0 ? res->cpu_limit_milli / 1000 : res->gpu;

    if (version_of(s) != PLATFORM_MPIJOB_V1ALPHA1 || !node_absent(spec, "replicas") || units <= 0)
        return;
    make_put(a, make_below(a, make_below(a, container, "resources"), "limits"), type,
             make_text(a, arena_printf(a, "%lld", (long long)units)));
}

/* The command of the container that ranks run in becomes a child of the agent. */
static void put_agent(struct arena *a, const struct served *s, struct node *template,
                      struct node *container)
{
    static const char *const host[] = {AGENT, "host", KEY, "--"}, *const sleep[] = {"365d", NULL};
    const struct node *own = node_get(container, "command");
    struct node *command = make_seq(a);

    if (version_of(s) == PLATFORM_MPIJOB_V1ALPHA1)
        own = NULL; /* it is the launcher's */
    for (size_t i = 0; i < ARRAY_SIZE(host); i++)
        make_add(a, command, make_text(a, host[i]));
    for (size_t i = 0; own && own->type == NODE_SEQ && i < own->n; i++)
        make_add(a, command, own->items[i]);
    if (command->n == ARRAY_SIZE(host)) {
        make_add(a, command, make_text(a, "sleep"));
        make_put(a, container, "args", make_texts(a, sleep));
    }
    make_put(a, container, "command", command);
    want_add_agent(a, s, template, container);
}

static const struct node *worker_pod(struct arena *a, const struct served *s,
                                     const struct replica *rp, const struct want_state *st)
{
    const char *main = node_text(node_find(s->object, "spec", "mainContainer", NULL), "");
    struct node *template = template_of(a, s, rp);
    struct node *container = want_container(a, template, *main ? main : NULL);

    put_units(a, s, rp, want_container(a, template, NULL));
    put_agent(a, s, template, container);
    want_mark_recorded(a, s, template);
    /* Open MPI looks for its agent in every rank. */
    mpi_add_config(a, s, (struct mpi_files){.kubexec = true}, template, container);
    return want_pod(a, s, rp->host, template, st);
}

/* --- the launcher ----------------------------------------------------------------------------- */

static bool has_env(const struct node *container, const char *name)
{
    const struct node *env = node_get(container, "env");

    for (size_t i = 0; env && env->type == NODE_SEQ && i < env->n; i++)
        if (strcmp(node_text(node_get(env->items[i], "name"), ""), name) == 0)
            return true;
    return false;
}

/* Intel's variables of v1 are defaults; all others are set whatever the file says. */
static void add_env(struct arena *a, const struct served *s, const struct replica *rp,
                    struct node *container)
{
    static const struct {
        const char *implementation, *name, *value;
    } agents[] = {{"OpenMPI", "OMPI_MCA_plm_rsh_agent", KUBEXEC},
                  /* which upstream does not know: Open MPI 5 */
                  {"OpenMPI", "PRTE_MCA_plm_ssh_agent", KUBEXEC},
                  {"OpenMPI", "PRTE_MCA_prte_default_hostfile", "/etc/mpi/" PLAN_HOSTFILE},
                  {"Intel", "I_MPI_HYDRA_BOOTSTRAP_EXEC", KUBEXEC},
                  {"MPICH", "HYDRA_LAUNCHER_EXEC", KUBEXEC}};
    const char *mpi = s->plan->spec->implementation;
    const struct env_value *v;
    size_t n = plan_operator_env(a, s->plan, rp->first_process, &v);

    for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
        if (strcmp(mpi ? mpi : "OpenMPI", agents[i].implementation) == 0)
            want_add_env(a, container, agents[i].name, agents[i].value);
    for (size_t i = 0; i < n; i++)
        if (strncmp(v[i].name, "I_MPI_", 6) != 0 || !is_v1(s) || !has_env(container, v[i].name))
            want_add_env(a, container, v[i].name, v[i].value);
    if (is_v1(s) && !has_env(container, "I_MPI_HYDRA_BOOTSTRAP_EXEC"))
        want_add_env(a, container, "I_MPI_HYDRA_BOOTSTRAP_EXEC", KUBEXEC);
}

static void put_on_master(struct arena *a, struct node *pod)
{
    struct node *toleration = make_map(a), *term = make_map(a), *match = make_map(a), *node;

    want_put(a, toleration, "key", MASTER);
    want_put(a, toleration, "effect", "NoSchedule");
    make_drop(pod, "tolerations");
    make_add(a, make_list_below(a, pod, "tolerations"), toleration);
    want_put(a, match, "key", MASTER);
    want_put(a, match, "operator", "Exists");
    make_add(a, make_list_below(a, term, "matchExpressions"), match);
    make_drop(pod, "affinity");
    node = make_below(a, make_below(a, pod, "affinity"), "nodeAffinity");
    node = make_below(a, node, "requiredDuringSchedulingIgnoredDuringExecution");
    make_add(a, make_list_below(a, node, "nodeSelectorTerms"), term);
}

static struct node *launcher_template(struct arena *a, const struct served *s,
                                      const struct replica *rp, const struct want_state *st)
{
    struct node *template = template_of(a, s, rp), *pod = make_below(a, template, "spec");
    struct node *container = want_container(a, template, NULL);
    const struct node *on_master = node_find(s->object, "spec", "launcherOnMaster", NULL);

    if (version_of(s) == PLATFORM_MPIJOB_V1ALPHA1)
        make_drop(container, "resources"); /* they are the workers' */
    if (on_master && on_master->type == NODE_BOOL && on_master->i)
        put_on_master(a, pod);
    if (!*given_account(s))
        want_put(a, pod, "serviceAccountName", rp->host);
    add_env(a, s, rp, container);
    want_add_agent(a, s, template, container);
    if (want_waits(s, rp->role, st->start))
        want_put_waiting(a, container);
    else if (s->records && st->recorded)
        want_record_launcher(a, s, container);
    mpi_add_config(
        a, s, (struct mpi_files){.kubexec = true, .hostfile = true, .discover_hosts = is_v1(s)},
        template, container);
    return template;
}

/* runPolicy of v1alpha2 counts before the same keys of spec. */
static const struct node *policy(const struct served *s, const char *key)
{
    const struct node *spec = node_get(s->object, "spec");
    const struct node *run = node_get(spec, "runPolicy");

    return run && !node_absent(run, key) ? node_get(run, key) : node_get(spec, key);
}

static const struct node *launcher_job(struct arena *a, const struct served *s,
                                       const struct replica *rp, const struct want_state *st)
{
    const struct node *limit = policy(s, "backoffLimit");
    struct node *root = want_root(a, s, "batch/v1", "Job", rp->host);
    struct node *spec = make_below(a, root, "spec"), *template = launcher_template(a, s, rp, st);

    make_put(a, make_below(a, root, "metadata"), "labels",
             node_find(template, "metadata", "labels", NULL));
    make_put(a, spec, "backoffLimit", limit ? limit : make_int(a, 6));
    make_put(a, spec, "activeDeadlineSeconds", policy(s, "activeDeadlineSeconds"));
    mpi_put_job_template(a, s, template, spec);
    if (want_waits(s, rp->role, st->start))
        want_mark_waiting(a, root);
    if (st->suspended)
        make_put(a, spec, "suspend", make_bool(a, true));
    return root;
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct node *service(struct arena *a, const struct served *s)
{
    struct node *root = want_service(a, s, s->name, labels_of_job(a, s, make_map(a)));

    mpi_put_app(a, s, root);
    make_put(a, make_below(a, root, "spec"), "publishNotReadyAddresses", make_bool(a, true));
    return root;
}

static const struct node *object(struct arena *a, const struct served *s, const struct want *w,
                                 const struct want_state *st)
{
    const struct replica *rp = &s->plan->replicas[w->replica < 0 ? 0 : w->replica];

    switch (w->kind) {
    case WANT_SERVICE:
        return service(a, s);
    case WANT_CONFIG_MAP:
        return strcmp(w->name, want_agent_name(a, s)) == 0 ? want_agent_map(a, s, st)
                                                           : config_map(a, s, st);
    case WANT_SECRET:
        return want_agent_secret(a, s, st);
    case WANT_SERVICE_ACCOUNT:
        return account(a, s, w);
    case WANT_ROLE:
        return role(a, s, w);
    case WANT_ROLE_BINDING:
        return role_binding(a, s, w);
    case WANT_JOB:
        return launcher_job(a, s, rp, st);
    default:
        return rp->role->kind == ROLE_LAUNCHER
                   ? want_pod(a, s, rp->host, launcher_template(a, s, rp, st), st)
                   : worker_pod(a, s, rp, st);
    }
}

static const char *selector(struct arena *a, const struct served *s)
{
    return arena_printf(a, LABEL_OPERATOR "=%s," LABEL_JOB "=%s",
                        is_v1(s) ? KIND_MPI_V1 : s->kind->operator_name, s->name);
}

const struct wants_way wants_mpi_old = {list, object, selector};
