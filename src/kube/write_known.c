/* write_known.c - keys of a pod template that Kubernetes does not have.
 *
 * Readers of pod templates only warn of them: API servers differ. But kubectl refuses a file with
 * such a key and API servers drop it, so that a misplaced `imagePullPolicy` never had an effect. It
 * is not carried on, and told.
 */
#include <string.h>

#include "kube/pod.h"
#include "kube/write.h"

static const struct bind_field *field_of(const struct bind_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->fields[i].key, key) == 0)
            return &table->fields[i];
    return NULL;
}

static void walk(const struct kube_writing *w, const struct bind_table *table,
                 const struct node *source, struct node *copy)
{
    for (size_t i = 0; i < source->n; i++) {
        const char *key = source->pairs[i].key->text;
        const struct node *value = source->pairs[i].value;
        const struct bind_field *f = field_of(table, key);

        if (!f) {
            make_drop(copy, key);
            if (w->lost)
                w->lost(w->ctx, node_path(w->a, value), "not a Kubernetes key");
        } else if (f->kind == BIND_STRUCT && value->type == NODE_MAP) {
            walk(w, f->table, value, make_below(w->a, copy, key));
        } else if (f->kind == BIND_STRUCTS && value->type == NODE_SEQ) {
            struct node *list = make_list_below(w->a, copy, key);

            for (size_t k = 0; k < value->n; k++)
                if (value->items[k]->type == NODE_MAP)
                    walk(w, f->table, value->items[k], make_item(list, k));
        }
    }
}

struct node *kube_copy_template(const struct kube_writing *w, const struct node *source)
{
    struct node *copy = make_copy(w->a, source);

    walk(w, &pod_template_table, source, copy);
    if (!node_absent(copy, "metadata")) { /* API servers fill it in, and refuse it */
        struct node *metadata = make_below(w->a, copy, "metadata");

        make_drop(metadata, "creationTimestamp");
        make_drop_empty(copy, "metadata");
    }
    return copy;
}
