/* azureml.c - lowers Azure ML's command job.
 *
 * Not here: distribution (distribution.c), inputs, outputs and what the command makes of them
 * (values.c), what only the platform cares for (platform.c), environment values (plan),
 * the previews' files (preview.c). */
#include "dialect/azureml/azureml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "dialect/rewrite.h"

/* --- name, command, code, environment ------------------------------------------------------- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

/* Azure makes up a name where there is none; the file's own is easier to remember. */
static const char *name_of_file(struct arena *a, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    char *name = arena_strndup(a, base, n < LIMIT_NAME ? n : LIMIT_NAME);

    for (char *c = name; *c; c++) {
        if (!strchr(letters, *c))
            *c = '-';
    }
    return name[0] && !strchr("-_.", name[0]) ? name : "job";
}

static void check_name(struct az *l)
{
    enum { LONGEST = 255 };
    const char *name = l->job->name;

    if (!name)
        return;
    if (strlen(name) > LONGEST || strspn(name, letters) != strlen(name) || strchr("-_.", name[0]))
        diag_at(l->b.ds, l->out->name_at, "E0402",
                "use letters, digits, '-', '_' and '.', with a letter or digit first",
                "\"%.80s\" is not a valid job name", name);
}

static const char *lower_command(struct az *l)
{
    const struct node *at = node_get(l->job->at, "command");
    size_t n = l->job->command ? strlen(l->job->command) : 0;
    const char *text;

    if (!l->job->command)
        return NULL;
    while (n > 0 && strchr("\r\n", l->job->command[n - 1]))
        n--;
    text = arena_strndup(l->b.a, l->job->command, n);
    if (!text[strspn(text, " \t\r\n")])
        diag_at(l->b.ds, at, "E0104", NULL, "`command` must not be empty");

    const struct rewrite rw = {l->b.a, l->b.ds, l->opts, l->doc, at};

    return rewrite_start_sleep(&rw, az_command(l, at, text));
}

static void lower_code(struct az *l, struct role *role)
{
    const char *code = l->job->code;

    if (!code)
        return;
    if (az_is_remote(code)) {
        diag_at(
            l->b.ds, node_get(l->job->at, "code"), "W0421", "download it and use --workdir DIR",
            "the code is not available locally; the command runs in the directory of the job file");
        return;
    }
    role->workdir = strncmp(code, "file:", 5) == 0 ? code + 5 : code;
    role->workdir_at = node_get(l->job->at, "code");
}

/* "azureml:NAME:VERSION", "azureml:NAME@LABEL", "azureml://registries/…", "file:PATH" */
static void check_registered(struct az *l, const char *text)
{
    const struct node *at = l->job->environment;

    if (strncmp(text, "file:", 5) == 0)
        return;
    if (strncmp(text, "azureml:", 8) != 0)
        diag_at(l->b.ds, at, "E0423",
                "write azureml:NAME:VERSION, azureml:NAME@latest or {image: NAME}",
                "\"%.80s\" is not a valid environment", text);
    else if (!strpbrk(text + 8, ":@/"))
        diag_at(l->b.ds, at, "W0422", "write azureml:NAME:VERSION or azureml:NAME@latest",
                "environment \"%.80s\" has no version", text + 8);
}

static const char *lower_environment(struct az *l)
{
    const struct node *node = l->job->environment;
    const struct az_environment *env;
    const char *text = NULL;

    if (!node)
        return NULL;
    if (node->type != NODE_MAP) {
        if (bind_string(&l->b, "environment", node, &text))
            check_registered(l, text);
        return text;
    }
    env = bind_map(&l->b, &az_environment_table, node);
    if (env->image && env->build)
        diag_at(l->b.ds, node_key(node, "build"), "E0106", "keep one of the two",
                "an environment must have either `image` or `build`, not both");
    return env->image ? env->image : env->build ? env->build->path : NULL;
}

static void lower_variables(struct az *l, struct role *role)
{
    const struct node *map = l->job->variables;
    struct env_entry *env;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "environment_variables", "a mapping", NULL, map);
        return;
    }
    env = ARENA_ARRAY(l->b.a, struct env_entry, map->n + 1);
    for (size_t i = 0; i < map->n; i++) {
        const struct node *key = map->pairs[i].key, *value = map->pairs[i].value;
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        if (!key->text[0] || strchr(key->text, '=') || strlen(key->text) != key->len) {
            diag_at(l->b.ds, key, "E0211", NULL, "\"%.80s\" is not a valid variable name",
                    key->text);
            continue;
        }
        if (value->type == NODE_MAP || value->type == NODE_SEQ ||
            (value->type != NODE_NULL && strlen(value->text) != value->len)) {
            bind_type_error(&l->b, key->text, "a string", NULL, value);
            continue;
        }
        /* what the model expands, Azure takes as it is */
        for (const char *c = value->type == NODE_NULL ? "" : value->text; *c; c++) {
            if (*c == '$')
                strbuf_addch(&sb, '$');
            strbuf_addch(&sb, *c);
        }
        env[role->n_env++] = (struct env_entry){
            .name = key->text, .value = arena_strndup(l->b.a, sb.buf, sb.len), .at = value};
    }
    role->env = env;
}

/* --- resources ------------------------------------------------------------------------------ */

/* "2g", "512m", "1024" */
static void lower_shm(struct az *l, struct role *role)
{
    static const char units[] = "bkmg";
    const char *text = l->job->resources ? l->job->resources->shm_size : NULL;
    size_t n = text ? strspn(text, "0123456789") : 0;
    const char *unit = text && text[n] ? strchr(units, tolower((unsigned char)text[n])) : NULL;
    int64_t value = 0;

    if (!text)
        return;
    if (n == 0 || num_i64(arena_strndup(l->b.a, text, n), &value) < 0 || value < 1 ||
        value > INT64_MAX >> 30 || (text[n] && (!unit || text[n + 1]))) {
        diag_at(l->b.ds, node_get(l->job->resources->at, "shm_size"), "E0204",
                "write a number followed by b, k, m or g, such as 2g",
                "\"%.80s\" is not a valid size", text);
        return;
    }
    role->res.shm = value << (unit ? 10 * (unit - units) : 0);
    role->res.shm_at = node_get(l->job->resources->at, "shm_size");
}

/* --- the job -------------------------------------------------------------------------------- */

static bool lower_roles(struct az *l)
{
    const struct az_resources *resources = l->job->resources;
    const struct node *count = resources ? resources->instance_count : NULL;
    struct role *roles = ARENA_ARRAY(l->b.a, struct role, AZ_N_ROLES), *node = &roles[AZ_NODE];
    bool runs;

    *node = spec_new_role("node", ROLE_PLAIN);
    node->replicas = az_count(l, "instance_count", count, 1, 1);
    node->replicas_at = count;
    node->shell_kind = SHELL_BASH;
    node->command_at = node_get(l->job->at, "command");
    node->image = lower_environment(l);
    node->shell = lower_command(l);
    lower_code(l, node);
    lower_variables(l, node);
    lower_shm(l, node);
    l->out->roles = roles;
    l->out->n_roles = 1;
    runs = az_lower_distribution(l, roles);
    if (!l->job->distribution && node->replicas > 1)
        diag_at(l->b.ds, count, "W0424", "add a `distribution`",
                "%d nodes without `distribution`: each runs the command without knowing the others",
                node->replicas);
    l->out->gang = l->out->framework != FRAMEWORK_MPI;
    return runs;
}

static bool is_text(const struct node *root, const char *key, const char *part, bool whole)
{
    const struct node *node = node_get(root, key);

    if (!node || node->type != NODE_STRING)
        return false;
    return whole ? strcasecmp(node->text, part) == 0 : strstr(node->text, part) != NULL;
}

static bool is_map(const struct node *root, const char *key)
{
    const struct node *node = node_get(root, key);

    return node && node->type == NODE_MAP;
}

/* The forms of 2020 and 2021 had mappings where there are texts now. */
bool azureml_is_old(const struct node *root)
{
    return node_get(root, "distributed") || is_map(root, "code") || is_map(root, "compute");
}

bool azureml_of_component(const struct node *root)
{
    return node_get(root, "component") && !node_get(root, "command");
}

static bool detect(const struct node *root)
{
    static const char *const company[] = {"environment", "compute", "distribution", "code",
                                          "resources"};
    bool found =
        is_text(root, "$schema", "commandJob", false) || is_text(root, "type", "command", true);

    for (size_t i = 0; i < ARRAY_SIZE(company); i++)
        found = found || (node_get(root, "command") && !node_get(root, "type") &&
                          !node_get(root, "$schema") && node_get(root, company[i]));
    return found && !node_get(root, "apiVersion") && !azureml_of_component(root) &&
           !is_text(root, "$schema", "Component", false) && !azureml_is_old(root);
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct az l = {.b = {.a = a, .ds = ds, .root = &az_job_table}, .opts = opts, .doc = doc};
    size_t before = ds->n_errors;

    *ret = NULL;
    l.job = bind_map(&l.b, &az_job_table, root);
    if (!l.job)
        return VERDICT_ACCEPT;
    l.out = ARENA_NEW(a, struct job_spec);
    *l.out = (struct job_spec){
        .name = l.job->name ? l.job->name : name_of_file(a, doc->file ? doc->file : "job"),
        .name_at = node_get(root, "name"),
        .root_at = root,
        .dialect = azureml.id,
        .platform = platform_of(PLATFORM_AZUREML),
        .file = doc->file,
        .experiment = l.job->experiment,
        .priority = -1,
    };
    check_name(&l);
    az_lower_values(&l);

    bool runs = lower_roles(&l);

    az_lower_platform(&l);
    spec_validate(l.out, ds);
    if (!runs)
        return VERDICT_UNSUPPORTED;
    if (ds->n_errors == before)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

const struct dialect azureml = {.id = "azureml",
                                .title = "Azure ML's command jobs",
                                .root_table = &az_job_table,
                                .detect = detect,
                                .lower = lower};
