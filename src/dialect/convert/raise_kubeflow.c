/* raise_kubeflow.c - what raised objects of Kubeflow's kinds share: policies and replicas. */
#include <string.h>

#include "dialect/convert/raise.h"

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
