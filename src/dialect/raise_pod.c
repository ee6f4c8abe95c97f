/* raise_pod.c - pod templates for `muster convert`: the source's own with what the model says
 * differently, or a new one.
 *
 * A residual template is lowered again by itself. Only what the role says otherwise is written into it,
 * so that `4Gi` stays `4Gi` and what Muster knows nothing about stays where it is.
 */
#include <string.h>

#include "base/strbuf.h"
#include "dialect/pod.h"
#include "dialect/raise.h"
#include "spec/adjust.h"
#include "spec/command.h"

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

bool raise_same(struct raising *r, const struct role *x, const struct role *y, const char *path)
{
    struct facts_list xs = {0}, ys = {0};

    spec_role_facts(r->a, r->spec, x, &xs);
    spec_role_facts(r->a, r->spec, y, &ys);
    return covers(&xs, &ys, path) && covers(&ys, &xs, path);
}

/* What the role's template says by itself, and which of its containers speaks. False: it has none. */
static bool read_template(struct raising *r, const struct role *role, struct role *ret,
                          const struct pod_container **ret_container, size_t *ret_index)
{
    const struct pod_template *t;
    struct diags ds; /* what is wrong with it was told when the file was read */
    bool read = false;

    *ret = (struct role){.name = role->name, .res = RESOURCES_UNSET, .grace_s = -1};
    if (!role->template_at || role->template_at->type != NODE_MAP)
        return false;
    diags_init(&ds, r->a);

    const struct binder b = {.a = r->a, .ds = &ds};

    t = bind_map(&b, &pod_template_table, role->template_at);
    if (t && t->spec && t->spec->containers.n) {
        const struct pod_container *c = NULL;

        if (r->spec->container)
            c = pod_find_container(t, r->spec->container);
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

struct node *raise_env(struct arena *a, const struct env_entry *v, size_t n)
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

struct node *raise_env_from(struct arena *a, const struct env_entry *v, size_t n)
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

const char *raise_cpu(struct arena *a, int64_t milli)
{
    if (milli % 1000 == 0)
        return arena_printf(a, "%lld", (long long)(milli / 1000));
    return arena_printf(a, "%lldm", (long long)milli);
}

const char *raise_bytes(struct arena *a, int64_t bytes)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti"};
    size_t i = 0;

    while (bytes > 0 && bytes % 1024 == 0 && i + 1 < ARRAY_SIZE(units)) {
        bytes /= 1024;
        i++;
    }
    return arena_printf(a, "%lld%s", (long long)bytes, units[i]);
}

/* A whole number is a number, as people write it. */
static const struct node *amount(struct arena *a, const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n && !text[n] ? make_int(a, strtoll(text, NULL, 10)) : make_text(a, text);
}

static void put_amount(struct raising *r, struct node *container, const char *which,
                       const char *name, int64_t was, int64_t want,
                       const char *(*words)(struct arena *a, int64_t n))
{
    struct node *resources, *map;

    if (was == want)
        return;
    resources = make_below(r->a, container, "resources");
    map = make_below(r->a, resources, which);
    if (want == QUANTITY_UNSET)
        make_drop(map, name);
    else
        make_put(r->a, map, name, amount(r->a, words(r->a, want)));
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

static void put_resources(struct raising *r, const struct role *role, const struct role *was,
                          struct node *c)
{
    const struct resources *x = &was->res, *y = &role->res;
    bool none = y->cpu_limit_milli < 0 && y->cpu_request_milli < 0 && y->memory_limit < 0 &&
                y->memory_request < 0 && y->gpu <= 0;

    if (none && !raise_same(r, role, was, "resources")) {
        make_drop(c, "resources"); /* a launcher that was made from its workers' template */
        return;
    }
    put_amount(r, c, "limits", "cpu", x->cpu_limit_milli, y->cpu_limit_milli, raise_cpu);
    put_amount(r, c, "requests", "cpu", x->cpu_request_milli, y->cpu_request_milli, raise_cpu);
    put_amount(r, c, "limits", "memory", x->memory_limit, y->memory_limit, raise_bytes);
    put_amount(r, c, "requests", "memory", x->memory_request, y->memory_request, raise_bytes);
    put_amount(r, c, "limits", gpu_name(c), x->gpu > 0 ? x->gpu : QUANTITY_UNSET,
               y->gpu > 0 ? y->gpu : QUANTITY_UNSET, raise_bytes);
}

/* --- the container -------------------------------------------------------------------------- */

static void put_or_drop(struct raising *r, struct node *map, const char *key, const char *text)
{
    if (text)
        make_put(r->a, map, key, make_text(r->a, text));
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

static void put_command(struct raising *r, const struct role *role, const struct pod_wish *w,
                        const struct pod_container *have, struct node *c)
{
    const char *const *argv = spec_command(r->a, r->spec, role);

    if (w->command == POD_AS_IT_IS)
        return;
    if (w->command == POD_NO_COMMAND) {
        make_drop(c, "command");
        make_drop(c, "args");
        return;
    }
    if (argv && have && says_command(have, argv))
        return;
    make_drop(c, "command");
    make_drop(c, "args");
    make_put(r->a, c, "command", make_texts(r->a, argv));
    if (!argv)
        make_put(r->a, c, "args", make_texts(r->a, role->args));
    if (role->shell_secret)
        loss_add(r->losses, arena_printf(r->a, "roles.%s.command", role->name),
                 "a secret of the file stands in it: it is written as ***");
}

/* What is not the name of an image is written all the same: a container must have one, and its author
 * knows which. */
static void put_image(struct raising *r, const struct role *role, const struct pod_wish *w,
                      struct node *c)
{
    put_or_drop(r, c, "image", role->image);
    if (role->image && spec_lacks_image(role))
        loss_add(r->losses, arena_printf(r->a, "roles.%s.image", role->name),
                 "%.80s is no image that Kubernetes could pull: put one in its place, or say it "
                 "with --image",
                 role->image);
    if (!role->image && w->image) {
        loss_add(r->losses, arena_printf(r->a, "roles.%s.image", role->name),
                 "the job has none, and Kubernetes needs one: put it in the place of "
                 "put-an-image-here, or say it with --image");
        make_put(r->a, c, "image", make_text(r->a, "put-an-image-here"));
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

struct node *raise_template(struct raising *r, const struct role *role, const struct pod_wish *w)
{
    const struct pod_container *have = NULL;
    struct node *template, *pod, *containers, *c;
    struct role was;
    size_t index = 0;

    if (read_template(r, role, &was, &have, &index))
        template = raise_copy_template(r, role->template_at);
    else
        template = new_template(r->a, w->container ? w->container : role->name);
    pod = make_below(r->a, template, "spec");
    containers = make_list_below(r->a, pod, "containers");
    c = make_item(containers, index);
    if (w->first && index > 0) {
        make_remove(containers, index);
        make_insert(r->a, containers, 0, c);
    }
    if (w->container)
        make_put(r->a, c, "name", make_text(r->a, w->container));
    if (!raise_same(r, role, &was, "image") || !role->image)
        put_image(r, role, w, c);
    put_command(r, role, w, have, c);
    if (!raise_same(r, role, &was, "workdir")) /* a directory beside the file is in no image */
        put_or_drop(r, c, "workingDir",
                    role->workdir && role->workdir[0] == '/' ? role->workdir : NULL);
    if (!raise_same(r, role, &was, "env")) {
        make_drop(c, "env");
        make_put(r->a, c, "env", raise_env(r->a, role->env, role->n_env));
    }
    if (!raise_same(r, role, &was, "env_from")) {
        make_drop(c, "envFrom");
        make_put(r->a, c, "envFrom", raise_env_from(r->a, role->env_from, role->n_env_from));
    }
    put_resources(r, role, &was, c);
    raise_volumes(r, role, &was, pod, c);
    if (role->grace_s != was.grace_s) {
        make_drop(pod, "terminationGracePeriodSeconds");
        if (role->grace_s >= 0)
            make_put(r->a, pod, "terminationGracePeriodSeconds", make_int(r->a, role->grace_s));
    }
    return template;
}
