/* write_pod.c - pod templates: the source's own with what the model says differently, or a new one.
 *
 * A residual template is lowered again by itself. Only what the role says otherwise is written into
 * it, so that `4Gi` stays `4Gi` and what Muster knows nothing about stays where it is.
 */
#include <string.h>

#include "base/strbuf.h"
#include "kube/pod.h"
#include "kube/write.h"
#include "spec/adjust.h"
#include "spec/command.h"
#include "spec/diff.h"

#define GPU "nvidia.com/gpu"

/* --- comparing ------------------------------------------------------------------------------ */

static bool below(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(path, prefix, n) == 0 && (path[n] == '\0' || path[n] == '.');
}

static bool covers(const struct facts_list *all, const struct facts_list *some, const char *prefix)
{
    for (size_t i = 0; i < some->n; i++) {
        bool found = !below(some->v[i].path, prefix);

        for (size_t k = 0; k < all->n && !found; k++)
            found = strcmp(all->v[k].path, some->v[i].path) == 0 &&
                    strcmp(all->v[k].value, some->v[i].value) == 0;
        if (!found)
            return false;
    }
    return true;
}

bool kube_same(const struct kube_writing *w, const struct role *x, const struct role *y,
               const char *path)
{
    struct facts_list xs = {0}, ys = {0};

    spec_role_facts(w->a, w->spec, x, &xs);
    spec_role_facts(w->a, w->spec, y, &ys);
    return covers(&xs, &ys, path) && covers(&ys, &xs, path);
}

/* What the role's template says by itself, and which of its containers speaks.
 * False: it has none. */
static bool read_template(const struct kube_writing *w, const struct role *role, struct role *ret,
                          const struct pod_container **ret_container, size_t *ret_index)
{
    const struct pod_template *t;
    struct diags ds; /* what is wrong with it was told when the file was read */
    bool read = false;

    *ret = (struct role){.name = role->name, .res = RESOURCES_UNSET, .grace_s = -1};
    if (!role->template_at || role->template_at->type != NODE_MAP)
        return false;
    diags_init(&ds, w->a);

    const struct binder b = {.a = w->a, .ds = &ds};

    t = bind_map(&b, &pod_template_table, role->template_at);
    if (t && t->spec && t->spec->containers.n) {
        const struct pod_container *c = NULL;

        if (w->spec->container)
            c = pod_find_container(t, w->spec->container);
        *ret_container = c ? c : t->spec->containers.v;
        *ret_index = (size_t)(*ret_container - t->spec->containers.v);
        pod_fill_role(&b, t, *ret_container, ret);
        read = true;
    }
    diags_release(&ds);
    return read;
}

/* --- environment ---------------------------------------------------------------------------- */

static struct node *key_ref(struct arena *a, const struct env_entry *e)
{
    struct node *ref = make_map(a);

    make_put(a, ref, "name", make_text(a, e->ref_name));
    make_put(a, ref, "key", make_text(a, e->ref_key));
    if (e->optional)
        make_put(a, ref, "optional", make_bool(a, true));
    return ref;
}

static struct node *value_from(struct arena *a, const struct env_entry *e)
{
    struct node *from = make_map(a), *ref = make_map(a);

    switch (e->source) {
    case ENV_SECRET:
        make_put(a, from, "secretKeyRef", key_ref(a, e));
        break;
    case ENV_CONFIG_MAP:
        make_put(a, from, "configMapKeyRef", key_ref(a, e));
        break;
    case ENV_FIELD:
        make_put(a, ref, "fieldPath", make_text(a, e->ref_key));
        make_put(a, from, "fieldRef", ref);
        break;
    case ENV_RESOURCE:
        make_put(a, ref, "resource", make_text(a, e->ref_key));
        make_put(a, ref, "divisor", make_text(a, e->ref_name));
        make_put(a, from, "resourceFieldRef", ref);
        break;
    case ENV_LITERAL:
        break;
    }
    return from;
}

struct node *kube_env(struct arena *a, const struct env_entry *v, size_t n)
{
    struct node *list = n ? make_seq(a) : NULL;

    for (size_t i = 0; i < n; i++) {
        struct node *item = make_map(a);

        make_put(a, item, "name", make_text(a, v[i].name));
        if (v[i].source == ENV_LITERAL)
            make_put(a, item, "value", make_text(a, v[i].value));
        else
            make_put(a, item, "valueFrom", value_from(a, &v[i]));
        make_add(a, list, item);
    }
    return list;
}

struct node *kube_env_from(struct arena *a, const struct env_entry *v, size_t n)
{
    struct node *list = n ? make_seq(a) : NULL;

    for (size_t i = 0; i < n; i++) {
        struct node *item = make_map(a), *ref = make_map(a);

        if (v[i].name && *v[i].name)
            make_put(a, item, "prefix", make_text(a, v[i].name));
        make_put(a, ref, "name", make_text(a, v[i].ref_name));
        if (v[i].optional)
            make_put(a, ref, "optional", make_bool(a, true));
        make_put(a, item, v[i].source == ENV_SECRET ? "secretRef" : "configMapRef", ref);
        make_add(a, list, item);
    }
    return list;
}

/* --- resources ------------------------------------------------------------------------------ */

/* A whole number is a number, as people write it. */
static const struct node *amount(struct arena *a, const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n && !text[n] ? make_int(a, strtoll(text, NULL, 10)) : make_text(a, text);
}

static void put_amount(const struct kube_writing *w, struct node *container, const char *which,
                       const char *name, int64_t was, int64_t want,
                       const char *(*words)(struct arena *a, int64_t n))
{
    struct node *resources, *map;

    if (was == want)
        return;
    resources = make_below(w->a, container, "resources");
    map = make_below(w->a, resources, which);
    if (want == QUANTITY_UNSET)
        make_drop(map, name);
    else
        make_put(w->a, map, name, amount(w->a, words(w->a, want)));
    make_drop_empty(resources, which);
    make_drop_empty(container, "resources");
}

/* As the template calls its GPUs, if it has some. */
static const char *gpu_name(const struct node *container)
{
    const struct node *limits = node_find(container, "resources", "limits", NULL);

    for (size_t i = 0; limits && limits->type == NODE_MAP && i < limits->n; i++) {
        const char *key = limits->pairs[i].key->text;

        if (strchr(key, '/') && strstr(key, "gpu"))
            return key;
    }
    return GPU;
}

static void put_resources(const struct kube_writing *w, const struct role *role,
                          const struct role *was, struct node *c)
{
    const struct resources *x = &was->res, *y = &role->res;
    bool none = y->cpu_limit_milli < 0 && y->cpu_request_milli < 0 && y->memory_limit < 0 &&
                y->memory_request < 0 && y->gpu <= 0;

    if (none && !kube_same(w, role, was, "resources")) {
        make_drop(c, "resources"); /* a launcher that was made from its workers' template */
        return;
    }
    put_amount(w, c, "limits", "cpu", x->cpu_limit_milli, y->cpu_limit_milli, kube_cpu);
    put_amount(w, c, "requests", "cpu", x->cpu_request_milli, y->cpu_request_milli, kube_cpu);
    put_amount(w, c, "limits", "memory", x->memory_limit, y->memory_limit, kube_bytes);
    put_amount(w, c, "requests", "memory", x->memory_request, y->memory_request, kube_bytes);
    put_amount(w, c, "limits", gpu_name(c), x->gpu > 0 ? x->gpu : QUANTITY_UNSET,
               y->gpu > 0 ? y->gpu : QUANTITY_UNSET, kube_bytes);
}

static void tell(const struct kube_writing *w, const struct role *role, const char *what,
                 const char *text)
{
    if (w->lost)
        w->lost(w->ctx, arena_printf(w->a, "roles.%s.%s", role->name, what), text);
}

/* --- the container -------------------------------------------------------------------------- */

static void put_or_drop(const struct kube_writing *w, struct node *map, const char *key,
                        const char *text)
{
    if (text)
        make_put(w->a, map, key, make_text(w->a, text));
    else
        make_drop(map, key);
}

/* Command and args may be split anywhere: they stay if together they are what is wanted. */
static bool says_command(const struct pod_container *c, const char *const *argv)
{
    const char *const *words = c->command;
    size_t n = 0;

    if (!words || !words[0])
        return false;
    for (; *words; words++, n++)
        if (!argv[n] || strcmp(argv[n], *words) != 0)
            return false;
    for (words = c->args; words && *words; words++, n++)
        if (!argv[n] || strcmp(argv[n], *words) != 0)
            return false;
    return !argv[n];
}

static void put_command(const struct kube_writing *w, const struct role *role,
                        const struct pod_wish *wish, const struct pod_container *have,
                        struct node *c)
{
    const char *const *argv = spec_command(w->a, w->spec, role);

    if (wish->command == POD_AS_IT_IS)
        return;
    if (wish->command == POD_NO_COMMAND) {
        make_drop(c, "command");
        make_drop(c, "args");
        return;
    }
    if (argv && have && says_command(have, argv))
        return;
    make_drop(c, "command");
    make_drop(c, "args");
    make_put(w->a, c, "command", make_texts(w->a, argv));
    if (!argv)
        make_put(w->a, c, "args", make_texts(w->a, role->args));
    if (role->shell_secret)
        tell(w, role, "command", "it contains a secret of the file; written as ***");
}

/* What is not the name of an image is written all the same: a container must have one, and its
 * author knows which. */
static void put_image(const struct kube_writing *w, const struct role *role,
                      const struct pod_wish *wish, struct node *c)
{
    put_or_drop(w, c, "image", role->image);
    if (role->image && spec_lacks_image(role))
        tell(w, role, "image",
             arena_printf(
                 w->a, "%.80s is not an image that Kubernetes can pull; replace it, or use --image",
                 role->image));
    if (!role->image && wish->image) {
        tell(w, role, "image",
             "the job has none, and Kubernetes requires one; replace put-an-image-here, or use "
             "--image");
        make_put(w->a, c, "image", make_text(w->a, "put-an-image-here"));
    }
}

static struct node *new_template(struct arena *a, const char *name)
{
    struct node *template = make_map(a), *c = make_map(a);
    struct node *pod = make_below(a, template, "spec");

    make_put(a, c, "name", make_text(a, name));
    make_add(a, make_list_below(a, pod, "containers"), c);
    return template;
}

struct node *kube_template(const struct kube_writing *w, const struct role *role,
                           const struct pod_wish *wish)
{
    const struct pod_container *have = NULL;
    struct node *template, *pod, *containers, *c;
    struct role was;
    size_t index = 0;

    if (read_template(w, role, &was, &have, &index))
        template = kube_copy_template(w, role->template_at);
    else
        template =
            new_template(w->a, wish->container ? wish->container : kube_name(w->a, role->name));
    pod = make_below(w->a, template, "spec");
    containers = make_list_below(w->a, pod, "containers");
    c = make_item(containers, index);
    if (wish->first && index > 0) {
        make_remove(containers, index);
        make_insert(w->a, containers, 0, c);
    }
    if (wish->container)
        make_put(w->a, c, "name", make_text(w->a, wish->container));
    if (!kube_same(w, role, &was, "image") || !role->image)
        put_image(w, role, wish, c);
    put_command(w, role, wish, have, c);
    if (!kube_same(w, role, &was, "workdir")) /* a directory beside the file is in no image */
        put_or_drop(w, c, "workingDir",
                    role->workdir && role->workdir[0] == '/' ? role->workdir : NULL);
    if (!kube_same(w, role, &was, "env")) {
        make_drop(c, "env");
        make_put(w->a, c, "env", kube_env(w->a, role->env, role->n_env));
    }
    if (!kube_same(w, role, &was, "env_from")) {
        make_drop(c, "envFrom");
        make_put(w->a, c, "envFrom", kube_env_from(w->a, role->env_from, role->n_env_from));
    }
    put_resources(w, role, &was, c);
    kube_put_volumes(w, role, &was, pod, c);
    if (role->grace_s != was.grace_s) {
        make_drop(pod, "terminationGracePeriodSeconds");
        if (role->grace_s >= 0)
            make_put(w->a, pod, "terminationGracePeriodSeconds", make_int(w->a, role->grace_s));
    }
    return template;
}
