/* wants_group.c - the PodGroup of a job whose pods are scheduled all at once or not at all: for
 * Volcano, or for the coscheduling plugin of scheduler-plugins under any other name.
 *
 * Upstream sorts roles by the value of their priority classes when fewer than all members are
 * asked for, and so has to read these. Here the launcher, chief or master counts first, and workers
 * make up the rest.
 */
#include <string.h>

#include "base/mem.h"
#include "kube/gang.h"
#include "operator/wants_parts.h"

#define QUEUE_ANNOTATION "scheduling.volcano.sh/queue-name"

bool want_has_group(const struct served *s)
{
    const char *scheduler = s->options->gang_scheduler;

    return scheduler && *scheduler && s->plan->spec->platform.environment != PLATFORM_T9K;
}

enum want_kind want_group_kind(const struct served *s)
{
    return gang_is_volcano(s->options->gang_scheduler) ? WANT_VOLCANO_GROUP : WANT_PLUGINS_GROUP;
}

/* PyTorchJob, TFJob and MPIJob v1 are served by one operator upstream, all others by another. */
static bool is_training(const struct served *s)
{
    return s->kind->family == FAMILY_TRAINING ||
           s->plan->spec->platform.environment == PLATFORM_MPIJOB_V1;
}

static const struct node *policy_of(const struct served *s)
{
    return node_find(s->object, "spec", "runPolicy", "schedulingPolicy", NULL);
}

static const char *text_of(const struct node *policy, const char *key)
{
    return node_text(node_get(policy, key), "");
}

static bool waits_for_workers(const struct served *s)
{
    const char *policy =
        node_text(node_find(s->object, "spec", "launcherCreationPolicy", NULL), "");

    return strcmp(policy, "WaitForWorkersReady") == 0;
}

/* A launcher that waits for its workers is none of those that they wait for. */
static int64_t members(const struct served *s)
{
    const struct node *least = node_get(policy_of(s), "minAvailable");

    if (least && least->type == NODE_INT)
        return least->i;
    return (int64_t)s->plan->n_replicas - waits_for_workers(s);
}

/* Limits count where a request is missing; for training-operator, where all of them are. */
static const struct node *resources(struct arena *a, const struct served *s, int64_t least)
{
    const struct job_spec *spec = s->plan->spec;
    struct gang_sum *sum = gang_sum_new(a);
    struct node *map;
    int64_t left = least;

    if (least == 0 && !is_training(s))
        return NULL;
    for (int workers = 0; workers < 2; workers++)
        for (size_t i = 0; i < spec->n_roles; i++) {
            const struct role *role = &spec->roles[i];
            int64_t n = role->replicas < left ? role->replicas : left;

            if ((strcmp(role->name, "worker") == 0) != workers)
                continue;
            gang_sum_add(sum, node_find(role->template_at, "spec", "containers", NULL), n,
                         !is_training(s));
            left -= n;
        }
    map = gang_sum_map(sum);
    return map->n || want_group_kind(s) == WANT_VOLCANO_GROUP ? map : NULL;
}

/* --- the group -------------------------------------------------------------------------------- */

static const char *queue_of(const struct served *s)
{
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);
    const char *queue = text_of(policy_of(s), "queue");

    if (*queue)
        return queue;
    return is_training(s) ? "default" : text_of(notes, QUEUE_ANNOTATION);
}

/* Of the policy, else of a pod: the launcher's first. */
static const char *priority_of(const struct served *s)
{
    const struct job_spec *spec = s->plan->spec;
    const char *name = text_of(policy_of(s), "priorityClass");

    for (size_t i = 0; !*name && !is_training(s) && i < spec->n_roles; i++)
        name =
            node_text(node_find(spec->roles[i].template_at, "spec", "priorityClassName", NULL), "");
    return name;
}

static void put_text(struct arena *a, struct node *map, const char *key, const char *text)
{
    if (*text)
        want_put(a, map, key, text);
}

static const struct node *group_spec(struct arena *a, const struct served *s)
{
    const struct node *policy = policy_of(s);
    const struct node *given = node_get(policy, "minResources");
    const struct node *timeout = node_get(policy, "scheduleTimeoutSeconds");
    struct node *spec = make_map(a);
    int64_t least = members(s);

    make_put(a, spec, "minMember", make_int(a, least));
    if (want_group_kind(s) == WANT_VOLCANO_GROUP) {
        put_text(a, spec, "queue", queue_of(s));
        put_text(a, spec, "priorityClassName", priority_of(s));
    } else if (timeout && timeout->type == NODE_INT) {
        make_put(a, spec, "scheduleTimeoutSeconds", timeout);
    } else if (!is_training(s)) {
        make_put(a, spec, "scheduleTimeoutSeconds", make_int(a, 0));
    }
    make_put(a, spec, "minResources",
             given && given->type == NODE_MAP ? given : resources(a, s, least));
    return spec;
}

/* Those of the job, some of which are for the scheduler; what others keep there is left out. */
static void put_annotations(struct arena *a, const struct served *s, struct node *meta)
{
    static const char *const kept[] = {OWN_DOMAIN "/", "kubectl.kubernetes.io/"};
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);
    struct node *map = make_map(a);

    for (size_t i = 0; notes && notes->type == NODE_MAP && i < notes->n; i++) {
        const char *name = notes->pairs[i].key->text;
        bool leave = false;

        for (size_t k = 0; k < ARRAY_SIZE(kept); k++)
            leave |= strncmp(name, kept[k], strlen(kept[k])) == 0;
        if (!leave)
            make_put(a, map, name, notes->pairs[i].value);
    }
    if (map->n)
        make_put(a, meta, "annotations", map);
}

const struct node *want_group(struct arena *a, const struct served *s, const struct want *w)
{
    struct node *root = want_root(a, s, gang_api(s->options->gang_scheduler), "PodGroup", w->name);

    if (is_training(s))
        put_annotations(a, s, make_below(a, root, "metadata"));
    make_put(a, root, "spec", group_spec(a, s));
    return root;
}
