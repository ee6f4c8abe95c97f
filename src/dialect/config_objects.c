/* config_objects.c - see config_objects.h. A value that Kubernetes would refuse is left out, so
 * that a job which needs it misses it by name. */
#include "dialect/config_objects.h"

#include <string.h>

#include "base/base64.h"

/* Where values stand; of a key that is in two places of one object, the first counts. */
static const struct place {
    const char *kind, *key;
    bool secret, base64;
} places[] = {
    {"ConfigMap", "data", false, false},
    {"ConfigMap", "binaryData", false, true},
    {"Secret", "stringData", true, false},
    {"Secret", "data", true, true},
};

static bool is_text(const struct node *map, const char *key, const char *text)
{
    const struct node *node = node_get(map, key);

    return node && node->type == NODE_STRING && strcmp(node->text, text) == 0;
}

/* The name of an object of that kind; NULL if it is none, or has no name. */
static const char *name_of(const struct node *root, const char *kind)
{
    const struct node *name = node_find(root, "metadata", "name", NULL);

    if (!is_text(root, "apiVersion", "v1") || !is_text(root, "kind", kind) || !name ||
        name->type != NODE_STRING)
        return NULL;
    return name->text;
}

bool config_objects_is_secret(const struct node *root)
{
    return is_text(root, "apiVersion", "v1") && is_text(root, "kind", "Secret");
}

const char *config_objects_words(struct arena *a, const struct node *root)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (name_of(root, places[i].kind))
            return arena_printf(a, "the %s %s", places[i].kind, name_of(root, places[i].kind));
    return NULL;
}

struct values {
    struct arena *a;
    struct diags *ds;
    struct config_value *v;
    size_t n;
};

static void add_value(struct values *to, const struct place *place, const char *name,
                      const struct pair *p)
{
    struct config_value made = {.map = name,
                                .key = p->key->text,
                                .text = p->value->text,
                                .len = p->value->len,
                                .secret = place->secret};
    char *bytes;

    if (p->value->type != NODE_STRING) {
        diag_at(to->ds, p->value, "W0104", "quote it", "a value of a %s must be a string, not %s",
                place->kind, node_type_words(p->value->type));
        return;
    }
    if (place->base64) {
        bytes = arena_alloc(to->a, BASE64_ROOM(made.len) + 1);
        if (base64_decode(made.text, made.len, bytes, &made.len) < 0) {
            diag_at(to->ds, p->value, "W0104",
                    place->secret ? "use `stringData` for plain text" : "use `data` for plain text",
                    "a value below `%s` of a %s must be base64", place->key, place->kind);
            return;
        }
        bytes[made.len] = '\0';
        made.text = bytes;
    }
    to->v[to->n++] = made;
}

static const struct node *values_of(const struct node *root, const struct place *place,
                                    const char **ret_name)
{
    const struct node *data = node_get(root, place->key);

    *ret_name = name_of(root, place->kind);
    return *ret_name && data && data->type == NODE_MAP ? data : NULL;
}

/* From the document's first line up to the next document's. */
static void hide_document(struct job_file *jf, size_t i)
{
    uint32_t last = UINT32_MAX;

    if (i + 1 < jf->doc.n_roots && jf->doc.roots[i + 1]->pos.line > jf->doc.roots[i]->pos.line)
        last = jf->doc.roots[i + 1]->pos.line - 1;
    diags_hide_lines(&jf->diags, jf->doc.roots[i]->pos.line, last);
}

void config_objects_hand_out(struct arena *a, struct job_file *jf)
{
    struct values all = {.a = a, .ds = &jf->diags};
    const char *name;
    size_t room = 0;

    for (size_t i = 0; i < jf->doc.n_roots; i++)
        for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
            const struct node *data = values_of(jf->doc.roots[i], &places[k], &name);
            room += data ? data->n : 0;
        }
    all.v = ARENA_ARRAY(a, struct config_value, room + 1);
    for (size_t i = 0; i < jf->doc.n_roots; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
            const struct node *data = values_of(jf->doc.roots[i], &places[k], &name);

            for (size_t p = 0; jf->verdict != VERDICT_NOTJOB && data && p < data->n; p++)
                add_value(&all, &places[k], name, &data->pairs[p]);
        }
        if (config_objects_is_secret(jf->doc.roots[i]))
            hide_document(jf, i);
    }
    for (size_t i = 0; i < jf->n_jobs; i++) {
        jf->jobs[i]->config = all.v;
        jf->jobs[i]->n_config = all.n;
    }
}
