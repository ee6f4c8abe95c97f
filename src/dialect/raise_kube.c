/* raise_kube.c - what raised Kubernetes objects share: metadata, Kubeflow's policies and replicas. */
#include <string.h>

#include "dialect/raise.h"

/* Room for what is appended to a job's name: "-worker-8191". */
enum { NAME_MAX_RAISED = 63 - 12 };

/* As a Service may be called: lower case, letters first. Names of Kubernetes' own stay. */
static const char *kube_name(struct arena *a, const char *name)
{
    char *made = arena_printf(a, "%s%s", name[0] >= '0' && name[0] <= '9' ? "job-" : "", name);
    size_t n = 0;

    for (; made[n]; n++) {
        char c = made[n];

        if (c >= 'A' && c <= 'Z')
            made[n] = (char)(c - 'A' + 'a');
        else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            made[n] = '-';
    }
    if (n > NAME_MAX_RAISED)
        n = NAME_MAX_RAISED;
    while (n > 1 && made[n - 1] == '-')
        n--;
    made[n] = '\0';
    return made;
}

bool raise_name_is_generated(const struct job_spec *spec)
{
    const char *generate = spec->generate;
    size_t n = generate ? strlen(generate) : 0;

    while (n > 1 && generate[n - 1] == '-')
        n--;
    return generate && strlen(spec->name) == n && strncmp(spec->name, generate, n) == 0;
}

/* Labels and annotations of another Kubernetes object: the model has no place for them. */
static void put_labels(struct raising *r, struct node *meta)
{
    static const char *const keys[] = {"labels", "annotations"};
    const struct node *source = node_get(r->spec->root_at, "metadata");

    if (!source)
        source = r->spec->root_at; /* muster/v1 has them at the top */
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *map = node_get(source, keys[i]);

        if (map && map->type == NODE_MAP)
            make_put(r->a, meta, keys[i], make_copy(r->a, map));
    }
}

struct node *raise_object(struct raising *r, const char *api_version, const char *kind)
{
    struct node *root = make_map(r->a), *meta = make_map(r->a);

    make_put(r->a, root, "apiVersion", make_text(r->a, api_version));
    make_put(r->a, root, "kind", make_text(r->a, kind));
    make_put(r->a, meta, "generateName", make_text(r->a, r->spec->generate));
    if (!raise_name_is_generated(r->spec))
        make_put(r->a, meta, "name", make_text(r->a, kube_name(r->a, r->spec->name)));
    make_put(r->a, meta, "namespace", make_text(r->a, r->spec->namespace_));
    put_labels(r, meta);
    make_put(r->a, root, "metadata", meta);
    return root;
}

const struct node *raise_ssh_mount(struct raising *r)
{
    const struct node *root = r->spec->root_at;
    const struct node *kubeflow = node_find(root, "spec", "sshAuthMountPath", NULL);
    const struct node *t9k = node_find(root, "spec", "ssh", "sshAuthMountPath", NULL);

    if (!kubeflow && !t9k)
        return NULL;
    return make_copy(r->a, kubeflow ? kubeflow : t9k);
}

/* --- Kubeflow ------------------------------------------------------------------------------- */

/* What the model does not hold of another Kubeflow job's scheduling stays with it. */
static struct node *scheduling(struct raising *r)
{
    const struct node *have =
        node_find(r->spec->root_at, "spec", "runPolicy", "schedulingPolicy", NULL);
    struct node *map = have && have->type == NODE_MAP ? make_copy(r->a, have) : make_map(r->a);

    make_put(r->a, map, "queue", make_text(r->a, r->spec->queue));
    return map;
}

/* So many starts after failures: the roles' own limits, as far as they agree, else the job's. */
static int32_t backoff_limit(const struct job_spec *spec)
{
    int32_t limit = spec->has_restart_budget ? spec->restart_budget : -1;

    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].restart != RESTART_NEVER && spec->roles[i].restart_limit > limit)
            limit = spec->roles[i].restart_limit;
    return limit;
}

/* Other systems stop what still runs when a job is over; here that has to be said. */
struct node *raise_run_policy(struct raising *r)
{
    static const char *const clean_ups[] = {[CLEAN_UP_UNSAID] = NULL,
                                            [CLEAN_UP_NONE] = "None",
                                            [CLEAN_UP_RUNNING] = "Running",
                                            [CLEAN_UP_ALL] = "All"};
    const struct job_spec *spec = r->spec;
    struct node *map = make_map(r->a);
    const struct node *manager = node_find(spec->root_at, "spec", "runPolicy", "managedBy", NULL);
    int32_t limit = backoff_limit(spec);

    make_put(r->a, map, "cleanPodPolicy",
             make_text(r->a, clean_ups[spec->clean_up_workers ? CLEAN_UP_ALL : spec->clean_up]));
    if (spec->clean_up == CLEAN_UP_UNSAID && spec->framework != FRAMEWORK_MPI)
        make_put(r->a, map, "cleanPodPolicy", make_text(r->a, "Running"));
    if (spec->has_ttl)
        make_put(r->a, map, "ttlSecondsAfterFinished", make_int(r->a, spec->ttl_s));
    if (spec->deadline_s)
        make_put(r->a, map, "activeDeadlineSeconds", make_int(r->a, spec->deadline_s));
    if (limit >= 0)
        make_put(r->a, map, "backoffLimit", make_int(r->a, limit));
    if (spec->pause)
        make_put(r->a, map, "suspend", make_bool(r->a, true));
    make_put(r->a, map, "managedBy", manager ? make_copy(r->a, manager) : NULL);
    make_put(r->a, map, "schedulingPolicy", scheduling(r));
    make_drop_empty(map, "schedulingPolicy");
    return map->n ? map : NULL;
}

const struct node *raise_restart(struct raising *r, const struct role *role,
                                 enum restart_policy preset)
{
    static const char *const words[] = {
        [RESTART_NEVER] = "Never",        [RESTART_ON_FAILURE] = "OnFailure",
        [RESTART_ALWAYS] = "Always",      [RESTART_EXIT_CODE] = "ExitCode",
        [RESTART_BY_CLASS] = "OnFailure",
    };
    enum restart_policy policy = role->restart;

    if (policy == RESTART_BY_CLASS && role->restart_limit == 0)
        policy = RESTART_NEVER;
    return policy == preset ? NULL : make_text(r->a, words[policy]);
}

struct node *raise_replica(struct raising *r, const struct role *role, int32_t replicas,
                           enum restart_policy preset, const struct pod_wish *w)
{
    struct node *map = make_map(r->a);

    make_put(r->a, map, "replicas", make_int(r->a, replicas));
    make_put(r->a, map, "restartPolicy", raise_restart(r, role, preset));
    make_put(r->a, map, "template", raise_template(r, role, w));
    return map;
}
