/* owned.c - see owned.h. */
#include "operator/owned.h"

#include <string.h>

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static const struct node *controller_of(const struct node *object)
{
    const struct node *list = node_find(object, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *is = node_get(list->items[i], "controller");

        if (is && is->type == NODE_BOOL && is->i)
            return list->items[i];
    }
    return NULL;
}

enum owned owned_by(const struct node *object, const struct served *s)
{
    const struct node *owner = controller_of(object);

    if (owner && strcmp(text_at(owner, "uid"), s->uid) == 0)
        return OWNED_OURS;
    if (!node_absent(node_get(object, "metadata"), "deletionTimestamp"))
        return OWNED_LEAVING;
    return owner && strcmp(text_at(owner, "kind"), s->kind->kind) == 0 &&
                   strcmp(text_at(owner, "name"), s->name) == 0
               ? OWNED_LEAVING
               : OWNED_OTHERS;
}

const char *owned_text(struct arena *a, const struct node *object, const struct served *s)
{
    return arena_printf(a, "Resource \"%s\" of Kind \"%s\" already exists and is not managed by %s",
                        text_at(node_get(object, "metadata"), "name"), text_at(object, "kind"),
                        s->kind->kind);
}
