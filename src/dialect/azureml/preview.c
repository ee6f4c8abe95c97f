/* preview.c - lowers Azure ML's preview jobs (type MpiJob, PytorchJob, TensorflowJob).
 *
 *   MpiJob         launcher runs the command, which calls mpirun itself; the workers wait for it
 *   PytorchJob     the command once in each worker
 *   TensorflowJob  the command once in each worker and parameter server; over when the workers are
 *
 * Not here: how many workers an MpiJob has (azureml_preview_mpi.c), resource limits
 * (azureml_preview_limits.c), environment values (plan), later generations of the file. */
#include "dialect/azureml/preview.h"

#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "dialect/azureml/preview_lower.h"
#include "dialect/rewrite.h"

static const char *const types[] = {
    [AZP_MPI] = "MpiJob", [AZP_PYTORCH] = "PytorchJob", [AZP_TENSORFLOW] = "TensorflowJob"};
static const enum framework frameworks[] = {[AZP_MPI] = FRAMEWORK_MPI,
                                            [AZP_PYTORCH] = FRAMEWORK_PYTORCH,
                                            [AZP_TENSORFLOW] = FRAMEWORK_TENSORFLOW};

static int type_of(const char *word)
{
    int type = 0;

    while (type < AZP_N_TYPES && strcasecmp(word, types[type]) != 0)
        type++;
    return type;
}

/* --- roles ---------------------------------------------------------------------------------- */

/* Folded scalars end in a newline, which belongs to YAML rather than to the command. */
static const char *without_newline(struct arena *a, const char *text)
{
    size_t n = strlen(text);

    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    return arena_strndup(a, text, n);
}

static void lower_command(struct azp *l, const struct azp_role *in, struct role *role)
{
    const struct node *at;
    const char *text;

    if (!in->spec) {
        if (node_absent(in->at, "spec"))
            bind_missing(&l->b, in->at, role->name, "spec", NULL);
        return;
    }
    at = node_get(in->spec->at, "command");
    if (!in->spec->command) {
        if (node_absent(in->spec->at, "command"))
            bind_missing(&l->b, in->spec->at, arena_printf(l->b.a, "%s.spec", role->name),
                         "command", NULL);
        return;
    }
    text = without_newline(l->b.a, in->spec->command);
    if (!text[strspn(text, " \t\r\n")])
        diag_at(l->b.ds, at, "E0104", NULL, "`command` must not be empty");
    role->shell_kind = SHELL_SH;
    role->command_at = at;

    const struct rewrite rw = {l->b.a, l->b.ds, l->opts, l->doc, at};

    role->shell = rewrite_start_sleep(&rw, rewrite_command(&rw, text));
}

/* A role's section: all but its command and its number. */
static struct azp_out *lower_role(struct azp *l, const char *name, const struct azp_role *in)
{
    struct azp_out *out = &l->roles[l->out->n_roles];

    out->role = &l->spec_roles[l->out->n_roles++];
    *out->role = spec_new_role(name, ROLE_PLAIN);
    out->in = in;
    if (!in)
        return out;
    azp_lower_limits(l, in, out);
    if (in->spec && in->spec->environment)
        out->role->image = in->spec->environment;
    if (in->spec && in->spec->code) {
        out->role->workdir = in->spec->code->path;
        out->role->workdir_at = node_get(in->spec->code->at, "path");
    }
    return out;
}

/* The code is there for all roles, whichever names it. */
static void share_code(struct azp *l)
{
    const struct role *with = NULL;

    for (size_t i = l->out->n_roles; i-- > 0;) {
        if (l->spec_roles[i].workdir)
            with = &l->spec_roles[i];
    }
    for (size_t i = 0; with && i < l->out->n_roles; i++) {
        if (l->spec_roles[i].workdir)
            continue;
        l->spec_roles[i].workdir = with->workdir;
        l->spec_roles[i].workdir_at = with->workdir_at;
    }
}

static void add_port(struct azp *l, struct role *role, const char *label, int32_t usual,
                     bool first_only)
{
    struct port_request *port = ARENA_NEW(l->b.a, struct port_request);

    *port =
        (struct port_request){.label = label, .count = 1, .usual = usual, .first_only = first_only};
    role->ports = port;
    role->n_ports = 1;
}

/* num_replicas, else one per instance, else one. */
static void count_replicas(struct azp *l, struct azp_out *out)
{
    const struct azp_compute *compute = l->job->compute;

    if (out->in->num_replicas) {
        out->role->replicas = out->in->num_replicas;
        out->role->replicas_at = node_get(out->in->at, "num_replicas");
    } else if (compute && compute->instance_count) {
        out->role->replicas = compute->instance_count;
        out->role->replicas_at = node_get(compute->at, "instance_count");
    }
}

static void lower_pytorch(struct azp *l)
{
    struct azp_out *worker;

    if (!l->job->worker)
        return;
    worker = lower_role(l, "worker", l->job->worker);
    count_replicas(l, worker);
    worker->role->slots = azp_per_node(l, worker->in, NULL);
    if (!worker->role->slots)
        worker->role->slots = 1;
    lower_command(l, worker->in, worker->role);
    add_port(l, worker->role, "MASTER_PORT", 29500, true);
}

static void lower_tensorflow(struct azp *l)
{
    for (size_t i = 0; i < l->job->at->n; i++) { /* in the file's order */
        const char *key = l->job->at->pairs[i].key->text;
        bool is_worker = strcmp(key, "worker") == 0;
        const struct azp_role *in = is_worker ? l->job->worker : l->job->parameter_server;
        const struct node *unused = NULL;
        struct azp_out *out;

        if ((!is_worker && strcmp(key, "parameter_server") != 0) || !in)
            continue;
        out = lower_role(l, is_worker ? "worker" : "parameter_server", in);
        count_replicas(l, out);
        lower_command(l, in, out->role);
        add_port(l, out->role, "TF_CONFIG", 2222, false);
        if (is_worker && azp_per_node(l, in, &unused))
            diag_at(l->b.ds, node_label(unused), "N0301", NULL,
                    "`%s` has no effect: a TensorFlow task is one process", unused->parent_key);
        if (is_worker) /* the parameter servers would wait for ever */
            out->role->min_succeeded = out->role->replicas;
        out->role->min_failed = 1;
    }
}

static void lower_mpi(struct azp *l)
{
    const struct azp_job *job = l->job;
    struct azp_out *launcher, *worker;
    const struct node *command;

    if (!job->launcher)
        return;
    launcher = lower_role(l, "launcher", job->launcher);
    launcher->role->kind = ROLE_LAUNCHER;
    lower_command(l, launcher->in, launcher->role);
    worker = lower_role(l, "worker", job->worker);
    worker->role->kind = ROLE_HOST;
    if (!worker->role->image)
        worker->role->image = launcher->role->image;
    command = job->worker && job->worker->spec ? node_key(job->worker->spec->at, "command") : NULL;
    if (command)
        diag_at(l->b.ds, command, "W0404", "the launcher's command starts processes in the workers",
                "`command` of a worker of an MpiJob is never run");
    azp_count_mpi(l, launcher, worker);
}

/* --- the job -------------------------------------------------------------------------------- */

static void lower_type(struct azp *l, int type)
{
    static void (*const lower_as[])(struct azp *) = {
        [AZP_MPI] = lower_mpi, [AZP_PYTORCH] = lower_pytorch, [AZP_TENSORFLOW] = lower_tensorflow};
    static const struct {
        const char *key;
        bool needed[AZP_N_TYPES], allowed[AZP_N_TYPES];
    } sections[] = {
        {"launcher", {[AZP_MPI] = true}, {[AZP_MPI] = true}},
        {"worker",
         {[AZP_PYTORCH] = true, [AZP_TENSORFLOW] = true},
         {[AZP_MPI] = true, [AZP_PYTORCH] = true, [AZP_TENSORFLOW] = true}},
        {"parameter_server", {false}, {[AZP_TENSORFLOW] = true}},
    };
    const struct node *root = l->job->at;

    if (strcmp(l->job->type, types[type]) != 0)
        diag_at(l->b.ds, node_get(root, "type"), "W0405",
                arena_printf(l->b.a, "write %s", types[type]), "\"%s\" is read as %s", l->job->type,
                types[type]);
    for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
        bool there = !node_absent(root, sections[i].key);

        if (sections[i].needed[type] && !there)
            bind_missing(&l->b, root, arena_printf(l->b.a, "the %s", types[type]), sections[i].key,
                         NULL);
        if (there && !sections[i].allowed[type])
            diag_at(l->b.ds, node_key(root, sections[i].key), "E0401", NULL, "a %s has no `%s`",
                    types[type], sections[i].key);
    }
    l->out->framework = frameworks[type];
    l->out->gang = type != AZP_MPI;
    lower_as[type](l);
    share_code(l);
}

static void lower_compute(struct azp *l)
{
    static const char *const known[] = {"AmlCompute", "AksCompute"};
    const struct azp_compute *in = l->job->compute;
    bool is_known = false;
    const char *near;

    if (!in)
        return;
    l->out->target = in->target;
    l->out->target_type = in->type;
    for (size_t i = 0; in->type && i < ARRAY_SIZE(known); i++)
        is_known = is_known || strcmp(in->type, known[i]) == 0;
    if (!in->type || is_known)
        return;
    near = nearest_word(in->type, known, ARRAY_SIZE(known));
    for (size_t i = 0; !near && i < ARRAY_SIZE(known); i++) {
        if (strncasecmp(in->type, known[i], 3) == 0) /* the vendor's own slip: AksCluster */
            near = known[i];
    }
    diag_at(l->b.ds, node_get(in->at, "type"), "W0406",
            near ? arena_printf(l->b.a, "did you mean `%s`?", near) : NULL,
            "unknown compute type \"%.80s\": must be AmlCompute or AksCompute", in->type);
}

/* Letters, digits, '-', '_' and '.', as in a run of Azure's. */
static void check_name(struct azp *l)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    enum { LONGEST = 255 };
    const char *name = l->out->name;
    size_t n = strlen(name);

    if (n > LONGEST)
        diag_at(l->b.ds, l->out->name_at, "E0402", NULL,
                "the name has %zu characters; the limit is %d", n, LONGEST);
    else if (strspn(name, letters) != n || strchr("-_.", name[0]))
        diag_at(l->b.ds, l->out->name_at, "E0402",
                "use letters, digits, '-', '_' and '.', with a letter or digit first",
                "\"%.80s\" is not a valid job name", name);
}

/* Replicas are counted per task; the file counts machines as well. */
static void compare_instances(struct azp *l)
{
    const struct azp_compute *compute = l->job->compute;
    int64_t tasks = 0;

    for (size_t i = 0; i < l->out->n_roles; i++) {
        if (l->spec_roles[i].kind != ROLE_LAUNCHER)
            tasks += l->spec_roles[i].replicas;
    }
    if (compute && compute->instance_count && l->out->n_roles && tasks != compute->instance_count)
        diag_at(l->b.ds, node_get(compute->at, "instance_count"), "N0402", NULL,
                "%lld tasks on %d instances: each task becomes a replica with its own host name "
                "and address",
                (long long)tasks, compute->instance_count);
}

static bool detect(const struct node *root)
{
    const struct node *type = node_get(root, "type");

    if (!type || type->type != NODE_STRING || node_get(root, "apiVersion") ||
        node_get(root, "protocolVersion"))
        return false;
    if (type_of(type->text) < AZP_N_TYPES)
        return true;
    /* A misspelt type is best told as the error it is. */
    return node_find(root, "worker", "spec", NULL) && nearest_word(type->text, types, AZP_N_TYPES);
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct azp l = {.b = {.a = a, .ds = ds, .root = &azp_job_table}, .opts = opts, .doc = doc};
    size_t before = ds->n_errors;
    int type;

    *ret = NULL;
    l.job = bind_map(&l.b, &azp_job_table, root);
    if (!l.job)
        return VERDICT_ACCEPT;
    l.out = ARENA_NEW(a, struct job_spec);
    *l.out = (struct job_spec){
        .name = l.job->name,
        .name_at = node_get(root, "name"),
        .dialect = azureml_preview.id,
        .platform = platform_of(PLATFORM_AZUREML_PREVIEW),
        .file = doc->file,
        .experiment = l.job->experiment,
        .priority = -1,
        .roles = l.spec_roles = ARENA_ARRAY(a, struct role, AZP_N_ROLES),
    };
    type = l.job->type ? type_of(l.job->type) : AZP_N_TYPES;
    if (type < AZP_N_TYPES)
        lower_type(&l, type);
    else if (l.job->type)
        bind_word(&l.b, node_get(root, "type"), "type", l.job->type, types, AZP_N_TYPES);
    lower_compute(&l);
    if (ds->n_errors == before)
        compare_instances(&l);
    if (l.out->name) {
        check_name(&l);
        spec_validate(l.out, ds);
    }
    if (ds->n_errors == before)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

const struct dialect azureml_preview = {.id = "azureml-preview",
                                        .title = "Azure ML's preview jobs",
                                        .root_table = &azp_job_table,
                                        .detect = detect,
                                        .lower = lower};
