/* pod.c - what a role of Muster's own form takes from its surroundings: variables, volumes,
 * and commands that run before its own. */
#include <string.h>

#include "base/limits.h"
#include "kube/mount_path.h"
#include "dialect/muster/muster_v1.h"
#include "kube/pod.h"

/* --- variables ------------------------------------------------------------------------------ */

static bool is_scalar(const struct node *node)
{
    return node->type != NODE_MAP && node->type != NODE_SEQ;
}

/* A scalar as the text it is written with: numbers and bools need no quotes here. */
static bool scalar_text(const struct binder *b, const struct node *node, const char **ret)
{
    if (!is_scalar(node)) {
        bind_type_error(b, node->parent_key, "a string, a number, true or false", NULL, node);
        return false;
    }
    if (node->type == NODE_NULL) {
        *ret = "";
        return true;
    }
    if (strlen(node->text) != node->len) {
        diag_at(b->ds, node, "E0215", NULL, "`%s` contains a NUL character", node->parent_key);
        return false;
    }
    *ret = node->text;
    return true;
}

/* Every form a mapping may have: which key says it, which others belong to it. */
static bool lower_reference(const struct binder *b, const struct mv1_value *in,
                            struct env_entry *ret)
{
    int said = (in->value != NULL) + !!in->secret + !!in->config_map + !!in->field + !!in->resource;
    bool keyed = in->secret || in->config_map;

    if (said != 1) {
        diag_at(b->ds, in->at, "E0106", NULL,
                "`%s` must have exactly one of value, secret, configMap, field and resource",
                in->at->parent_key);
        return false;
    }
    if (keyed && !in->key) {
        if (node_absent(in->at, "key"))
            bind_missing(b, in->at, "a variable", "key", NULL);
        return false;
    }
    if ((in->key && !keyed) || (in->divisor && !in->resource)) {
        const char *key = in->key && !keyed ? "key" : "divisor";

        diag_at(b->ds, node_key(in->at, key), "E0106", NULL, "`%s` is not allowed here", key);
        return false;
    }
    ret->optional = in->optional;
    ret->ref_name = in->secret ? in->secret : in->config_map;
    ret->ref_key = in->key ? in->key : in->field ? in->field : in->resource;
    ret->source = in->secret       ? ENV_SECRET
                  : in->config_map ? ENV_CONFIG_MAP
                  : in->field      ? ENV_FIELD
                  : in->resource   ? ENV_RESOURCE
                                   : ENV_LITERAL;
    if (in->divisor)
        return scalar_text(b, in->divisor, &ret->ref_name);
    return !in->value || scalar_text(b, in->value, &ret->value);
}

static bool lower_variable(const struct binder *b, const struct pair *p, struct env_entry *ret)
{
    const struct mv1_value *in;

    *ret = (struct env_entry){.name = p->key->text, .value = "", .at = p->value};
    if (!p->key->len || strchr(p->key->text, '=') || strlen(p->key->text) != p->key->len) {
        diag_at(b->ds, p->key, "E0211", NULL, "\"%s\" is not a valid variable name", p->key->text);
        return false;
    }
    if (p->value->type != NODE_MAP)
        return scalar_text(b, p->value, &ret->value);
    in = bind_map(b, &mv1_value_table, p->value);
    return in && lower_reference(b, in, ret);
}

void mv1_lower_env(const struct binder *b, const struct node *env, const struct env_entry **ret,
                   size_t *ret_n)
{
    struct env_entry *v;
    size_t n = 0;

    if (!env)
        return;
    if (env->type != NODE_MAP) {
        bind_type_error(b, "env", "a mapping", "write NAME: value", env);
        return;
    }
    if (env->n > LIMIT_ENV) {
        diag_at(b->ds, node_label(env), "E0005", NULL, "more than %d variables", LIMIT_ENV);
        return;
    }
    v = ARENA_ARRAY(b->a, struct env_entry, env->n);
    for (size_t i = 0; i < env->n; i++)
        n += lower_variable(b, &env->pairs[i], &v[n]);
    *ret = v;
    *ret_n = n;
}

void mv1_lower_env_from(const struct binder *b, const struct mv1_env_from *v, size_t n,
                        const struct env_entry **ret, size_t *ret_n)
{
    struct env_entry *out = ARENA_ARRAY(b->a, struct env_entry, n);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!v[i].secret == !v[i].config_map) {
            diag_at(b->ds, v[i].at, "E0106", NULL,
                    "an envFrom entry must have exactly one of secret and configMap");
            continue;
        }
        out[(*ret_n)++] = (struct env_entry){
            .name = v[i].prefix ? v[i].prefix : "",
            .value = "",
            .source = v[i].secret ? ENV_SECRET : ENV_CONFIG_MAP,
            .ref_name = v[i].secret ? v[i].secret : v[i].config_map,
            .optional = v[i].optional,
            .at = v[i].at,
        };
    }
    *ret = out;
}

/* --- volumes -------------------------------------------------------------------------------- */

static void lower_items(const struct binder *b, const struct mv1_mount *in, struct mount *out)
{
    struct volume_item *items;

    if (!in->items)
        return;
    if (in->items->type != NODE_MAP) {
        bind_type_error(b, "items", "a mapping", "write key: path", in->items);
        return;
    }
    if (out->source != VOLUME_CONFIG_MAP && out->source != VOLUME_SECRET)
        diag_at(b->ds, node_label(in->items), "E0106", NULL,
                "`items` are keys of a configMap or secret");
    items = ARENA_ARRAY(b->a, struct volume_item, in->items->n);
    for (size_t i = 0; i < in->items->n; i++) {
        const struct pair *p = &in->items->pairs[i];

        items[out->n_items].key = p->key->text;
        out->n_items += bind_string(b, p->key->text, p->value, &items[out->n_items].path);
    }
    out->items = items;
}

static bool lower_mount(const struct binder *b, const struct mv1_mount *in, struct mount *out)
{
    const struct {
        const char *from;
        bool said;
        enum volume_source source;
    } sources[] = {
        {NULL, in->empty_dir != NULL, VOLUME_EMPTY_DIR},
        {in->host_path, in->host_path != NULL, VOLUME_HOST_PATH},
        {in->config_map, in->config_map != NULL, VOLUME_CONFIG_MAP},
        {in->secret, in->secret != NULL, VOLUME_SECRET},
        {in->claim, in->claim != NULL, VOLUME_CLAIM},
        {NULL, in->other, VOLUME_OTHER},
    };
    int said = 0;

    *out = (struct mount){
        .volume = in->name,
        .path = in->path,
        .sub_path = in->sub_path,
        .expand_sub_path = in->expand_sub_path,
        .mode = in->mode,
        .read_only = in->read_only,
        .optional = in->optional,
        .memory = in->empty_dir && strcmp(in->empty_dir, "memory") == 0,
        .at = in->at,
    };
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        if (!sources[i].said)
            continue;
        said++;
        out->source = sources[i].source;
        out->from = sources[i].from;
    }
    if (said != 1)
        diag_at(b->ds, in->at, "E0106", NULL,
                "a mount must have exactly one of emptyDir, hostPath, configMap, secret, claim and "
                "other");
    if (in->other && said == 1)
        diag_at(b->ds, in->at, "N0305", "make its content available at the same path",
                "volume at %s is not mounted locally", in->path ? in->path : "");
    if (in->path)
        check_mount_path(b, node_get(in->at, "path"), in->path);
    if (in->size)
        pod_quantity(b, "size", in->size, false, &out->size);
    lower_items(b, in, out);
    return said == 1 && in->path;
}

void mv1_lower_mounts(const struct binder *b, const struct mv1_mount *v, size_t n,
                      const char *owner, const struct mount **ret, size_t *ret_n)
{
    struct mount *out = ARENA_ARRAY(b->a, struct mount, n);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        struct mount *m = &out[*ret_n];

        if (!lower_mount(b, &v[i], m))
            continue;
        if (!m->volume)
            m->volume = arena_printf(b->a, "%s-%zu", owner, i);
        (*ret_n)++;
    }
    *ret = out;
}

/* --- init commands -------------------------------------------------------------------------- */

void mv1_lower_init(const struct binder *b, const struct mv1_role *in, struct role *role)
{
    struct init_command *init = ARENA_ARRAY(b->a, struct init_command, in->init.n);

    for (size_t i = 0; i < in->init.n; i++) {
        const struct mv1_init *from = &in->init.v[i];
        struct init_command *to = &init[i];
        const char *owner = arena_printf(b->a, "init-%zu", i);

        *to = (struct init_command){
            .name = from->name ? from->name : owner,
            .image = from->image,
            .args = from->args,
            .workdir = from->workdir,
            .at = from->at,
        };
        if (from->command)
            to->argv = mv1_argv(b, from->command, SHELL_SH);
        mv1_lower_env(b, from->env, &to->env, &to->n_env);
        mv1_lower_env_from(b, from->env_from.v, from->env_from.n, &to->env_from, &to->n_env_from);
        mv1_lower_mounts(b, from->mounts.v, from->mounts.n, arena_printf(b->a, "%s-mount", owner),
                         &to->mounts, &to->n_mounts);
    }
    role->init = init;
    role->n_init = in->init.n;
}
