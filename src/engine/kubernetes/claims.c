/* claims.c - persistent volume claims that the caller names: for the code, for volumes of the job,
 * for inputs and outputs. */
#include "engine/kubernetes/claims.h"

#include <string.h>

static const char *claim_path(struct arena *a, const struct job_value *v)
{
    return arena_printf(a, POD_RUN_DIR "/%s/%s",
                        v->kind == VALUE_OUTPUT ? PLAN_OUTPUTS : POD_INPUTS, v->name);
}

const char *claim_value(struct arena *a, const struct job_value *v)
{
    const char *path = claim_path(a, v);

    return v->kind == VALUE_OUTPUT && v->file ? arena_printf(a, "%s/%s", path, v->name) : path;
}

static void put(struct arena *a, struct node *map, const char *key, const char *text)
{
    make_put(a, map, key, make_text(a, text));
}

static struct node *named(struct arena *a, const char *name)
{
    struct node *map = make_map(a);

    put(a, map, "name", name);
    return map;
}

/* Returns the directory of it that is meant, or NULL. */
static const char *put_claim(struct arena *a, struct node *volume, const char *claim)
{
    size_t n = strcspn(claim, ":");

    put(a, make_below(a, volume, "persistentVolumeClaim"), "claimName", arena_strndup(a, claim, n));
    return claim[n] ? claim + n + 1 : NULL;
}

static void add_mount(struct arena *a, struct node *pod, struct node *container, const char *name,
                      const char *claim, const char *path, bool read_only)
{
    struct node *volume = named(a, name), *mount = named(a, name);

    put(a, mount, "mountPath", path);
    put(a, mount, "subPath", put_claim(a, volume, claim));
    if (read_only)
        make_put(a, mount, "readOnly", make_bool(a, true));
    make_add(a, make_list_below(a, pod, "volumes"), volume);
    make_add(a, make_list_below(a, container, "volumeMounts"), mount);
}

/* Of the mounts of a volume in all containers of a list: changes each. */
static void each_mount(struct arena *a, struct node *pod, const char *list, const char *name,
                       void (*change)(struct arena *a, struct node *mount, const char *text),
                       const char *text)
{
    struct node *containers = node_absent(pod, list) ? NULL : make_list_below(a, pod, list);

    for (size_t i = 0; containers && i < containers->n; i++) {
        struct node *c = make_item(containers, i);
        struct node *mounts =
            c && !node_absent(c, "volumeMounts") ? make_list_below(a, c, "volumeMounts") : NULL;

        for (size_t k = 0; mounts && k < mounts->n; k++) {
            struct node *m = make_item(mounts, k);

            if (m && strcmp(node_text(node_get(m, "name"), ""), name) == 0)
                change(a, m, text);
        }
    }
}

static void each_mount_of(struct arena *a, struct node *pod, const char *name,
                          void (*change)(struct arena *a, struct node *mount, const char *text),
                          const char *text)
{
    each_mount(a, pod, "containers", name, change, text);
    each_mount(a, pod, "initContainers", name, change, text);
}

/* The volume's own directories are looked for in the one that is meant. */
static void move_mount(struct arena *a, struct node *mount, const char *sub)
{
    const char *own = node_text(node_get(mount, "subPath"), NULL);

    put(a, mount, "subPath", own ? arena_printf(a, "%s/%s", sub, own) : sub);
}

static void name_mount(struct arena *a, struct node *mount, const char *volume)
{
    put(a, mount, "name", volume);
}

static void replace_volume(struct arena *a, struct node *pod, const char *name, const char *claim)
{
    struct node *volumes = node_absent(pod, "volumes") ? NULL : make_list_below(a, pod, "volumes");

    for (size_t i = 0; volumes && i < volumes->n; i++) {
        struct node *volume = make_item(volumes, i);
        const char *sub;

        if (!volume || strcmp(node_text(node_get(volume, "name"), ""), name) != 0)
            continue;
        while (volume->n > 1)
            make_drop(volume,
                      volume->pairs[strcmp(volume->pairs[0].key->text, "name") == 0].key->text);
        sub = put_claim(a, volume, claim);
        if (sub)
            each_mount_of(a, pod, name, move_mount, sub);
    }
}

/* The claim of a volume that can be written to, or NULL. */
static const char *claim_of(const struct node *volume)
{
    const struct node *claim = node_get(volume, "persistentVolumeClaim");

    return claim && node_absent(claim, "readOnly") ? node_text(node_get(claim, "claimName"), NULL)
                                                   : NULL;
}

/* A kubelet may wait for ever for the second of two volumes that have the same claim. */
static void merge_claims(struct arena *a, struct node *pod)
{
    struct node *volumes = node_absent(pod, "volumes") ? NULL : make_list_below(a, pod, "volumes");

    for (size_t i = 0; volumes && i < volumes->n; i++) {
        const char *claim = claim_of(volumes->items[i]);
        const char *name = node_text(node_get(volumes->items[i], "name"), "");

        for (size_t k = volumes->n; claim && k-- > i + 1;) {
            const char *other = claim_of(volumes->items[k]);

            if (!other || strcmp(other, claim) != 0)
                continue;
            each_mount_of(a, pod, node_text(node_get(volumes->items[k], "name"), ""), name_mount,
                          name);
            make_remove(volumes, k);
        }
    }
}

void claims_add(struct arena *a, const struct plan *plan, struct node *pod, struct node *container)
{
    const struct site *site = &plan->facts->site;

    for (size_t i = 0; site->claims && site->claims[i]; i++) {
        const char *equals = strchr(site->claims[i], '=');

        replace_volume(a, pod,
                       arena_strndup(a, site->claims[i], (size_t)(equals - site->claims[i])),
                       equals + 1);
    }
    for (size_t i = 0; site->inputs_claims && i < plan->spec->n_values; i++)
        if (site->inputs_claims[i])
            add_mount(a, pod, container, arena_printf(a, "muster-value-%zu", i),
                      site->inputs_claims[i], claim_path(a, &plan->spec->values[i]),
                      plan->spec->values[i].kind == VALUE_INPUT);
    if (site->code_volume)
        add_mount(a, pod, container, "muster-code", site->code_volume, POD_CODE_DIR, false);
    if (site->claims || site->inputs_claims || site->code_volume)
        merge_claims(a, pod);
}
