/* write_object.c - Kubernetes objects: names, metadata, quantities. */
#include <string.h>

#include "kube/write.h"

/* Room for what is appended to a job's name: "-worker-8191". */
enum { NAME_MAX_RAISED = 63 - 12 };

const char *kube_name(struct arena *a, const char *name)
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

bool kube_name_is_generated(const struct job_spec *spec)
{
    const char *generate = spec->generate;
    size_t n = generate ? strlen(generate) : 0;

    while (n > 1 && generate[n - 1] == '-')
        n--;
    return generate && strlen(spec->name) == n && strncmp(spec->name, generate, n) == 0;
}

/* Labels and annotations of another Kubernetes object: the model has no place for them. */
static void put_labels(const struct kube_writing *w, struct node *meta)
{
    static const char *const keys[] = {"labels", "annotations"};
    const struct node *source = node_get(w->spec->root_at, "metadata");

    if (!source)
        source = w->spec->root_at; /* muster/v1 has them at the top */
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *map = node_get(source, keys[i]);

        if (map && map->type == NODE_MAP)
            make_put(w->a, meta, keys[i], make_copy(w->a, map));
    }
}

struct node *kube_object(const struct kube_writing *w, const char *api_version, const char *kind)
{
    struct node *root = make_map(w->a), *meta = make_map(w->a);

    make_put(w->a, root, "apiVersion", make_text(w->a, api_version));
    make_put(w->a, root, "kind", make_text(w->a, kind));
    make_put(w->a, meta, "generateName", make_text(w->a, w->spec->generate));
    if (!kube_name_is_generated(w->spec))
        make_put(w->a, meta, "name", make_text(w->a, kube_name(w->a, w->spec->name)));
    make_put(w->a, meta, "namespace", make_text(w->a, w->spec->namespace_));
    put_labels(w, meta);
    make_put(w->a, root, "metadata", meta);
    return root;
}

/* --- quantities ------------------------------------------------------------------------------ */

const char *kube_cpu(struct arena *a, int64_t milli)
{
    if (milli % 1000 == 0)
        return arena_printf(a, "%lld", (long long)(milli / 1000));
    return arena_printf(a, "%lldm", (long long)milli);
}

const char *kube_bytes(struct arena *a, int64_t bytes)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti"};
    size_t i = 0;

    while (bytes > 0 && bytes % 1024 == 0 && i + 1 < ARRAY_SIZE(units)) {
        bytes /= 1024;
        i++;
    }
    return arena_printf(a, "%lld%s", (long long)bytes, units[i]);
}
