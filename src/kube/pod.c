/* pod.c - from a decoded pod template to what a role takes from it. Volumes: pod_volumes.c. */
#include "kube/pod.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/num.h"

const struct pod_container *pod_find_container(const struct pod_template *t, const char *name)
{
    for (size_t i = 0; t->spec && i < t->spec->containers.n; i++) {
        const struct pod_container *c = &t->spec->containers.v[i];

        if (c->name && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

void pod_note_unused(const struct binder *b, const struct pod_template *t,
                     const struct pod_container *used)
{
    if (!t->spec)
        return;
    pod_note_volumes(b, t->spec);
    for (size_t i = 0; i < t->spec->containers.n; i++) {
        const struct pod_container *c = &t->spec->containers.v[i];

        if (c != used && c->name)
            diag_at(b->ds, c->at, "N0303", NULL, "container `%s` is not run locally", c->name);
    }
}

/* --- resources ------------------------------------------------------------------------------ */

enum resource { RES_CPU, RES_MEMORY, RES_GPU, RES_OTHER };

static enum resource resource_kind(const char *name)
{
    static const char *const gpus[] = {
        "nvidia.com/gpu",    "amd.com/gpu",     "gpu.intel.com/i915",
        "gpu.intel.com/xe",  "hygon.com/dcu",   "huawei.com/Ascend910",
        "cambricon.com/mlu", "habana.ai/gaudi", "google.com/tpu",
    };

    if (strcmp(name, "cpu") == 0)
        return RES_CPU;
    if (strcmp(name, "memory") == 0)
        return RES_MEMORY;
    for (size_t i = 0; i < ARRAY_SIZE(gpus); i++) {
        if (strcmp(name, gpus[i]) == 0)
            return RES_GPU;
    }
    return strncmp(name, "nvidia.com/mig-", 15) == 0 ? RES_GPU : RES_OTHER;
}

bool pod_is_other_resource(const char *name)
{
    return resource_kind(name) == RES_OTHER;
}

bool pod_quantity(const struct binder *b, const char *name, const struct node *node, bool milli,
                  int64_t *ret)
{
    bool scalar = node->type == NODE_INT || node->type == NODE_FLOAT || node->type == NODE_STRING;
    int64_t v, thousandths;
    int r = -EINVAL;

    if (scalar && strlen(node->text) == node->len)
        r = milli ? quantity_milli(node->text, &v) : quantity_units(node->text, &v);
    if (r == -EINVAL) {
        bind_type_error(b, name, "a quantity such as 500m, 2 or 4Gi", NULL, node);
        return false;
    }
    if (r < 0) {
        diag_at(b->ds, node, "E0204", NULL, "`%s` must be positive and not too large, not %s", name,
                node->text);
        return false;
    }
    if (!milli && quantity_milli(node->text, &thousandths) == 0 && thousandths % 1000)
        diag_at(b->ds, node, "W0204", "M is a million, Mi is 1024 * 1024, m is a thousandth",
                "`%s` has a fraction: %s is rounded to %lld", name, node->text, (long long)v);
    *ret = v;
    return true;
}

struct amounts { /* what limits or requests say */
    int64_t cpu, memory, gpu;
    const struct node *cpu_at, *memory_at, *gpu_at;
};

/* Names without a domain are Kubernetes' own, and it refuses others when the pod is made. */
static void tell_other(const struct binder *b, const struct node *key)
{
    static const char *const own[] = {"cpu", "memory", "ephemeral-storage", "storage"};
    const char *near = nearest_word(key->text, own, ARRAY_SIZE(own));
    bool gpu = strcasestr(key->text, "gpu") != NULL;
    const char *hint = gpu    ? "did you mean `nvidia.com/gpu`?"
                       : near ? arena_printf(b->a, "did you mean `%s`?", near)
                              : NULL;

    if (strchr(key->text, '/') || (near && strcmp(near, key->text) == 0) ||
        strncmp(key->text, "hugepages-", 10) == 0)
        diag_at(b->ds, key, "N0301", gpu ? hint : NULL, "`%s` has no effect in a local run",
                key->text);
    else
        diag_at(b->ds, key, "W0205", hint, "unknown resource `%s`", key->text);
}

static void read_amounts(const struct binder *b, const char *what, const struct node *map,
                         struct amounts *ret)
{
    *ret = (struct amounts){QUANTITY_UNSET, QUANTITY_UNSET, QUANTITY_UNSET, NULL, NULL, NULL};
    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(b, what, "a mapping", NULL, map);
        return;
    }
    for (size_t i = 0; i < map->n; i++) {
        const char *name = map->pairs[i].key->text;
        const struct node *value = map->pairs[i].value;
        enum resource kind = resource_kind(name);
        int64_t v;

        if (value->type == NODE_NULL || !pod_quantity(b, name, value, kind == RES_CPU, &v))
            continue;
        if (kind == RES_CPU) {
            ret->cpu = v;
            ret->cpu_at = value;
        } else if (kind == RES_MEMORY) {
            ret->memory = v;
            ret->memory_at = value;
        } else if (kind == RES_GPU) {
            ret->gpu = (ret->gpu > 0 ? ret->gpu : 0) + v;
            ret->gpu_at = value;
        } else {
            tell_other(b, map->pairs[i].key);
        }
    }
}

static void fill_resources(const struct binder *b, const struct pod_volumes *vs,
                           const struct pod_container *c, struct resources *res)
{
    const struct pod_volume *shm = pod_shm_volume(vs, c);
    struct amounts limits, requests;

    read_amounts(b, "limits", c->resources ? c->resources->limits : NULL, &limits);
    read_amounts(b, "requests", c->resources ? c->resources->requests : NULL, &requests);
    if (limits.gpu_at && requests.gpu_at && limits.gpu != requests.gpu)
        diag_at(b->ds, limits.gpu_at, limits.gpu < requests.gpu ? "E0205" : "W0313", NULL,
                "limits have %lld GPUs, requests %lld; Kubernetes requires them to be equal",
                (long long)limits.gpu, (long long)requests.gpu);
    if (requests.gpu > 0 && !limits.gpu_at)
        diag_at(b->ds, requests.gpu_at, "W0313", "move it to `limits`",
                "requests have %lld GPU%s, limits none; Kubernetes requires them to be equal",
                (long long)requests.gpu, requests.gpu == 1 ? "" : "s");
    res->cpu_limit_milli = limits.cpu;
    res->cpu_limit_at = limits.cpu_at;
    res->cpu_request_milli = requests.cpu;
    res->memory_limit = limits.memory;
    res->memory_limit_at = limits.memory_at;
    res->memory_request = requests.memory;
    res->gpu = limits.gpu_at ? limits.gpu : requests.gpu;
    res->gpu_at = limits.gpu_at ? limits.gpu_at : requests.gpu_at;
    if (!shm)
        return;
    /* Without a size of its own a Memory volume may grow to the container's limit. */
    res->shm = limits.memory;
    res->shm_at = shm->empty_dir->size_limit;
    if (res->shm_at)
        pod_quantity(b, "sizeLimit", res->shm_at, false, &res->shm);
}

/* --- environment ---------------------------------------------------------------------------- */

static void check_env_name(const struct binder *b, const struct pod_env *e)
{
    if (strchr(e->name, '='))
        diag_at(b->ds, node_get(e->at, "name"), "E0211", "set the value with `value`",
                "the name of an environment variable must not contain '=': \"%s\"", e->name);
}

/* One entry; false if it has no name or no usable source (reported). */
static bool env_entry(const struct binder *b, const struct pod_env *e, struct env_entry *ret)
{
    const struct pod_value_from *from = e->from;
    int sources;

    if (!e->name)
        return false;
    check_env_name(b, e);
    *ret = (struct env_entry){.name = e->name, .value = e->value ? e->value : "", .at = e->at};
    if (!from)
        return true;
    sources = !!from->secret + !!from->config_map + !!from->field + !!from->resource;
    if (sources != 1 || (e->value && *e->value)) {
        diag_at(b->ds, node_label(from->at), "E0106", NULL,
                sources == 1 ? "`%s` has both `value` and `valueFrom`"
                             : "`valueFrom` of `%s` must have exactly one source",
                e->name);
        return false;
    }
    if (from->secret || from->config_map) {
        const struct pod_key_ref *ref = from->secret ? from->secret : from->config_map;

        ret->source = from->secret ? ENV_SECRET : ENV_CONFIG_MAP;
        ret->ref_name = ref->name;
        ret->ref_key = ref->key;
        ret->optional = ref->optional;
    } else if (from->field) {
        ret->source = ENV_FIELD;
        ret->ref_key = from->field->path;
    } else {
        ret->source = ENV_RESOURCE;
        ret->ref_key = from->resource->resource;
        ret->ref_name = from->resource->divisor ? from->resource->divisor->text : NULL;
    }
    return true;
}

static struct env_entry *find_entry(struct env_entry *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    }
    return NULL;
}

/* The variables of the container, after those that are there already. */
static void fill_env(const struct binder *b, const struct pod_container *c,
                     const struct env_entry **ret, size_t *ret_n)
{
    size_t n = *ret_n, inherited = n;
    struct env_entry *env;

    if (c->env.n > LIMIT_ENV) {
        diag_at(b->ds, node_key(c->at, "env"), "E0005", NULL,
                "more than %d environment variables in one container", LIMIT_ENV);
        return;
    }
    env = ARENA_ARRAY(b->a, struct env_entry, n + c->env.n);
    if (n)
        memcpy(env, *ret, n * sizeof(*env));
    for (size_t i = 0; i < c->env.n; i++) {
        struct env_entry entry, *other;

        if (!env_entry(b, &c->env.v[i], &entry))
            continue;
        other = find_entry(env, n, entry.name);
        if (!other) {
            env[n++] = entry;
            continue;
        }
        if (other >= env + inherited)
            diag_at(b->ds, node_get(entry.at, "name"), "W0201", "remove one of the two",
                    "duplicate env `%s` (first at line %u); the last one wins", entry.name,
                    other->at->pos.line);
        *other = entry;
    }
    *ret = env;
    *ret_n = n;
}

static void fill_env_from(const struct binder *b, const struct pod_container *c,
                          const struct env_entry **ret, size_t *ret_n)
{
    struct env_entry *list = ARENA_ARRAY(b->a, struct env_entry, *ret_n + c->env_from.n);
    size_t n = *ret_n;

    if (n)
        memcpy(list, *ret, n * sizeof(*list));
    for (size_t i = 0; i < c->env_from.n; i++) {
        const struct pod_env_from *f = &c->env_from.v[i];
        const struct pod_object_ref *ref = f->secret ? f->secret : f->config_map;

        if (!ref || (f->secret && f->config_map)) {
            diag_at(b->ds, f->at, "E0106", NULL,
                    "an envFrom entry must have exactly one of secretRef and configMapRef");
            continue;
        }
        list[n++] = (struct env_entry){
            .name = f->prefix ? f->prefix : "",
            .source = f->secret ? ENV_SECRET : ENV_CONFIG_MAP,
            .ref_name = ref->name,
            .optional = ref->optional,
            .at = f->at,
        };
    }
    *ret = list;
    *ret_n = n;
}

/* --- init containers ------------------------------------------------------------------------ */

/* Kubernetes' own sidecars are init containers that never end. */
static bool is_sidecar(const struct pod_container *c)
{
    const struct node *policy = node_get(c->at, "restartPolicy");

    return policy && policy->type == NODE_STRING && strcmp(policy->text, "Always") == 0;
}

static void fill_init(const struct binder *b, const struct pod_volumes *vs, struct role *role)
{
    const struct pod_spec *spec = vs->spec;
    struct init_command *init;
    size_t n = 0;

    role->init = NULL;
    role->n_init = 0;
    if (spec->init.n > LIMIT_INIT) {
        diag_at(b->ds, node_key(spec->at, "initContainers"), "E0005", NULL,
                "more than %d init containers in one pod", LIMIT_INIT);
        return;
    }
    init = ARENA_ARRAY(b->a, struct init_command, spec->init.n);
    for (size_t i = 0; i < spec->init.n; i++) {
        const struct pod_container *c = &spec->init.v[i];
        struct init_command *out = &init[n];

        if (!c->name)
            continue;
        if (is_sidecar(c)) {
            diag_at(b->ds, c->at, "N0303", NULL, "container `%s` is not run locally", c->name);
            continue;
        }
        *out = (struct init_command){.name = c->name, .image = c->image, .at = c->at};
        out->argv = c->command && c->command[0] ? c->command : NULL;
        out->args = c->args;
        out->workdir = c->workdir;
        fill_env(b, c, &out->env, &out->n_env);
        fill_env_from(b, c, &out->env_from, &out->n_env_from);
        out->n_mounts = pod_mounts(b, vs, c, &out->mounts);
        if (c->resources)
            diag_at(b->ds, node_key(c->at, "resources"), "N0301", NULL,
                    "`resources` of an init container has no effect in a local run");
        n++;
    }
    role->init = init;
    role->n_init = n;
}

/* --- a role --------------------------------------------------------------------------------- */

void pod_fill_role_given(const struct binder *b, const struct pod_template *t,
                         const struct pod_container *c, const struct pod_volume *given,
                         size_t n_given, struct role *role)
{
    const struct pod_volumes vs = {t->spec, given, n_given};

    role->template_at = t->at;
    if (t->spec->grace_s >= 0)
        role->grace_s = t->spec->grace_s;
    if (c->image)
        role->image = c->image;
    if (c->workdir) {
        role->workdir = c->workdir;
        role->workdir_at = node_get(c->at, "workingDir");
    }
    pod_check(b, t->spec, c);
    pod_check_volumes(b, t->spec);
    role->n_mounts = pod_mounts(b, &vs, c, &role->mounts);
    fill_resources(b, &vs, c, &role->res);
    fill_env(b, c, &role->env, &role->n_env);
    fill_env_from(b, c, &role->env_from, &role->n_env_from);
    fill_init(b, &vs, role);
}

void pod_fill_role(const struct binder *b, const struct pod_template *t,
                   const struct pod_container *c, struct role *role)
{
    pod_fill_role_given(b, t, c, NULL, 0, role);
}

void pod_share_role(const struct role *worker, struct role *launcher)
{
    launcher->template_at = worker->template_at;
    launcher->grace_s = worker->grace_s;
    launcher->image = worker->image;
    launcher->workdir = worker->workdir;
    launcher->workdir_at = worker->workdir_at;
    launcher->env = worker->env;
    launcher->n_env = worker->n_env;
    launcher->env_from = worker->env_from;
    launcher->n_env_from = worker->n_env_from;
    launcher->mounts = worker->mounts;
    launcher->n_mounts = worker->n_mounts;
    launcher->init = worker->init;
    launcher->n_init = worker->n_init;
}
