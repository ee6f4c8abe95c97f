/* written.c - which version of its kind an object was written in.
 *
 * Without a conversion strategy the API server shows an object in any version that is asked for and
 * changes nothing but its apiVersion. The managed fields say which one each manager has used.
 */
#include <string.h>

#include "doc/json_read.h"
#include "operator/served.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* "v2beta1" of "kubeflow.org/v2beta1" */
static const char *version_part(const char *api_version)
{
    const char *slash = strrchr(api_version, '/');

    return slash ? slash + 1 : api_version;
}

/* How much of the job this entry has set: its replicas 2, another part of spec 1, nothing 0. Who
 * only suspends a job or writes its status may use another version than its author. */
static int share_of(const struct node *entry)
{
    static const char *const replicas[] = {"f:mpiReplicaSpecs", "f:pytorchReplicaSpecs",
                                           "f:tfReplicaSpecs",  "f:replicaSpecs",
                                           "f:worker",          "f:template"};
    const struct node *spec = node_find(entry, "fieldsV1", "f:spec", NULL);

    if (!spec || *node_text(node_get(entry, "subresource"), ""))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(replicas); i++)
        if (node_get(spec, replicas[i]))
            return 2;
    return 1;
}

/* Of entries with the same share the latest counts: times are RFC 3339 in UTC. */
static const struct node *author(const struct node *entries)
{
    const struct node *best = NULL;
    int best_share = 0;

    for (size_t i = 0; entries && entries->type == NODE_SEQ && i < entries->n; i++) {
        const struct node *entry = entries->items[i];
        int share = share_of(entry);
        const char *time = node_text(node_get(entry, "time"), "");

        if (share == 0 || share < best_share)
            continue;
        if (share > best_share || strcmp(time, node_text(node_get(best, "time"), "")) > 0)
            best = entry;
        best_share = share;
    }
    return best;
}

static const char *last_applied(struct arena *a, const struct node *object)
{
    const char *text =
        node_text(node_get(node_find(object, "metadata", "annotations", NULL), LAST_APPLIED), "");
    const struct node *applied = *text ? json_node(a, text, strlen(text)) : NULL;

    return node_text(node_get(applied, "apiVersion"), "");
}

const char *written_in(struct arena *a, const struct node *object)
{
    const struct node *by = author(node_find(object, "metadata", "managedFields", NULL));
    const char *version = node_text(node_get(by, "apiVersion"), "");

    if (!*version)
        version = last_applied(a, object);
    if (!*version)
        version = node_text(node_get(object, "apiVersion"), "");
    return version_part(version);
}
