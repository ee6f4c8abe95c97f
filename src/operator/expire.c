/* expire.c - see expire.h. */
#include "operator/expire.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "kube/own.h"
#include "operator/lives.h"

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

/* Older versions have the key in spec itself. */
static const struct node *ttl_of(const struct node *object)
{
    static const char key[] = "ttlSecondsAfterFinished";
    const struct node *ttl = node_find(object, "spec", "runPolicy", key, NULL);

    if (!ttl || ttl->type != NODE_INT)
        ttl = node_find(object, "spec", key, NULL);
    return ttl && ttl->type == NODE_INT && ttl->i >= 0 ? ttl : NULL;
}

/* That of a MusterJob: "2h". */
static int64_t own_ttl_ms(const struct node *object)
{
    const char *text = node_text(node_find(object, "spec", "ttl", NULL), NULL);
    int64_t ms;

    return strcmp(text_at(object, "kind"), OWN_KIND) == 0 && text && duration_ms(text, &ms) == 0
               ? ms
               : -1;
}

ns_t expire_at(const struct node *object)
{
    const struct node *ttl = ttl_of(object);
    int64_t own = own_ttl_ms(object);
    ns_t ended =
        clock_of_rfc3339(node_text(node_find(object, "status", "completionTime", NULL), ""));

    if (own >= 0 && ended)
        return ended + own * NS_PER_MS;
    return ttl && ended ? ended + ttl->i * NS_PER_S : 0;
}

enum job_end job_end_of(const struct node *batch_job, const char **ret_text)
{
    const struct node *list = node_find(batch_job, "status", "conditions", NULL);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *c = list->items[i];

        if (strcmp(text_at(c, "status"), "True") != 0)
            continue;
        if (strcmp(text_at(c, "type"), "Complete") == 0)
            return JOB_COMPLETE;
        if (strcmp(text_at(c, "type"), "Failed") == 0) {
            *ret_text = text_at(c, "message");
            return JOB_FAILED;
        }
    }
    return JOB_GOES_ON;
}
