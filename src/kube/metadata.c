/* metadata.c - see metadata.h. */
#include "kube/metadata.h"

#include <stddef.h>
#include <string.h>

#define AT(type, member) .offset = offsetof(struct type, member)
#define BY_CLUSTER(name)                                                                           \
    {                                                                                              \
        .key = (name), .kind = BIND_NOTED, .why = KUBE_SET_BY_CLUSTER                              \
    }

static const struct bind_field metadata_fields[] = {
    {.key = "name", .kind = BIND_STRING, .non_empty = true, AT(kube_metadata, name)},
    {.key = "generateName", .kind = BIND_STRING, .non_empty = true, AT(kube_metadata, generate)},
    {.key = "namespace", .kind = BIND_STRING, AT(kube_metadata, namespace_)},
    {.key = "labels", .kind = BIND_KNOWN},
    {.key = "annotations", .kind = BIND_KNOWN},
    BY_CLUSTER("uid"),
    BY_CLUSTER("resourceVersion"),
    BY_CLUSTER("generation"),
    BY_CLUSTER("clusterName"),
    BY_CLUSTER("creationTimestamp"),
    BY_CLUSTER("deletionTimestamp"),
    BY_CLUSTER("deletionGracePeriodSeconds"),
    BY_CLUSTER("selfLink"),
    BY_CLUSTER("managedFields"),
    BY_CLUSTER("ownerReferences"),
    BY_CLUSTER("finalizers"),
};
const struct bind_table kube_metadata_table =
    BIND_TABLE("metadata", struct kube_metadata, metadata_fields);
const struct bind_table kube_metadata_lenient_table =
    BIND_TABLE_LENIENT("metadata", struct kube_metadata, metadata_fields);

/* Numbers and bools are refused by Kubernetes in a way that few understand. */
static void check_texts(const struct binder *b, const struct node *meta, const char *key)
{
    const struct node *map = node_get(meta, key);
    const char *unused;

    if (map && map->type != NODE_MAP && map->type != NODE_NULL)
        bind_type_error(b, key, "a mapping", NULL, map);
    for (size_t i = 0; map && map->type == NODE_MAP && i < map->n; i++)
        if (map->pairs[i].value->type != NODE_NULL)
            (void)bind_string(b, map->pairs[i].key->text, map->pairs[i].value, &unused);
}

void kube_lower_metadata(const struct binder *b, const struct kube_metadata *meta,
                         struct job_spec *out)
{
    out->name = meta->name;
    out->name_at = node_get(meta->at, meta->name ? "name" : "generateName");
    out->generate = meta->generate;
    out->namespace_ = meta->namespace_;
    check_texts(b, meta->at, "labels");
    check_texts(b, meta->at, "annotations");
    if (meta->name)
        return;
    if (meta->generate) { /* a cluster would append random letters to the prefix */
        char *name = arena_strdup(b->a, meta->generate);
        size_t n = strlen(name);

        while (n > 1 && name[n - 1] == '-')
            name[--n] = '\0';
        out->name = name;
        return;
    }
    if (node_absent(meta->at, "name") && node_absent(meta->at, "generateName"))
        bind_missing(b, meta->at, "metadata", "name", NULL);
}
