/* write_volumes.c - volumes, mounts, shared memory and init containers of a pod template. */
#include <string.h>

#include "kube/write.h"

#define SHM_PATH "/dev/shm"
#define SHM_NAME "dshm" /* what nearly every such file calls it */

static bool named(const struct node *list, const char *name)
{
    for (size_t i = 0; list && i < list->n; i++) {
        const struct node *have = node_get(list->items[i], "name");

        if (have && strcmp(have->text, name) == 0)
            return true;
    }
    return false;
}

static struct node *items_of(struct arena *a, const struct mount *m)
{
    struct node *list = m->n_items ? make_seq(a) : NULL;

    for (size_t i = 0; i < m->n_items; i++) {
        struct node *item = make_map(a);

        make_put(a, item, "key", make_text(a, m->items[i].key));
        make_put(a, item, "path", make_text(a, m->items[i].path));
        make_add(a, list, item);
    }
    return list;
}

/* What only Kubernetes knows is in the residual template, or nowhere. */
static void put_source(struct arena *a, struct node *volume, const struct mount *m)
{
    static const struct {
        const char *key, *name;
    } kinds[] = {
        [VOLUME_EMPTY_DIR] = {"emptyDir", NULL},
        [VOLUME_HOST_PATH] = {"hostPath", "path"},
        [VOLUME_CONFIG_MAP] = {"configMap", "name"},
        [VOLUME_SECRET] = {"secret", "secretName"},
        [VOLUME_CLAIM] = {"persistentVolumeClaim", "claimName"},
        [VOLUME_OTHER] = {"emptyDir", NULL},
        [VOLUME_OPERATOR] = {"emptyDir", NULL},
    };
    struct node *source = make_map(a);
    bool files = m->source == VOLUME_CONFIG_MAP || m->source == VOLUME_SECRET;

    if (kinds[m->source].name)
        make_put(a, source, kinds[m->source].name, make_text(a, m->from));
    if (m->memory)
        make_put(a, source, "medium", make_text(a, "Memory"));
    if (m->size)
        make_put(a, source, "sizeLimit", make_text(a, kube_bytes(a, m->size)));
    if (files && m->mode)
        make_put(a, source, "defaultMode", make_int(a, m->mode));
    if (files)
        make_put(a, source, "items", items_of(a, m));
    if (files && m->optional)
        make_put(a, source, "optional", make_bool(a, true));
    make_put(a, volume, kinds[m->source].key, source);
}

static const char *volume_name(struct arena *a, const struct mount *m, size_t i)
{
    return m->volume && *m->volume ? m->volume : arena_printf(a, "volume-%zu", i);
}

static struct node *write_mounts(struct arena *a, const struct mount *v, size_t n, struct node *pod)
{
    struct node *list = make_seq(a);

    for (size_t i = 0; i < n; i++) {
        const char *name = volume_name(a, &v[i], i);
        struct node *mount = make_map(a);

        if (v[i].source == VOLUME_OPERATOR)
            continue;
        make_put(a, mount, "name", make_text(a, name));
        make_put(a, mount, "mountPath", make_text(a, v[i].path));
        make_put(a, mount, v[i].expand_sub_path ? "subPathExpr" : "subPath",
                 make_text(a, v[i].sub_path));
        if (v[i].read_only)
            make_put(a, mount, "readOnly", make_bool(a, true));
        make_add(a, list, mount);
        if (!named(node_get(pod, "volumes"), name)) {
            struct node *volume = make_map(a);

            make_put(a, volume, "name", make_text(a, name));
            put_source(a, volume, &v[i]);
            make_add(a, make_list_below(a, pod, "volumes"), volume);
        }
    }
    return list;
}

/* --- shared memory -------------------------------------------------------------------------- */

static void drop_shm(struct arena *a, struct node *container)
{
    struct node *mounts = make_list_below(a, container, "volumeMounts");

    for (size_t i = 0; i < mounts->n; i++) {
        const struct node *path = node_get(mounts->items[i], "mountPath");

        if (path && strncmp(path->text, SHM_PATH, strlen(SHM_PATH)) == 0)
            make_remove(mounts, i--);
    }
    make_drop_empty(container, "volumeMounts");
}

static void put_shm(struct arena *a, int64_t bytes, struct node *pod, struct node *container)
{
    struct node *mount = make_map(a), *volume = make_map(a), *dir = make_map(a);
    const char *name = named(node_get(pod, "volumes"), SHM_NAME) ? "muster-" SHM_NAME : SHM_NAME;

    make_put(a, mount, "name", make_text(a, name));
    make_put(a, mount, "mountPath", make_text(a, SHM_PATH));
    make_add(a, make_list_below(a, container, "volumeMounts"), mount);
    make_put(a, volume, "name", make_text(a, name));
    make_put(a, dir, "medium", make_text(a, "Memory"));
    make_put(a, dir, "sizeLimit", make_text(a, kube_bytes(a, bytes)));
    make_put(a, volume, "emptyDir", dir);
    make_add(a, make_list_below(a, pod, "volumes"), volume);
}

/* --- init containers ------------------------------------------------------------------------ */

static struct node *write_init(struct arena *a, const struct init_command *in, struct node *pod)
{
    struct node *c = make_map(a), *mounts = write_mounts(a, in->mounts, in->n_mounts, pod);

    make_put(a, c, "name", make_text(a, in->name));
    make_put(a, c, "image", make_text(a, in->image));
    make_put(a, c, "command", make_texts(a, in->argv));
    make_put(a, c, "args", make_texts(a, in->args));
    make_put(a, c, "workingDir", make_text(a, in->workdir));
    make_put(a, c, "env", kube_env(a, in->env, in->n_env));
    make_put(a, c, "envFrom", kube_env_from(a, in->env_from, in->n_env_from));
    if (mounts->n)
        make_put(a, c, "volumeMounts", mounts);
    return c;
}

void kube_put_volumes(const struct kube_writing *w, const struct role *role, const struct role *was,
                      struct node *pod, struct node *container)
{
    struct arena *a = w->a;
    bool shm = role->res.shm != was->res.shm;

    if (!kube_same(w, role, was, "init")) {
        make_drop(pod, "initContainers");
        for (size_t i = 0; i < role->n_init; i++)
            make_add(a, make_list_below(a, pod, "initContainers"),
                     write_init(a, &role->init[i], pod));
    }
    if (!kube_same(w, role, was, "mounts")) {
        make_drop(container, "volumeMounts");
        make_put(a, container, "volumeMounts", write_mounts(a, role->mounts, role->n_mounts, pod));
        make_drop_empty(container, "volumeMounts");
        shm = role->res.shm > 0;
    }
    if (!shm)
        return;
    drop_shm(a, container);
    if (role->res.shm > 0)
        put_shm(a, role->res.shm, pod, container);
}
