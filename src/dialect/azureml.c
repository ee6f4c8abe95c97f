/* azureml.c - lowers Azure ML's command job.
 *
 *   no distribution, pytorch   the command in each process of each node
 *   tensorflow                 the command in each task; tasks are dealt out to the nodes, and the job
 *                              is over when the workers are
 *   mpi                        Azure starts mpirun, each rank runs the command: a launcher that the
 *                              file does not name, and nodes that wait for it
 *
 * Not here: inputs, outputs and what the command makes of them (azureml_values.c), environment
 * values (plan), the previews' files (azureml_preview.c). */
#include "dialect/azureml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "dialect/rewrite.h"

enum { NODE_ROLE, LAUNCHER_ROLE, N_ROLES };

static const char *lower_case(struct arena *a, const char *text)
{
    char *low = arena_strdup(a, text);

    for (char *c = low; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return low;
}

/* A count as the service reads it: a number in quotes is one. absent if there is none. */
static int32_t count_of(struct az *l, const char *key, const struct node *node, int32_t min,
                        int32_t absent)
{
    int64_t n = 0;

    if (!node)
        return absent;
    if (node->type == NODE_INT)
        n = node->i;
    else if (node->type != NODE_STRING || num_i64(node->text, &n) < 0) {
        bind_type_error(&l->b, key, "an integer", NULL, node);
        return absent;
    }
    if (n < min || n > INT32_MAX) {
        diag_at(l->b.ds, node, "E0203", NULL, "`%s` must be at least %d, not %.40s", key, min,
                node->text);
        return absent;
    }
    return (int32_t)n;
}

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
                "\"%.80s\" is no name of a job", name);
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
        diag_at(l->b.ds, node_get(l->job->at, "code"), "W0421",
                "fetch it, and say where it is by --workdir DIR",
                "the code is not on this machine: the command runs in the job file's directory");
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
                "\"%.80s\" is no environment", text);
    else if (!strpbrk(text + 8, ":@/"))
        diag_at(l->b.ds, at, "W0422", "write azureml:NAME:VERSION or azureml:NAME@latest",
                "the environment \"%.80s\" has no version", text + 8);
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
                "an environment has `image` or `build`, not both");
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
            diag_at(l->b.ds, key, "E0211", NULL, "\"%.80s\" is no name of a variable", key->text);
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
                "write a number and b, k, m or g: 2g", "\"%.80s\" is no size", text);
        return;
    }
    role->res.shm = value << (unit ? 10 * (unit - units) : 0);
    role->res.shm_at = node_get(l->job->resources->at, "shm_size");
}

static void add_port(struct az *l, struct role *role, const char *label, int32_t count,
                     int32_t usual, bool first_only)
{
    struct port_request *port = ARENA_NEW(l->b.a, struct port_request);

    *port = (struct port_request){
        .label = label, .count = count, .usual = usual, .first_only = first_only};
    role->ports = port;
    role->n_ports = 1;
}

/* --- distribution --------------------------------------------------------------------------- */

#define MASTER_PORT 6105 /* Azure's own number */

static void lower_pytorch(struct az *l, const struct az_distribution *in, struct role *node)
{
    l->out->framework = FRAMEWORK_PYTORCH;
    l->out->ranks = true;
    node->slots = count_of(l, "process_count_per_instance", in->per_instance, 1, 1);
    add_port(l, node, "MASTER_PORT", 1, MASTER_PORT, true);
}

static void lower_tensorflow(struct az *l, const struct az_distribution *in, struct role *node)
{
    struct task *tasks = ARENA_ARRAY(l->b.a, struct task, 2);
    int64_t total;

    tasks[0] =
        (struct task){"worker", count_of(l, "worker_count", in->workers, 1, node->replicas), false};
    tasks[1] = (struct task){"ps", count_of(l, "parameter_server_count", in->servers, 0, 0), true};
    node->tasks = tasks;
    node->n_tasks = tasks[1].count > 0 ? 2 : 1;
    total = (int64_t)tasks[0].count + tasks[1].count;
    if (total > LIMIT_PROCESSES) {
        diag_at(l->b.ds, in->at, "E0203", NULL, "the job has %lld tasks (%d at most)",
                (long long)total, LIMIT_PROCESSES);
        return;
    }
    if (total < node->replicas)
        diag_at(l->b.ds, node_label(in->at), "W0423", "ask for fewer instances",
                "%lld task%s on %d nodes: some of them have nothing to do", (long long)total,
                total == 1 ? "" : "s", node->replicas);
    l->out->framework = FRAMEWORK_TENSORFLOW;
    node->slots = (int32_t)((total + node->replicas - 1) / node->replicas);
    add_port(l, node, "TF_CONFIG", node->slots, 2222, false);
}

static void lower_mpi(struct az *l, const struct az_distribution *in, struct role *roles)
{
    /* every node takes the whole machine for its own, and would bind its ranks to the same cores */
    static const char *const unbound[] = {"-bind-to", "none", NULL};
    struct role *node = &roles[NODE_ROLE], *launcher = &roles[LAUNCHER_ROLE];
    struct mpi_spec *mpi = ARENA_NEW(l->b.a, struct mpi_spec);
    const char **program = ARENA_ARRAY(l->b.a, const char *, 4);

    node->slots = count_of(l, "process_count_per_instance", in->per_instance, 1, 1);
    add_port(l, node, "MASTER_PORT", 1, MASTER_PORT, true);
    *launcher = *node;
    launcher->name = "launcher";
    launcher->kind = ROLE_LAUNCHER;
    launcher->implied = true;
    launcher->replicas = launcher->slots = 1;
    launcher->ports = NULL;
    launcher->n_ports = 0;
    launcher->res = RESOURCES_UNSET;
    program[0] = "bash";
    program[1] = "-c";
    program[2] = node->shell;
    *mpi = (struct mpi_spec){.extra_args = unbound, .program = program};
    launcher->shell = node->shell = NULL;
    node->kind = ROLE_HOST;
    l->out->framework = FRAMEWORK_MPI;
    l->out->mpi = program[2] ? mpi : NULL;
    l->out->n_roles = N_ROLES;
}

/* The kind of distribution decides which keys there are. False: it is not run. */
static bool lower_distribution(struct az *l, struct role *roles)
{
    static const char *const types[] = {"mpi", "pytorch", "tensorflow", "ray"};
    static const struct bind_table *const tables[] = {&az_mpi_table, &az_mpi_table,
                                                      &az_tensorflow_table, &az_ray_table};
    const struct node *map = l->job->distribution;
    const struct node *at = map ? node_get(map, "type") : NULL;
    const char *type = NULL;
    size_t k = 0;

    if (!map)
        return true;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "distribution", "a mapping with a `type`", NULL, map);
        return true;
    }
    if (node_absent(map, "type"))
        bind_missing(&l->b, map, "distribution", "type", "mpi, pytorch or tensorflow");
    if (node_absent(map, "type") || !bind_string(&l->b, "type", at, &type))
        return true;
    while (k < ARRAY_SIZE(types) && strcasecmp(types[k], type) != 0)
        k++;
    if (k == ARRAY_SIZE(types)) {
        bind_word(&l->b, at, "type", lower_case(l->b.a, type), types, ARRAY_SIZE(types));
        return true;
    }

    const struct az_distribution *in = bind_map(&l->b, tables[k], map);

    if (k == 0)
        lower_mpi(l, in, roles);
    else if (k == 1)
        lower_pytorch(l, in, &roles[NODE_ROLE]);
    else if (k == 2)
        lower_tensorflow(l, in, &roles[NODE_ROLE]);
    else
        diag_at(l->b.ds, at, "E0111", "start Ray by the command, with distribution pytorch",
                "a job that is distributed by Ray is not supported");
    return k < 3;
}

/* --- the rest ------------------------------------------------------------------------------- */

static void lower_compute(struct az *l)
{
    const char *text = NULL;

    if (l->job->compute && bind_string(&l->b, "compute", l->job->compute, &text))
        l->out->target = strncmp(text, "azureml:", 8) == 0 ? text + 8 : text;
}

static void lower_queue(struct az *l)
{
    static const char *const tiers[] = {"spot", "basic", "standard", "premium", "null"};
    static const char *const priorities[] = {"low", "medium", "high"};
    const struct az_queue *in = l->job->queue;

    if (!in)
        return;
    if (in->job_tier) {
        l->out->queue = lower_case(l->b.a, in->job_tier);
        bind_word(&l->b, node_get(in->at, "job_tier"), "job_tier", l->out->queue, tiers,
                  ARRAY_SIZE(tiers));
    }
    for (int32_t i = 0; in->priority && i < (int32_t)ARRAY_SIZE(priorities); i++) {
        if (strcasecmp(priorities[i], in->priority) == 0)
            l->out->priority = i + 1;
    }
    if (in->priority && l->out->priority < 0)
        bind_word(&l->b, node_get(in->at, "priority"), "priority", lower_case(l->b.a, in->priority),
                  priorities, ARRAY_SIZE(priorities));
}

static void check_identity(struct az *l)
{
    static const char *const types[] = {"aml_token", "managed", "managed_identity",
                                        "user_identity"};
    const struct az_identity *in = l->job->identity;
    bool known = false;

    if (!in || !in->type)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) { /* AMLToken is aml_token */
        const char *a = in->type, *b = types[i];

        for (; *a; a++, b++) {
            b += *b == '_' && *a != '_';
            if (tolower((unsigned char)*a) != *b)
                break;
        }
        known = known || (!*a && !*b);
    }
    if (!known)
        bind_word(&l->b, node_get(in->at, "type"), "type", in->type, types, ARRAY_SIZE(types));
    diag_at(l->b.ds, node_label(in->at), "N0301", NULL,
            "`identity` has no effect in a local run: the job runs as you");
}

/* Texts by name, or nothing. */
static void check_texts(struct az *l, const char *key, const struct node *map)
{
    const char *text;

    if (!map)
        return;
    if (map->type != NODE_MAP)
        bind_type_error(&l->b, key, "a mapping", NULL, map);
    for (size_t i = 0; map->type == NODE_MAP && i < map->n; i++) {
        const struct pair *p = &map->pairs[i];

        if (p->value->type != NODE_NULL)
            (void)bind_string(&l->b, arena_printf(l->b.a, "%s.%.80s", key, p->key->text), p->value,
                              &text);
    }
}

static void check_services(struct az *l)
{
    const struct node *map = l->job->services;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "services", "a mapping", NULL, map);
        return;
    }
    for (size_t i = 0; i < map->n; i++) {
        if (node_key(map->pairs[i].value, "job_service_type"))
            diag_at(l->b.ds, node_key(map->pairs[i].value, "job_service_type"), "E0101",
                    "write `type`", "unknown key `job_service_type` in a service");
        else
            (void)bind_map(&l->b, &az_service_table, map->pairs[i].value);
    }
    diag_at(l->b.ds, node_label(map), "N0301", NULL,
            "`services` has no effect in a local run: the job can be reached as it is");
}

static void check_type(struct az *l)
{
    static const char *const types[] = {"command"};

    if (l->job->type)
        bind_word(&l->b, node_get(l->job->at, "type"), "type", lower_case(l->b.a, l->job->type),
                  types, ARRAY_SIZE(types));
}

static bool lower_roles(struct az *l)
{
    const struct az_resources *resources = l->job->resources;
    const struct node *count = resources ? resources->instance_count : NULL;
    struct role *roles = ARENA_ARRAY(l->b.a, struct role, N_ROLES), *node = &roles[NODE_ROLE];
    bool runs;

    *node = (struct role){
        .name = "node",
        .kind = ROLE_PLAIN,
        .replicas = count_of(l, "instance_count", count, 1, 1),
        .replicas_at = count,
        .slots_kind = SLOTS_NUMBER,
        .slots = 1,
        .shell_kind = SHELL_BASH,
        .command_at = node_get(l->job->at, "command"),
        .image = lower_environment(l),
        .res = RESOURCES_UNSET,
        .grace_s = -1,
        .restart = RESTART_NEVER,
    };
    node->shell = lower_command(l);
    lower_code(l, node);
    lower_variables(l, node);
    lower_shm(l, node);
    l->out->roles = roles;
    l->out->n_roles = 1;
    runs = lower_distribution(l, roles);
    if (!l->job->distribution && node->replicas > 1)
        diag_at(l->b.ds, count, "W0424", "add a `distribution`",
                "%d nodes without a distribution: each runs the command and is told nothing of the "
                "others",
                node->replicas);
    l->out->gang = l->out->framework != FRAMEWORK_MPI;
    return runs;
}

/* --- the job -------------------------------------------------------------------------------- */

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

static bool detect(const struct node *root)
{
    static const char *const company[] = {"environment", "compute", "distribution", "code",
                                          "resources"};
    bool found =
        is_text(root, "$schema", "commandJob", false) || is_text(root, "type", "command", true);

    for (size_t i = 0; i < ARRAY_SIZE(company); i++)
        found = found || (node_get(root, "command") && !node_get(root, "type") &&
                          !node_get(root, "$schema") && node_get(root, company[i]));
    return found && !node_get(root, "apiVersion") &&
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
        .file = doc->file,
        .experiment = l.job->experiment,
        .priority = -1,
    };
    check_type(&l);
    check_name(&l);
    az_lower_values(&l);

    bool runs = lower_roles(&l);

    lower_compute(&l);
    lower_queue(&l);
    check_identity(&l);
    check_services(&l);
    check_texts(&l, "tags", l.job->tags);
    check_texts(&l, "properties", l.job->properties);
    if (l.job->limits)
        l.out->deadline_s = count_of(&l, "timeout", l.job->limits->timeout, 0, 0);
    spec_validate(l.out, ds);
    if (!runs)
        return VERDICT_UNSUPPORTED;
    if (ds->n_errors == before)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

const struct dialect azureml = {.id = "azureml", .detect = detect, .lower = lower};
