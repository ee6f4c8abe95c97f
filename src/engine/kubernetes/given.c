/* given.c - see given.h. */
#include "engine/kubernetes/given.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "doc/make.h"

/* With the run's in front, names of objects have at most 253 characters. */
enum { LONG_NAME = 180 };

/* --- objects ---------------------------------------------------------------------------------- */

static bool is_secret(const struct secret_value *v)
{
    return v->source == ENV_SECRET;
}

static bool is_text(const struct secret_value *v)
{
    for (size_t i = 0; i < v->len;) {
        uint32_t c;
        size_t n = utf8_decode(v->value + i, v->len - i, &c);

        if (n == 0 || c == 0)
            return false;
        i += n;
    }
    return true;
}

static void put_value(struct arena *a, struct node *root, const struct secret_value *v,
                      enum given_how how)
{
    char *text;

    if (is_secret(v) && how == GIVEN_MASKED) {
        make_put(a, make_below(a, root, "stringData"), v->key, make_text(a, "***"));
        return;
    }
    if (!is_secret(v) && is_text(v)) {
        make_put(a, make_below(a, root, "data"), v->key, make_text(a, v->value));
        return;
    }
    text = arena_alloc(a, BASE64_TEXT(v->len));
    base64_encode(v->value, v->len, text);
    make_put(a, make_below(a, root, is_secret(v) ? "data" : "binaryData"), v->key,
             make_text(a, text));
}

/* A kubelet takes credentials of registries only from a Secret of that type. */
static void put_type(struct arena *a, struct node *root, const struct secret_value *v)
{
    if (is_secret(v) && strcmp(v->key, ".dockerconfigjson") == 0)
        make_put(a, root, "type", make_text(a, "kubernetes.io/dockerconfigjson"));
}

static const struct node *object_of(struct arena *a, const struct kube_run *run,
                                    const struct secret_value *first, const char *called,
                                    enum given_how how)
{
    const struct given_values *given = &run->plan->facts->given;
    struct node *root =
        kube_run_object(a, run, "v1", is_secret(first) ? "Secret" : "ConfigMap", called);

    for (size_t i = 0; i < given->n_secrets; i++) {
        const struct secret_value *v = &given->secrets[i];

        if (v->source != first->source || strcmp(v->name, first->name) != 0)
            continue;
        put_value(a, root, v, how);
        put_type(a, root, v);
    }
    make_put(a, root, "immutable", make_bool(a, true));
    return root;
}

static const struct given_object *find(const struct given_object *v, size_t n, bool secret,
                                       const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].secret == secret && strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

size_t given_objects(struct arena *a, const struct kube_run *run, enum given_how how,
                     const struct given_object **ret)
{
    const struct given_values *given = &run->plan->facts->given;
    struct given_object *v = ARENA_ARRAY(a, struct given_object, given->n_secrets + 1);
    size_t n = 0;

    for (size_t i = 0; i < given->n_secrets; i++) {
        const struct secret_value *value = &given->secrets[i];
        bool secret = is_secret(value), is_long = strlen(value->name) > LONG_NAME;

        if (find(v, n, secret, value->name))
            continue;
        v[n] = (struct given_object){
            .collection = secret ? "secrets" : "configmaps",
            .name = value->name,
            .called = is_long ? arena_printf(a, "%s-given-%zu", run->name, n)
                              : arena_printf(a, "%s-%s", run->name, value->name),
            .secret = secret,
        };
        if (how != GIVEN_NAMES)
            v[n].object = object_of(a, run, value, v[n].called, how);
        n++;
    }
    *ret = v;
    return n;
}

/* --- references ------------------------------------------------------------------------------- */

/* Which keys hold a reference, wherever in a pod they are: env, envFrom, volumes, projected ones,
 * and volumes of drivers that need a secret. */
static const struct place {
    const char *key, *name;
    bool secret;
} places[] = {
    {"secretKeyRef", "name", true},     {"secretRef", "name", true},
    {"secret", "secretName", true},     {"secret", "name", true},
    {"configMapKeyRef", "name", false}, {"configMapRef", "name", false},
    {"configMap", "name", false},       {"nodePublishSecretRef", "name", true},
};

/* What the map below the key refers to at that place, or NULL. */
static const struct node *reference(const struct place *place, const char *key,
                                    const struct node *map)
{
    const struct node *name =
        strcmp(place->key, key) == 0 && map->type == NODE_MAP ? node_get(map, place->name) : NULL;

    return name && name->type == NODE_STRING ? name : NULL;
}

struct renaming {
    struct arena *a;
    const struct given_object *v;
    size_t n;
};

static void rename_at(const struct renaming *to, struct node *map, const char *key, bool secret)
{
    const struct node *name = node_get(map, key);
    const struct given_object *o =
        name && name->type == NODE_STRING ? find(to->v, to->n, secret, name->text) : NULL;

    if (o)
        make_put(to->a, map, key, make_text(to->a, o->called));
}

static void walk(const struct renaming *to, struct node *node)
{
    for (size_t i = 0; node->type == NODE_SEQ && i < node->n; i++) {
        struct node *item = make_item(node, i);

        if (item)
            walk(to, item);
    }
    for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++) {
        const char *key = node->pairs[i].key->text;
        struct node *map;

        if (node->pairs[i].value->type == NODE_SEQ)
            walk(to, make_list_below(to->a, node, key));
        if (node->pairs[i].value->type != NODE_MAP)
            continue;
        map = make_below(to->a, node, key);
        for (size_t k = 0; k < ARRAY_SIZE(places); k++)
            if (reference(&places[k], key, map))
                rename_at(to, map, places[k].name, places[k].secret);
        walk(to, map);
    }
}

void given_rename(struct arena *a, const struct kube_run *run, struct node *pod)
{
    struct renaming to = {.a = a};

    to.n = given_objects(a, run, GIVEN_NAMES, &to.v);
    if (to.n == 0)
        return;
    walk(&to, pod);
    if (!node_absent(pod, "imagePullSecrets")) {
        struct node *list = make_list_below(a, pod, "imagePullSecrets");

        for (size_t i = 0; i < list->n; i++)
            if (make_item(list, i))
                rename_at(&to, make_item(list, i), "name", true);
    }
}

struct found {
    struct env_entry *v; /* heap */
    size_t n, cap;
};

static void add_reference(struct found *to, bool secret, const struct node *name)
{
    GROW(to->v, to->n, to->cap);
    to->v[to->n++] = (struct env_entry){.source = secret ? ENV_SECRET : ENV_CONFIG_MAP,
                                        .ref_name = name->text,
                                        .optional = true,
                                        .at = name};
}

static void look_below(struct found *to, const struct node *node)
{
    for (size_t i = 0; node->type == NODE_SEQ && i < node->n; i++)
        look_below(to, node->items[i]);
    for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++) {
        const struct node *value = node->pairs[i].value;

        for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
            const struct node *name = reference(&places[k], node->pairs[i].key->text, value);

            if (name)
                add_reference(to, places[k].secret, name);
        }
        look_below(to, value);
    }
}

size_t given_references(struct arena *a, const struct job_spec *spec, const struct env_entry **ret)
{
    struct found found = {0};
    struct env_entry *v;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct node *pod = spec->roles[i].template_at;
        const struct node *pull = node_find(pod, "spec", "imagePullSecrets", NULL);

        if (pod)
            look_below(&found, pod);
        for (size_t k = 0; pull && pull->type == NODE_SEQ && k < pull->n; k++) {
            const struct node *name = node_get(pull->items[k], "name");

            if (name && name->type == NODE_STRING)
                add_reference(&found, true, name);
        }
    }
    v = ARENA_ARRAY(a, struct env_entry, found.n + 1);
    if (found.n)
        memcpy(v, found.v, found.n * sizeof(*v));
    free(found.v);
    *ret = v;
    return found.n;
}
