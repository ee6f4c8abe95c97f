/* v1.c - lowers OpenPAI's first job file, JSON with a list of task roles.
 *
 * What is accepted is what the REST server of v0.14 accepted, where that makes sense: unknown keys
 * and null are errors, a number in quotes is not (a warning). The command is run by bash without
 * any options, once per task.
 *
 * Not here: the data, output and code directories (HDFS) are told to the job, nothing is copied. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "dialect/openpai/openpai.h"
#include "dialect/openpai/template.h"

/* --- the keys ------------------------------------------------------------------------------- */

struct pai1_port {
    const struct node *at;
    const char *label;
    const struct node *begin_at, *count;
};

struct pai1_role {
    const struct node *at;
    const char *name, *command;
    const struct node *tasks, *cpu, *memory, *shm, *gpu, *min_failed, *min_succeeded;
    BIND_LIST(struct pai1_port) ports;
};

struct pai1_job {
    const struct node *at;
    const char *name, *image, *data_dir, *output_dir, *code_dir, *virtual_cluster;
    const struct node *retries, *kill_all, *envs, *extras;
    BIND_LIST(struct pai1_role) roles;
};

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct bind_field port_fields[] = {
    {.key = "label",
     .kind = BIND_STRING,
     .required = true,
     AT(pai1_port, label),
     .doc = "The label, used in PAI_PORT_LIST_*."},
    {.key = "beginAt",
     .kind = BIND_NODE,
     AT(pai1_port, begin_at),
     .takes = TAKES_QUANTITY,
     .doc = "The first port number; 0: any free ports."},
    {.key = "portNumber",
     .kind = BIND_NODE,
     AT(pai1_port, count),
     .takes = TAKES_QUANTITY,
     .doc = "The number of ports."},
};
static const struct bind_table port_table =
    BIND_TABLE("a portList entry", struct pai1_port, port_fields);

static const struct bind_field role_fields[] = {
    {.key = "name",
     .kind = BIND_STRING,
     .required = true,
     AT(pai1_role, name),
     .doc = "The name of the task role, used in host names."},
    {.key = "taskNumber",
     .kind = BIND_NODE,
     AT(pai1_role, tasks),
     .takes = TAKES_QUANTITY,
     .doc = "The number of tasks."},
    {.key = "cpuNumber",
     .kind = BIND_NODE,
     AT(pai1_role, cpu),
     .takes = TAKES_QUANTITY,
     .doc = "Cores of a task."},
    {.key = "memoryMB",
     .kind = BIND_NODE,
     AT(pai1_role, memory),
     .takes = TAKES_QUANTITY,
     .doc = "Memory of a task in MiB."},
    {.key = "shmMB",
     .kind = BIND_NODE,
     AT(pai1_role, shm),
     .takes = TAKES_QUANTITY,
     .doc = "The size of /dev/shm in MiB."},
    {.key = "gpuNumber",
     .kind = BIND_NODE,
     AT(pai1_role, gpu),
     .takes = TAKES_QUANTITY,
     .doc = "GPUs of a task."},
    {.key = "minFailedTaskCount",
     .kind = BIND_NODE,
     AT(pai1_role, min_failed),
     .takes = TAKES_QUANTITY,
     .doc = "The number of failed tasks that fails the job; null: never."},
    {.key = "minSucceededTaskCount",
     .kind = BIND_NODE,
     AT(pai1_role, min_succeeded),
     .takes = TAKES_QUANTITY,
     .doc = "The number of succeeded tasks that ends the job with success."},
    {.key = "command",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(pai1_role, command),
     .doc = "Run once per task, by bash."},
    {.key = "portList",
     .kind = BIND_STRUCTS,
     .table = &port_table,
     AT(pai1_role, ports),
     .doc = "Ports of each task."},
};
static const struct bind_table role_table =
    BIND_TABLE("a task role", struct pai1_role, role_fields);

static const struct bind_field job_fields[] = {
    {.key = "jobName",
     .kind = BIND_STRING,
     .required = true,
     AT(pai1_job, name),
     .doc = "The name of the job."},
    {.key = "image",
     .kind = BIND_STRING,
     .required = true,
     .non_empty = true,
     AT(pai1_job, image),
     .doc = "The image; locally the job uses what is installed (--image)."},
    {.key = "taskRoles",
     .kind = BIND_STRUCTS,
     .required = true,
     .non_empty = true,
     .table = &role_table,
     AT(pai1_job, roles),
     .doc = "What runs."},
    {.key = "virtualCluster",
     .kind = BIND_STRING,
     AT(pai1_job, virtual_cluster),
     .doc = "The queue of `muster submit`; no effect in a local run."},
    {.key = "dataDir",
     .kind = BIND_STRING,
     AT(pai1_job, data_dir),
     .doc = "Value of PAI_DATA_DIR; nothing is copied."},
    {.key = "outputDir",
     .kind = BIND_STRING,
     AT(pai1_job, output_dir),
     .doc = "Value of PAI_OUTPUT_DIR; nothing is copied."},
    {.key = "codeDir",
     .kind = BIND_STRING,
     AT(pai1_job, code_dir),
     .doc = "Value of PAI_CODE_DIR; nothing is copied."},
    {.key = "authFile", .kind = BIND_NOTED, .why = "has no effect locally: no image is pulled"},
    {.key = "gpuType", .kind = BIND_NOTED, .why = "has no effect locally: it selects a node"},
    {.key = "retryCount",
     .kind = BIND_NODE,
     AT(pai1_job, retries),
     .takes = TAKES_QUANTITY,
     .doc = "Maximum number of retries of the job."},
    {.key = "killAllOnCompletedTaskNumber",
     .kind = BIND_NODE,
     AT(pai1_job, kill_all),
     .takes = TAKES_QUANTITY,
     .doc = "Obsolete; gives a warning."},
    {.key = "jobEnvs",
     .kind = BIND_NODE,
     AT(pai1_job, envs),
     .takes = TAKES_MAP,
     .doc = "Variables of every task."},
    {.key = "extras",
     .kind = BIND_NODE,
     AT(pai1_job, extras),
     .doc = "Hints for the platform, not read."},
};
static const struct bind_table job_table = BIND_TABLE("the job", struct pai1_job, job_fields);

static const char *const may_be_null[] = {"minFailedTaskCount", "minSucceededTaskCount", NULL};

/* --- lowering ------------------------------------------------------------------------------- */

struct lowering {
    struct binder b;
    const struct read_options *opts;
    const struct pai1_job *in;
    struct job_spec *out;
    struct env_entry *env;
    size_t n_env;
    size_t budget; /* bytes that texts made here may still have */
};

static int32_t number(struct lowering *l, const char *key, const struct node *node, int32_t min,
                      int32_t max, int32_t def)
{
    return pai_int(&l->b, &(struct pai_int){key, min, max, def, true}, node);
}

static void lower_ports(struct lowering *l, const struct pai1_role *in, struct role *role)
{
    struct port_request *ports = ARENA_ARRAY(l->b.a, struct port_request, in->ports.n);

    for (size_t i = 0; i < in->ports.n; i++) {
        const struct pai1_port *p = &in->ports.v[i];
        const struct node *at = node_get(p->at, "label");

        if (!p->label || !pai_check_name(&l->b, at, "a port's label", p->label, "._~", false))
            continue;
        ports[i] = (struct port_request){
            .label = p->label,
            .begin_at = number(l, "beginAt", p->begin_at, 0, 65535, 0),
            .count = number(l, "portNumber", p->count, 0, LIMIT_PORTS, 1),
            .at = p->at,
        };
        if (ports[i].begin_at + ports[i].count > 65536 && ports[i].begin_at)
            diag_at(l->b.ds, p->begin_at, "E0308", NULL, "%d ports from %d exceed 65535",
                    ports[i].count, ports[i].begin_at);
        for (size_t k = 0; k < i && i < LIMIT_PORTS; k++) {
            if (ports[k].label && strcmp(ports[k].label, p->label) == 0)
                diag_at(l->b.ds, at, "E0305", NULL, "duplicate port %s (first at line %u)",
                        p->label, node_get(ports[k].at, "label")->pos.line);
        }
    }
    pai_set_ports(l->b.a, role, ports, in->ports.n);
}

/* A count of tasks that ends the job: null is said apart from nothing. */
static int32_t completion(struct lowering *l, const char *key, const struct pai1_role *in,
                          const struct node *node, int32_t tasks, int32_t def)
{
    const struct node *said = node_get(in->at, key);
    int32_t n = number(l, key, node, 1, INT32_MAX, def);

    if (said && said->type == NODE_NULL)
        return -1;
    if (node && n > tasks)
        diag_at(l->b.ds, node, "E0303", NULL, "`%s` must not exceed the %d task%s of the role", key,
                tasks, tasks == 1 ? "" : "s");
    return n;
}

static void lower_role(struct lowering *l, const struct pai1_role *in, struct role *role)
{
    int32_t memory;

    *role = pai_role(in->name ? in->name : "", SHELL_BASH);
    role->replicas_at = in->tasks ? in->tasks : in->at;
    role->replicas = number(l, "taskNumber", in->tasks, 1, INT32_MAX, 1);
    role->min_failed = completion(l, "minFailedTaskCount", in, in->min_failed, role->replicas, 1);
    role->min_failed_at = node_get(in->at, "minFailedTaskCount");
    role->min_succeeded =
        completion(l, "minSucceededTaskCount", in, in->min_succeeded, role->replicas, -1);
    memory = number(l, "memoryMB", in->memory, 0, INT32_MAX, 100);
    if (!in->memory)
        diag_at(l->b.ds, node_label(in->at), "N0323", NULL,
                "`memoryMB` not set; defaults to 100 MB, as in OpenPAI");
    pai_resources(role, number(l, "cpuNumber", in->cpu, 0, INT32_MAX, 1), memory,
                  number(l, "gpuNumber", in->gpu, 0, INT32_MAX, 0),
                  number(l, "shmMB", in->shm, 0, INT32_MAX, PAI1_SHM_MB), in->shm);
    role->res.cpu_limit_at = in->cpu;
    role->res.memory_limit_at = in->memory;
    role->image = l->in->image;
    role->env = l->env;
    role->n_env = l->n_env;
    role->shell = in->command;
    role->command_at = node_get(in->at, "command");
    if (role->shell)
        pai_start_sleep(&l->b, l->opts, role->command_at, &role->shell, &role->shell_secret);
    lower_ports(l, in, role);
}

static void lower_roles(struct lowering *l)
{
    size_t n = l->in->roles.n;
    struct role *roles = ARENA_ARRAY(l->b.a, struct role, n);
    const struct node **at = ARENA_ARRAY(l->b.a, const struct node *, n);
    bool named = true;

    for (size_t i = 0; i < n; i++) {
        const struct pai1_role *in = &l->in->roles.v[i];

        lower_role(l, in, &roles[i]);
        at[i] = node_get(in->at, "name");
        named = named && in->name &&
                pai_check_name(&l->b, at[i], "a task role's name", in->name, "._~", false);
    }
    if (named)
        pai_check_roles(&l->b, roles, n, at);
    l->out->roles = roles;
    l->out->n_roles = n;
}

/* --- the environment ------------------------------------------------------------------------ */

static const char *env_text(struct lowering *l, const struct pair *p)
{
    const struct node *value = p->value;
    const char *json;

    switch (value->type) {
    case NODE_NULL:
        return "";
    case NODE_BOOL:
        return value->i ? "true" : "false";
    case NODE_MAP:
    case NODE_SEQ:
        json = node_json(l->b.a, value, l->budget);
        if (!json) {
            diag_at(l->b.ds, value, "E0005", NULL, "the texts of the job exceed %d bytes",
                    LIMIT_COMMANDS_BYTES);
            return "";
        }
        l->budget -= strlen(json);
        diag_at(l->b.ds, value, "W0306", "OpenPAI would write [object Object]",
                "`%s` is %s; exported as JSON", p->key->text, node_type_words(value->type));
        return json;
    default:
        return value->text;
    }
}

static bool env_fine(struct lowering *l, const struct pair *p)
{
    if (!p->key->len || strchr(p->key->text, '=') || strlen(p->key->text) != p->key->len)
        diag_at(l->b.ds, p->key, "E0211", NULL, "\"%s\" is not a valid variable name",
                p->key->text);
    else if (p->value->type == NODE_STRING && strlen(p->value->text) != p->value->len)
        diag_at(l->b.ds, p->value, "E0215", NULL, "`%s` contains a NUL character", p->key->text);
    else
        return true;
    return false;
}

/* What OpenPAI itself reads from among the variables. */
static void look_at_env(struct lowering *l, const struct pair *p)
{
    bool on = p->value->type == NODE_BOOL && p->value->i;

    if (on && strcmp(p->key->text, "paiAzRDMA") == 0)
        pai_warn_rdma(&l->b, p->value, "paiAzRDMA");
    if (on && strcmp(p->key->text, "isDebug") == 0)
        diag_at(l->b.ds, p->key, "N0301", NULL,
                "`isDebug` has no effect: failed tasks are not kept");
}

static void lower_env(struct lowering *l)
{
    const struct node *envs = l->in->envs;

    if (!envs)
        return;
    if (envs->type != NODE_MAP) {
        bind_type_error(&l->b, "jobEnvs", "a mapping", NULL, envs);
        return;
    }
    if (envs->n > LIMIT_ENV) {
        diag_at(l->b.ds, envs, "E0005", NULL, "more than %d environment variables", LIMIT_ENV);
        return;
    }
    l->env = ARENA_ARRAY(l->b.a, struct env_entry, envs->n);
    for (size_t i = 0; i < envs->n; i++) {
        const struct pair *p = &envs->pairs[i];

        if (!env_fine(l, p))
            continue;
        look_at_env(l, p);
        l->env[l->n_env++] = (struct env_entry){
            .name = p->key->text, .value = env_text(l, p), .source = ENV_LITERAL, .at = p->value};
    }
}

/* --- the rest ------------------------------------------------------------------------------- */

static const char *given(const char *text)
{
    return text && *text ? text : NULL;
}

static void lower_directories(struct lowering *l)
{
    static const char *const keys[] = {"dataDir", "outputDir", "codeDir"};
    struct pai_spec *pai = ARENA_NEW(l->b.a, struct pai_spec);
    const char *const values[] = {l->in->data_dir, l->in->output_dir, l->in->code_dir};

    *pai = (struct pai_spec){.version = 1,
                             .data_dir = given(values[0]),
                             .output_dir = given(values[1]),
                             .code_dir = given(values[2])};
    l->out->pai = pai;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (given(values[i]))
            diag_at(l->b.ds, node_key(l->in->at, keys[i]), "N0324", NULL,
                    "`%s` is passed to the job, but nothing is copied", keys[i]);
    }
}

static void lower_job(struct lowering *l)
{
    const struct pai1_job *in = l->in;

    l->out->name = in->name;
    l->out->name_at = node_get(in->at, "jobName");
    if (in->name)
        pai_check_name(&l->b, l->out->name_at, "jobName", in->name, "-._", false);
    l->out->queue = given(in->virtual_cluster) ? in->virtual_cluster : "default";
    l->out->retry = (struct retry_policy){
        .by_class = true, .max = number(l, "retryCount", in->retries, -2, INT32_MAX, 0)};
    number(l, "killAllOnCompletedTaskNumber", in->kill_all, INT32_MIN, INT32_MAX, 0);
    if (in->kill_all)
        diag_at(l->b.ds, node_label(in->kill_all), "W0301",
                "use minFailedTaskCount and minSucceededTaskCount of each role",
                "`killAllOnCompletedTaskNumber` is obsolete and has no effect");
    if (in->extras && in->extras->type != NODE_MAP)
        bind_type_error(&l->b, "extras", "a mapping", NULL, in->extras);
    lower_directories(l);
    lower_env(l);
    lower_roles(l);
}

static bool detect(const struct node *root)
{
    const struct node *roles = node_get(root, "taskRoles");

    return node_get(root, "jobName") && roles && roles->type == NODE_SEQ;
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {
        .b = {.a = a, .ds = ds, .root = &job_table}, .opts = opts, .budget = LIMIT_COMMANDS_BYTES};
    size_t before = ds->n_errors;

    *ret = NULL;
    l.in = bind_map(&l.b, &job_table, root);
    if (!l.in)
        return VERDICT_ACCEPT;
    pai_reject_nulls(&l.b, &job_table, root, may_be_null);
    l.out = pai_new_job(a, &openpai_v1, doc);
    lower_job(&l);
    *ret = pai_finish(l.out, ds, before);
    return VERDICT_ACCEPT;
}

const struct dialect openpai_v1 = {.id = "openpai-v1",
                                   .title = "OpenPAI's first job file",
                                   .root_table = &job_table,
                                   .detect = detect,
                                   .lower = lower};
