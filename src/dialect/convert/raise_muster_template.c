/* raise_muster_template.c - the residue of a pod template: what Muster's own form keeps verbatim.
 *
 * Each datum once: what the model says is taken out, and what is left is kept, for the day the job
 * goes back to Kubernetes. A list is kept whole if any of its items says more than the model holds.
 */
#include <string.h>

#include "dialect/convert/raise_muster.h"

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static bool has_only(const struct node *map, const char *const *keys)
{
    for (size_t i = 0; map && map->type == NODE_MAP && i < map->n; i++)
        if (!is_one_of(map->pairs[i].key->text, keys))
            return false;
    return true;
}

static bool all_have_only(const struct node *list, const char *const *keys)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (!has_only(list->items[i], keys))
            return false;
    return true;
}

static bool is_mounted(const struct role *role, const char *name)
{
    for (size_t i = 0; i < role->n_mounts; i++)
        if (role->mounts[i].volume && strcmp(role->mounts[i].volume, name) == 0)
            return role->mounts[i].source != VOLUME_OTHER;
    return false;
}

/* Does the model hold all of the volume? Its kind has one key, whose own keys are known. */
static bool is_modelled(const struct role *role, const struct node *volume)
{
    static const char *const keys[] = {
        "name", "emptyDir", "hostPath", "configMap", "secret", "persistentVolumeClaim", NULL};
    static const char *const inner[] = {"medium",     "sizeLimit",   "path",     "name",
                                        "secretName", "claimName",   "optional", "readOnly",
                                        "items",      "defaultMode", NULL};
    const struct node *name = node_get(volume, "name");
    bool shm = false;

    if (!name || !has_only(volume, keys))
        return false;
    for (size_t i = 0; i < volume->n; i++) {
        const struct node *kind = volume->pairs[i].value;

        if (!has_only(kind, inner))
            return false;
        shm = shm || (node_get(kind, "medium") && !is_mounted(role, name->text));
    }
    return shm ? role->res.shm >= 0 : is_mounted(role, name->text);
}

static void strip_container(struct raising *r, struct node *c)
{
    static const char *const keys[] = {"image", "command", "args", "workingDir", "env", "envFrom"};
    static const char *const mount_keys[] = {"name",        "mountPath", "subPath",
                                             "subPathExpr", "readOnly",  NULL};
    static const char *const amounts[] = {"cpu", "memory", "nvidia.com/gpu"};
    static const char *const which[] = {"limits", "requests"};
    struct node *resources = make_below(r->a, c, "resources");

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        make_drop(c, keys[i]);
    if (all_have_only(node_get(c, "volumeMounts"), mount_keys))
        make_drop(c, "volumeMounts");
    for (size_t k = 0; k < ARRAY_SIZE(which); k++) {
        struct node *map = make_below(r->a, resources, which[k]);

        for (size_t i = 0; i < ARRAY_SIZE(amounts); i++)
            make_drop(map, amounts[i]);
        make_drop_empty(resources, which[k]);
    }
    make_drop_empty(c, "resources");
}

static void strip_volumes(struct raising *r, const struct role *role, struct node *pod)
{
    struct node *volumes = make_list_below(r->a, pod, "volumes");

    for (size_t i = 0; i < volumes->n; i++)
        if (is_modelled(role, volumes->items[i]))
            make_remove(volumes, i--);
    make_drop_empty(pod, "volumes");
}

const struct node *raise_muster_template(struct raising *r, const struct role *role)
{
    static const char *const init_keys[] = {"name", "image",   "command",      "args", "workingDir",
                                            "env",  "envFrom", "volumeMounts", NULL};
    static const char *const nothing[] = {"name", NULL};
    const char *container = r->spec->container;
    struct node *template, *pod, *containers, *c = NULL;
    size_t others;

    if (!role->template_at || role->template_at->type != NODE_MAP)
        return NULL;
    template = make_copy(r->a, role->template_at);
    pod = make_below(r->a, template, "spec");
    containers = make_list_below(r->a, pod, "containers");
    for (size_t i = 0; i < containers->n && !c; i++) {
        const struct node *name = node_get(containers->items[i], "name");

        if (container && name && strcmp(name->text, container) == 0)
            c = make_item(containers, i);
    }
    c = c ? c : make_item(containers, 0);
    if (!c)
        return role->template_at;
    strip_container(r, c);
    others = containers->n - 1;
    make_drop(pod, "terminationGracePeriodSeconds");
    if (all_have_only(node_get(pod, "initContainers"), init_keys))
        make_drop(pod, "initContainers");
    if (!others && !node_get(pod, "initContainers") && !node_get(c, "volumeMounts"))
        strip_volumes(r, role, pod);
    if (!others && has_only(c, nothing))
        make_drop(pod, "containers");
    make_drop_empty(template, "spec");
    return template->n ? template : NULL;
}
